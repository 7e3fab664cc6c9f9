//! Folders and processes that do not outlive their owner.
//!
//! Destructors do not run when a process is killed, and a signal handler cannot catch SIGKILL. So a
//! [`Sandbox`] leaves the work to a *janitor*: a small shell process in its own process group that
//! reads a pipe held by the owner. When the pipe ends, for whatever reason, the janitor kills every
//! process group that was started and removes the temporary folder. Dropping the sandbox takes the
//! same path, so that the one way to clean up is used, and tested, all the time.
//!
//! `PR_SET_PDEATHSIG` would not do: it fires when the *thread* that started the process ends.

mod process;

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context as _, ensure};

pub use process::{Process, Signal};

/// A temporary folder and the processes started for it.
///
/// Clones share both. When the last clone is dropped, or the process that owns it ends in any way,
/// all processes started with [`Sandbox::start`] are killed and the folder is removed.
#[derive(Debug, Clone)]
pub struct Sandbox(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    dir: PathBuf,
    janitor: Mutex<Option<Janitor>>,
}

/// The process that cleans up, and its input.
#[derive(Debug)]
struct Janitor {
    process: Child,
    pipe: File,
}

/// Longest path of a temporary folder, in bytes: Unix socket paths in it must fit into 107 bytes.
const DIR_LEN_MAX: usize = 70;

impl Sandbox {
    /// Starts the janitor and creates the folder, below `$TMPDIR` or `/tmp`.
    ///
    /// # Errors
    /// When no process can be started or no folder created.
    pub fn new() -> anyhow::Result<Self> {
        let parent = std::env::temp_dir();
        let parent = if parent.as_os_str().len() > DIR_LEN_MAX { Path::new("/tmp") } else { &parent };
        let mut janitor = Command::new("sh")
            .args(["-c", include_str!("guard/janitor.sh"), "pointsman-janitor"])
            .arg(parent)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .context("cannot start `sh`")?;
        let pipe = janitor.stdin.take().context("no pipe to the janitor")?;
        let pipe = File::from(OwnedFd::from(pipe));
        let mut line = String::new();
        if let Some(stdout) = janitor.stdout.take() {
            BufReader::new(stdout).read_line(&mut line).context("cannot read the temporary folder's name")?;
        }
        ensure!(!line.is_empty(), "cannot create a temporary folder below {}", parent.display());
        let janitor = Mutex::new(Some(Janitor { process: janitor, pipe }));
        Ok(Self(Arc::new(Inner { dir: line.trim_end().into(), janitor })))
    }

    /// The temporary folder.
    pub fn path(&self) -> &Path {
        &self.0.dir
    }

    /// A command that will run `program` as part of this sandbox: in its own process group (a
    /// terminal's Ctrl-C does not reach it) and with an empty standard input. Add arguments,
    /// environment and outputs, then pass it to [`Sandbox::start`].
    ///
    /// # Errors
    /// When the sandbox is closed or the process is out of file descriptors.
    pub fn command(&self, program: impl AsRef<OsStr>) -> anyhow::Result<Command> {
        let pipe = self.0.janitor().as_ref().context("the sandbox is closed")?.pipe.try_clone()?;
        let mut command = Command::new("sh");
        command
            .args(["-c", include_str!("guard/launch.sh"), "pointsman-launch"])
            .arg(program)
            .stdin(pipe)
            .process_group(0);
        Ok(command)
    }

    /// Starts a command made by [`Sandbox::command`].
    ///
    /// # Errors
    /// When no process can be started. A program that does not exist shows as exit code 127.
    pub fn start(&self, mut command: Command) -> anyhow::Result<Process> {
        let child = command.spawn().context("cannot start `sh`")?;
        Ok(Process::new(self.clone(), child))
    }

    /// Kills everything now, even if other clones are left, and waits until the folder is gone.
    /// Nothing can be started any more.
    pub fn close(&self) {
        self.0.close();
    }

    /// Tells the janitor that a process group is gone, so that it does not kill a later one of that
    /// number.
    fn ended(&self, group: u32) {
        if let Some(janitor) = self.0.janitor().as_mut() {
            // One write of less than PIPE_BUF bytes is atomic. A dead janitor has nothing to
            // forget.
            let _ = janitor.pipe.write_all(format!("ended {group}\n").as_bytes());
        }
    }
}

impl Inner {
    fn janitor(&self) -> MutexGuard<'_, Option<Janitor>> {
        // Nothing that is done under the lock can panic half-way.
        self.janitor.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        let Some(Janitor { mut process, pipe }) = self.janitor().take() else { return };
        drop(pipe);
        let _ = process.wait();
        // Only has something to do if the janitor was killed.
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.close();
    }
}
