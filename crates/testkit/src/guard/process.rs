//! One process of a sandbox, with the group that it leads.

use std::io;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::{Pid, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::Sandbox;

pub use rustix::process::Signal;

/// How often a wait with a deadline looks.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A process started by [`Sandbox::start`]. It is killed when dropped, with all of its process
/// group.
#[derive(Debug)]
pub struct Process {
    sandbox: Sandbox,
    child: Child,
    status: Option<ExitStatus>,
}

impl Process {
    pub(super) const fn new(sandbox: Sandbox, child: Child) -> Self {
        Self { sandbox, child, status: None }
    }

    /// Its process id, which is also the id of its group.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Standard input, output and error, as far as they were piped.
    pub const fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Sends a signal to the process and its group. Does nothing once its end was seen.
    ///
    /// # Errors
    /// When the kernel refuses the signal.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        match self.group() {
            Some(group) if self.status.is_none() => Ok(kill_process_group(group, signal)?),
            _ => Ok(()),
        }
    }

    /// Stops the process and its group (SIGSTOP); when this returns it has stopped, or ended.
    ///
    /// # Errors
    /// When the kernel refuses the signal.
    pub fn freeze(&self) -> io::Result<()> {
        self.signal(Signal::STOP)?;
        let Some(pid) = self.group().filter(|_| self.status.is_none()) else { return Ok(()) };
        // The signal stops threads one after the other, and they run on until it is their turn.
        waitid(WaitId::Pid(pid), WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)?;
        Ok(())
    }

    /// How the process ended, if it has.
    ///
    /// # Errors When the kernel does not know the process (another thread has waited for it).
    pub fn exited(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.status.is_none() {
            let Some(pid) = self.group() else { return Ok(None) };
            // Look first without reaping: as long as the number is taken, the group can be killed
            // safely.
            let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            if waitid(WaitId::Pid(pid), look)?.is_none() {
                return Ok(None);
            }
            let _ = kill_process_group(pid, Signal::KILL);
            self.status = Some(self.child.wait()?);
            self.sandbox.ended(self.child.id());
        }
        Ok(self.status)
    }

    /// Waits for the end of the process, at most for `limit`; `None` if it still runs.
    ///
    /// # Errors
    /// As [`Process::exited`].
    pub fn wait(&mut self, limit: Duration) -> io::Result<Option<ExitStatus>> {
        let deadline = Instant::now() + limit;
        loop {
            let status = self.exited()?;
            if status.is_some() || Instant::now() >= deadline {
                return Ok(status);
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Kills the process and its group with SIGKILL and waits until it is gone.
    ///
    /// # Errors
    /// As [`Process::exited`].
    pub fn kill(&mut self) -> io::Result<()> {
        // A group that is gone already is what we want.
        let _ = self.signal(Signal::KILL);
        if self.status.is_none() {
            self.status = Some(self.child.wait()?);
            self.sandbox.ended(self.child.id());
        }
        Ok(())
    }

    fn group(&self) -> Option<Pid> {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}
