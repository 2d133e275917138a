//! `rtscope-fetch CACHE KERNEL...`: fetches kernels and the guest's tools into the lab's cache, as `rtscope lab kernels fetch` does.
//! `./x demo` starts it while `rtscope` is still being compiled; no package has it.
#![forbid(unsafe_code)]

use rtscope_lab::image::Tools;
use rtscope_lab::kernels::{KernelName, Kernels};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let kernels = Kernels::new(words.next().ok_or("no cache")?);
    for word in words {
        let name: KernelName = word.parse()?;
        let kernel = kernels.fetch(&name, false, &mut |_| ())?;
        Tools::fetch(kernels.cache_root(), kernel.arch, false, &mut |_| ())?;
        kernels.fetch_compiler(&kernel, &mut |_| ())?;
    }
    Ok(())
}
