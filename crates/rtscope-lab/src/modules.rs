//! rtscope's kernel modules: which a run needs and with which parameters (`wanted`), how they are built
//! (`build`), inserted into the running kernel (`kernel`), and loaded for a run and unloaded after it (`load`).

mod build;
mod error;
mod kernel;
mod load;
mod wanted;

pub(crate) use build::{Target, build, built_last};
pub use error::ModuleError;
pub use kernel::insert;
pub use load::Loaded;
pub use wanted::{WantedModule, dut, wanted, wanted_by_dut};
