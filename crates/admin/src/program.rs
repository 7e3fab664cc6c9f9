//! Programs that the scheduler and REST routes run: in a process group of their own, for a limited
//! time, with bounded output.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::limits::{OUTPUT_BYTES_MAX, OUTPUT_WAIT_MAX, TERM_TIME_MAX};

/// What a program left behind.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    /// The first [`OUTPUT_BYTES_MAX`] of what it wrote to each.
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

impl Finished {
    /// The signal that ended it, if one did.
    pub(crate) fn signal(&self) -> Option<i32> {
        self.status.signal()
    }
}

/// Why a program did not finish.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// It could not be started.
    #[error("it cannot be started: {0}")]
    Start(#[source] io::Error),
    /// It was still running at its time limit, and was killed with all that it had started.
    #[error("it was killed after {}ms", .0.as_millis())]
    TooLong(Duration),
}

/// Runs `path` with `arguments` for at most `limit`. It has no input and no environment but `PATH`.
pub(crate) async fn run(path: &str, arguments: &[String], limit: Duration) -> Result<Finished, Failure> {
    let mut command = Command::new(path);
    command
        .args(arguments)
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    let mut child = command.spawn().map_err(Failure::Start)?;
    let group = Group::of(&child);
    let mut stdout = Output::new(child.stdout.take());
    let mut stderr = Output::new(child.stderr.take());
    let finish = async {
        let status = {
            let reading = async { tokio::join!(stdout.read(), stderr.read()) };
            tokio::pin!(reading);
            tokio::select! {
                status = child.wait() => status,
                // It has closed its output and goes on.
                _ = &mut reading => child.wait().await,
            }
        };
        // What it has started may hold its output open for as long as it likes.
        let rest = async { tokio::join!(stdout.read(), stderr.read()) };
        let _ = timeout(OUTPUT_WAIT_MAX, rest).await;
        status
    };
    let Ok(status) = timeout(limit, finish).await else {
        group.kill(&mut child).await;
        return Err(Failure::TooLong(limit));
    };
    let status = status.map_err(Failure::Start)?;
    Ok(Finished { status, stdout: stdout.bytes, stderr: stderr.bytes })
}

/// A program and all that it has started and that stayed in its group.
struct Group(Option<Pid>);

impl Group {
    fn of(child: &Child) -> Self {
        Self(child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw))
    }

    /// Ends all of it: with a request first, by force a little later.
    async fn kill(&self, child: &mut Child) {
        self.signal(Signal::TERM);
        let _ = timeout(TERM_TIME_MAX, child.wait()).await;
        // No other group gets the number as long as a process is left in this one.
        self.signal(Signal::KILL);
        let _ = child.wait().await;
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.0 {
            // Fails if no process is left.
            let _ = kill_process_group(group, signal);
        }
    }
}

/// A stream that a program writes: the beginning is kept, the rest is read and forgotten.
struct Output<T> {
    stream: Option<T>,
    bytes: Vec<u8>,
}

impl<T: AsyncRead + Unpin> Output<T> {
    const fn new(stream: Option<T>) -> Self {
        Self { stream, bytes: Vec::new() }
    }

    /// Reads to the end. Cancelled, it can be called again.
    async fn read(&mut self) {
        let Some(stream) = &mut self.stream else { return };
        let mut piece = Vec::with_capacity(4096);
        loop {
            piece.clear();
            match stream.read_buf(&mut piece).await {
                Ok(0) | Err(_) => break,
                Ok(_) => {
                    let room = OUTPUT_BYTES_MAX.saturating_sub(self.bytes.len());
                    self.bytes.extend(piece.iter().take(room));
                }
            }
        }
        self.stream = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_mins(1);

    async fn shell(script: &str, limit: Duration) -> Result<Finished, Failure> {
        run("/bin/sh", &["-c".to_owned(), script.to_owned()], limit).await
    }

    #[tokio::test]
    async fn output_and_status_come_back() {
        let finished = shell("echo out; echo err >&2; exit 3", LONG).await.unwrap();
        assert_eq!(finished.status.code(), Some(3));
        assert_eq!((finished.stdout.as_slice(), finished.stderr.as_slice()), (&b"out\n"[..], &b"err\n"[..]));
        assert_eq!(finished.signal(), None);
    }

    #[tokio::test]
    async fn much_output_is_read_and_little_is_kept() {
        let finished = shell("head -c 5000000 /dev/zero", LONG).await.unwrap();
        assert_eq!(finished.stdout.len(), OUTPUT_BYTES_MAX);
        assert_eq!(finished.status.code(), Some(0));
    }

    #[tokio::test]
    async fn the_time_limit_ends_all_that_was_started() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pid");
        let script = format!("sleep 1000 & echo $! > {}; wait", file.display());
        let result = shell(&script, Duration::from_millis(500)).await;
        assert!(matches!(result, Err(Failure::TooLong(_))), "{result:?}");
        let pid: i32 = std::fs::read_to_string(&file).unwrap().trim().parse().unwrap();
        // Reaped by init, or a zombie of it: in no case still asleep.
        let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        assert!(!state.contains(") S "), "{state}");
    }

    #[tokio::test]
    async fn a_child_that_holds_the_output_open_is_not_waited_for() {
        let finished = shell("sleep 1000 & echo $!", LONG).await.unwrap();
        let pid: i32 = String::from_utf8(finished.stdout).unwrap().trim().parse().unwrap();
        rustix::process::kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    }

    #[tokio::test]
    async fn what_is_no_program_cannot_be_started() {
        let result = run("/no/such/program", &[], LONG).await;
        assert!(matches!(result, Err(Failure::Start(_))), "{result:?}");
    }

    #[tokio::test]
    async fn the_environment_is_empty_but_for_the_path() {
        let finished = run("/usr/bin/env", &[], LONG).await.unwrap();
        let text = String::from_utf8(finished.stdout).unwrap();
        assert!(text.lines().all(|line| line.starts_with("PATH=")), "{text}");
    }
}
