//! The scheduler: programs that run at intervals, as the rows of `runtime_scheduler` say.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::{Semaphore, oneshot, watch};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::limits::{OUTPUT_LOGGED_BYTES_MAX, PROGRAM_TIME_MAX, PROGRAMS_MAX};
use crate::program::{self, Failure, Finished};
use crate::settings::{Job, Settings};

/// Runs the jobs of `settings`, and after each change of them the new ones, until the admin engine
/// ends.
pub(crate) async fn run(mut settings: watch::Receiver<Arc<Settings>>) {
    let programs = Arc::new(Semaphore::new(PROGRAMS_MAX));
    // Dropping the sender stops a job; a program that runs is not disturbed.
    let mut running: HashMap<Job, oneshot::Sender<()>> = HashMap::new();
    loop {
        let jobs = settings.borrow_and_update().jobs.clone();
        running.retain(|job, _| jobs.contains(job));
        for job in jobs {
            running.entry(job.clone()).or_insert_with(|| {
                let (keep, stop) = oneshot::channel();
                tokio::spawn(repeat(job, Arc::clone(&programs), stop));
                keep
            });
        }
        if settings.changed().await.is_err() {
            return;
        }
    }
}

/// Runs a job at its interval. It never runs twice at once: when it takes longer than its interval,
/// turns are left out.
async fn repeat(job: Job, programs: Arc<Semaphore>, mut stop: oneshot::Receiver<()>) {
    let mut turns = interval_at(Instant::now() + job.interval, job.interval);
    turns.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        tokio::select! {
            _ = &mut stop => return,
            _ = turns.tick() => {}
        }
        let Ok(_place) = programs.acquire().await else { return };
        match program::run(&job.path, &job.arguments, PROGRAM_TIME_MAX).await {
            Ok(finished) => log(&job, &finished),
            Err(failure @ (Failure::Start(_) | Failure::TooLong(_))) => {
                tracing::warn!(id = job.id, program = job.path, "scheduler: {failure}");
            }
        }
    }
}

fn log(job: &Job, finished: &Finished) {
    let Finished { status, stdout, stderr } = finished;
    let (stdout, stderr) = (excerpt(stdout), excerpt(stderr));
    if status.success() {
        tracing::debug!(id = job.id, program = job.path, stdout, stderr, "scheduler: done");
    } else {
        tracing::warn!(id = job.id, program = job.path, %status, stdout, stderr, "scheduler: failed");
    }
}

/// The beginning of what a program wrote, on one line.
fn excerpt(bytes: &[u8]) -> String {
    let start = bytes.get(..OUTPUT_LOGGED_BYTES_MAX).unwrap_or(bytes);
    String::from_utf8_lossy(start).trim_end().escape_debug().to_string()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn settings(jobs: Vec<Job>) -> Arc<Settings> {
        Arc::new(Settings { jobs, ..Settings::default() })
    }

    /// A job that adds a line to `file` every 10 ms.
    fn job(id: i64, file: &std::path::Path) -> Job {
        let script = format!("echo {id} >> {}", file.display());
        Job {
            id,
            interval: Duration::from_millis(10),
            path: "/bin/sh".to_owned(),
            arguments: vec!["-c".to_owned(), script],
        }
    }

    async fn wait_for(file: &std::path::Path, enough: impl Fn(&str) -> bool) {
        let text = || std::fs::read_to_string(file).unwrap_or_default();
        while !enough(&text()) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    #[tokio::test]
    async fn jobs_run_over_and_over_until_they_are_changed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("log");
        let (sender, receiver) = watch::channel(settings(vec![job(1, &file)]));
        let scheduler = tokio::spawn(run(receiver));
        wait_for(&file, |text| text.matches('1').count() >= 3).await;
        sender.send(settings(vec![job(2, &file)])).unwrap();
        wait_for(&file, |text| text.matches('2').count() >= 3).await;
        // The first one ended, at the latest, with what it was doing then.
        wait_for(&file, |text| text.rsplit_once('1').is_some_and(|(_, rest)| rest.len() > 20)).await;
        drop(sender);
        scheduler.await.unwrap();
    }

    #[tokio::test]
    async fn a_job_that_takes_longer_than_its_interval_does_not_run_twice_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let (lock, file) = (folder.path().join("lock"), folder.path().join("log"));
        // The second of two at once would find the folder, and say so.
        let script = format!(
            "if mkdir {lock}; then sleep 0.05; rmdir {lock}; echo ok >> {file}; else echo twice >> {file}; fi",
            lock = lock.display(),
            file = file.display()
        );
        let job = Job { arguments: vec!["-c".to_owned(), script], ..job(1, &file) };
        let (_sender, receiver) = watch::channel(settings(vec![job]));
        let scheduler = tokio::spawn(run(receiver));
        wait_for(&file, |text| text.lines().count() >= 5).await;
        scheduler.abort();
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.lines().all(|line| line == "ok"), "{text}");
    }

    #[test]
    fn what_is_logged_is_short_and_one_line() {
        assert_eq!(excerpt(b"a\nb\n"), "a\\nb");
        assert!(excerpt(&vec![b'x'; 100_000]).len() <= OUTPUT_LOGGED_BYTES_MAX);
    }
}
