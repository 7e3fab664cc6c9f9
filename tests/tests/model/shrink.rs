//! Makes the script of a failure shorter: the client runs it once more with a few others who
//! disturb it, and steps are left out as long as it fails.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use testkit::client::Client;

use crate::author::ACCOUNTS;
use crate::play::Difference;
use crate::report::Failure;
use crate::run::{play, usual_login};
use crate::side::options;
use crate::step::{Leave, Step};
use crate::world::World;

/// Longest time for everything.
const TIME_MAX: Duration = Duration::from_mins(2);
/// Longest time of one try.
const TRY_TIME_MAX: Duration = Duration::from_secs(20);
/// How often the whole is tried.
const TRIES: usize = 3;
/// What they say.
const NOISES: [&str; 6] = [
    "SET time_zone = '+07:00', @a = 'noise', sql_mode = 'ANSI'",
    "SELECT LAST_INSERT_ID(4711), 'noise'",
    "USE shared",
    "SELECT CAST('noise' AS SIGNED), 1 / 0",
    "SELECT SQL_CALC_FOUND_ROWS id, 'noise' FROM shared.s LIMIT 1",
    "SET NAMES latin1",
];

/// A shorter script that fails, in words; or that there is none.
pub(crate) async fn shortened(world: &World, failure: &Failure) -> String {
    let stop = AtomicBool::new(false);
    let search = async {
        let found = search(world, failure).await;
        stop.store(true, Ordering::Relaxed);
        found
    };
    let noise = async {
        tokio::join!(
            noise(world, &stop, 0),
            noise(world, &stop, 1),
            noise(world, &stop, 2),
            noise(world, &stop, 3),
            noise(world, &stop, 4),
            noise(world, &stop, 5)
        );
    };
    let (found, ()) = tokio::join!(search, noise);
    let Some((script, difference)) = found else {
        return "it does not fail again when the client is alone with some that disturb it".to_owned();
    };
    let mut out = format!("{} steps fail as well:\n", script.len());
    for step in &script {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "  {step:?}");
    }
    let _ = write!(out, "{difference}");
    out
}

/// The shortest script found in time, and its difference.
async fn search(world: &World, failure: &Failure) -> Option<(Vec<Step>, Box<Difference>)> {
    let deadline = Instant::now() + TIME_MAX;
    let mut script = failure.script[..=failure.difference.at].to_vec();
    let mut found = None;
    for _ in 0..TRIES {
        found = fails(world, failure, &script).await;
        if found.is_some() {
            break;
        }
    }
    let mut difference = found?;
    script.truncate(difference.at + 1);
    let mut len = script.len() / 2;
    while len > 0 && Instant::now() < deadline {
        let mut at = 0;
        while at < script.len() && Instant::now() < deadline {
            let without: Vec<Step> =
                script[..at].iter().chain(script.iter().skip(at + len)).cloned().collect();
            match fails(world, failure, &without).await {
                Some(other) => {
                    script = without;
                    script.truncate(other.at + 1);
                    difference = other;
                }
                None => at += len,
            }
        }
        len /= 2;
    }
    Some((script, difference))
}

/// How it fails, from the beginning, and at the same command: what others have left may make other
/// commands fail.
async fn fails(world: &World, failure: &Failure, script: &[Step]) -> Option<Box<Difference>> {
    if script.is_empty() {
        return None;
    }
    let script = [script, &[Step::Leave(Leave::Quit)]].concat();
    let tried = tokio::time::timeout(TRY_TIME_MAX, async {
        world.clear(&failure.schema).await;
        play(world, &failure.schema, &script).await
    });
    tried.await.ok()?.err().filter(|other| other.command == failure.difference.command)
}

/// A client that leaves traces in connections.
async fn noise(world: &World, stop: &AtomicBool, which: usize) {
    let mut login = usual_login("shared");
    (login.account, login.password) = ACCOUNTS[which % 2];
    while !stop.load(Ordering::Relaxed) {
        let Ok(mut client) = Client::connect(&options(world.proxy.tcp(), &login)).await else { continue };
        for _ in 0..50 {
            for sql in NOISES.iter().cycle().skip(which).take(NOISES.len()) {
                let _ = client.query(sql).await;
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            if stop.load(Ordering::Relaxed) {
                break;
            }
        }
        let _ = client.quit().await;
    }
}
