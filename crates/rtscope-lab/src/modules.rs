//! rtscope's kernel modules: which a run needs with which parameters (`wanted`), built for a kernel (`build`), taken in by the kernel
//! that runs (`kernel`), loaded here for a run and unloaded after it (`load`).

mod build;
mod error;
mod kernel;
mod load;
mod wanted;

pub(crate) use build::{Target, build};
pub use error::ModuleError;
pub use kernel::insert;
pub use load::Loaded;
pub use wanted::{Wanted, dut, wanted, wanted_by_dut};
