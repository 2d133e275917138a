//! The target `ssh:HOST`: the probe on another machine, over the user's own ssh.
//!
//! The probe is copied into a private directory on the target and works there independently of the connection
//! (`rtscope_probe::spool`). This side follows its events, over several connections one after the other if need be, and finally
//! has everything removed.

mod address;
mod connection;
mod dut;
mod host;
mod kernel;
mod losses;
mod probe;
mod remote_work;
mod scripts;

pub use address::{Address, AddressError, is_ssh};
pub use connection::Way;
pub use dut::RemoteDut;
pub use host::{Ssh, SshOptions};
pub use kernel::{Removal, Running};

use crate::target::{Target, TargetError};
use losses::lost;
use remote_work::RemoteWork;
use rtscope_load::StopHandle;
use rtscope_probe::protocol::{Event, ProbePlan, Work};
use rtscope_record::Record;

impl Target for Ssh {
    fn run(&self, plan: &ProbePlan, stop: &StopHandle, on_event: &mut dyn FnMut(&Event)) -> Result<Record, TargetError> {
        let mut work = RemoteWork::begin(self, Work::Measure(Box::new(plan.clone())), stop)?;
        let outcome = loop {
            match work.next(on_event)? {
                Event::Record { record } => break Ok(*record),
                // For example, before the load was up.
                Event::Error { .. } if stop.is_stopped() => break Err(TargetError::Interrupted),
                event => match event.or_failure() {
                    Ok(event) => on_event(&event),
                    Err(failure) => break Err(failure.into()),
                },
            }
        };
        if let Err(message) = work.let_go() {
            on_event(&Event::Connection { message });
        }
        let record = outcome?;
        if record.id() != plan.id {
            return Err(TargetError::Record(format!("it is called `{}`, the plan `{}`", record.id(), plan.id)));
        }
        if work.losses.is_empty() {
            return Ok(record);
        }
        let mut parts = record.into_parts();
        parts.warnings.push(lost(&self.name(), &work.losses));
        Ok(Record::new(parts)?)
    }
}
