//! Runs checks and says what became of them: a line each.

use std::future::Future;
use std::time::Duration;

/// Longest time of one check: a hang has to be told from a slow machine.
const CHECK_TIME_MAX: Duration = Duration::from_secs(120);

/// Why a check did not hold.
#[derive(Debug)]
pub enum Failed {
    /// It cannot be asked of this driver or this server.
    Skip(&'static str),
    /// What is wrong.
    Wrong(String),
}

impl<E: std::error::Error> From<E> for Failed {
    fn from(error: E) -> Self {
        Self::Wrong(error.to_string())
    }
}

/// What a check comes to.
pub type Outcome = Result<(), Failed>;

/// Both must be the same; long values are cut in the message.
pub fn equal<T: PartialEq<U> + std::fmt::Debug, U: std::fmt::Debug>(got: T, expected: U) -> Outcome {
    if got == expected {
        return Ok(());
    }
    Err(Failed::Wrong(format!("got {got:.120?}, expected {expected:.120?}")))
}

/// Counts failures.
#[derive(Debug, Default)]
pub struct Report {
    failed: bool,
}

impl Report {
    /// Runs one check if it is among those that are wanted.
    pub async fn check(&mut self, name: &str, check: impl Future<Output = Outcome>) {
        if !selected(name) {
            return;
        }
        match tokio::time::timeout(CHECK_TIME_MAX, check).await {
            Ok(Ok(())) => println!("ok {name}"),
            Ok(Err(Failed::Skip(reason))) => println!("skip {name} {reason}"),
            Ok(Err(Failed::Wrong(reason))) => self.fail(name, &reason),
            Err(_) => self.fail(name, "no end after 120 s"),
        }
    }

    fn fail(&mut self, name: &str, reason: &str) {
        self.failed = true;
        println!("FAIL {name} {}", reason.split_whitespace().collect::<Vec<_>>().join(" "));
    }

    /// The exit code of the program.
    pub fn code(&self) -> i32 {
        i32::from(self.failed)
    }
}

/// Whether `PM_ONLY`, names with perhaps a star at the end, has the check.
fn selected(name: &str) -> bool {
    let only = std::env::var("PM_ONLY").unwrap_or_default();
    only.is_empty()
        || only.split(',').any(|pattern| {
            pattern == name || pattern.strip_suffix('*').is_some_and(|prefix| name.starts_with(prefix))
        })
}
