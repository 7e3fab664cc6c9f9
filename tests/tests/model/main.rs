//! The model test: random sessions of many clients at once through the proxy, each of which has to
//! get what it gets from a server of its own, byte for byte.
//!
//! There are two servers that are the same, one of them behind the proxy. Each client has a
//! [script](author) that follows from the seed, and runs each step on both. What only tells
//! sessions apart is masked: ids of connections and of prepared statements. Every result names who
//! has asked, and as which command, so that no answer can pass for another.
//!
//! A failure prints the seed, the last steps of the client and both answers; then the script is
//! made [shorter](shrink) as long as it fails, and printed. Environment variables, all optional:
//!
//! - `POINTSMAN_MODEL_SEED`: only this seed;
//! - `POINTSMAN_MODEL_STATEMENTS`: commands of one test, of all clients and seeds together;
//! - `POINTSMAN_MODEL_CONNECTIONS`: `max_connections` of the server behind the proxy;
//! - `POINTSMAN_MODEL_CACHED`: `user`, `proven` or `shared`: all reads are cached, in this scope;
//! - `POINTSMAN_MODEL_GAPS=1`: with statements whose answers are known to differ;
//! - `POINTSMAN_MODEL_ALL=1`: the others go on when a client fails, and nothing is made shorter;
//! - `POINTSMAN_MODEL_LOG`: the file into which the server behind the proxy writes what it is told;
//!   beside it, with the extension `direct`, is that of the other server;
//! - `POINTSMAN_MODEL_SECONDS`: how long `soak` takes.

mod author;
mod cached;
mod play;
mod report;
mod run;
mod shared;
mod shrink;
mod side;
mod step;
mod trackers;
mod world;

use std::sync::Arc;
use std::time::{Duration, Instant};

use cached::Caching;
use e2e::dice::Dice;
use world::{CONNECTIONS, MARIADB, MYSQL, Manner, Pair, SHARED_CONNECTIONS, World};

/// Commands of all seeds.
const STATEMENTS: usize = 20_000;
/// Seeds of every run. None is fresh: a difference that was there before is no reason to refuse a
/// change. `soak` looks for those.
const SEEDS: [u64; 4] = [1, 20_260_213, 77, 589_218_387];
/// Commands of one seed in `soak`.
const SOAK_STATEMENTS: usize = 20_000;
/// How long `soak` takes.
const SOAK_SECONDS: usize = 600;
/// Longest time of a run.
const TEST_TIME_MAX: Duration = Duration::from_hours(3);

mod on_mariadb {
    use super::{Caching, MARIADB, SEEDS, Way};

    #[test]
    fn sessions_get_the_same_answers_as_directly() {
        super::several_seeds(&MARIADB, &SEEDS, Way::OneToOne);
    }

    #[test]
    fn sessions_get_the_same_answers_without_a_split() {
        super::several_seeds(&MARIADB, &SEEDS[..1], Way::WithoutSplit);
    }

    #[test]
    fn sessions_that_share_connections_get_the_same_answers_as_directly() {
        super::several_seeds(&MARIADB, &SEEDS, Way::Shared);
    }

    #[test]
    fn sessions_that_wait_in_one_line_get_the_same_answers_as_directly() {
        super::several_seeds(&MARIADB, &SEEDS[..2], Way::InOneLine);
    }

    #[test]
    fn sessions_that_are_answered_from_the_cache_get_the_same_answers_as_directly() {
        super::several_seeds(&MARIADB, &SEEDS[..1], Way::Cached(Caching::User));
        super::several_seeds(&MARIADB, &SEEDS[1..2], Way::Cached(Caching::Proven));
    }

    #[test]
    #[ignore = "takes ten minutes"]
    fn soak_one_to_one() {
        super::soak(&MARIADB, Way::OneToOne);
    }

    #[test]
    #[ignore = "takes ten minutes"]
    fn soak_in_one_line() {
        super::soak(&MARIADB, Way::InOneLine);
    }

    #[test]
    #[ignore = "takes ten minutes"]
    fn soak() {
        super::soak(&MARIADB, Way::Shared);
    }
}

mod on_mysql {
    use super::{Caching, Pair, SEEDS, Way};

    fn pair() -> Option<&'static Pair> {
        // It says in the name of the test what is missing.
        let _ = testkit::mysql::find_or_skip();
        super::MYSQL.as_ref()
    }

    #[test]
    fn sessions_get_the_same_answers_as_directly() {
        if let Some(pair) = pair() {
            // Half as many: definitions take this server long.
            super::several_seeds(pair, &SEEDS[..2], Way::OneToOne);
        }
    }

    #[test]
    fn sessions_that_share_connections_get_the_same_answers_as_directly() {
        if let Some(pair) = pair() {
            super::several_seeds(pair, &SEEDS[2..], Way::Shared);
        }
    }

    #[test]
    fn sessions_that_wait_in_one_line_get_the_same_answers_as_directly() {
        if let Some(pair) = pair() {
            super::several_seeds(pair, &SEEDS[..1], Way::InOneLine);
        }
    }

    #[test]
    fn sessions_that_are_answered_from_the_cache_get_the_same_answers_as_directly() {
        if let Some(pair) = pair() {
            super::several_seeds(pair, &SEEDS[2..3], Way::Cached(Caching::User));
        }
    }

    #[test]
    #[ignore = "takes ten minutes"]
    fn soak_in_one_line() {
        if let Some(pair) = pair() {
            super::soak(pair, Way::InOneLine);
        }
    }

    #[test]
    #[ignore = "takes ten minutes"]
    fn soak_one_to_one() {
        if let Some(pair) = pair() {
            super::soak(pair, Way::OneToOne);
        }
    }

    #[test]
    #[ignore = "takes ten minutes"]
    fn soak() {
        if let Some(pair) = pair() {
            super::soak(pair, Way::Shared);
        }
    }
}

/// How sessions come to their connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Each has its own.
    OneToOne,
    /// The same, and reads go where writes go.
    WithoutSplit,
    /// They share a few.
    Shared,
    /// The same, and all wait in one line: reads go where writes go, and out together.
    InOneLine,
    /// Each has its own, and reads are cached.
    Cached(Caching),
}

impl Way {
    async fn world(self, pair: &'static Pair) -> Arc<World> {
        let shares = matches!(self, Self::Shared | Self::InOneLine);
        let has_split = !matches!(self, Self::WithoutSplit | Self::InOneLine);
        let caching = if let Self::Cached(caching) = self { Some(caching) } else { Caching::wanted() };
        let connections = match caching {
            _ if !shares => CONNECTIONS,
            Some(_) => cached::SHARED_CONNECTIONS,
            None => SHARED_CONNECTIONS,
        };
        let more = |setup: e2e::Setup| {
            let setup = setup.variable("multiplexing", shares);
            if has_split { setup } else { setup.variable("read_write_split", false) }
        };
        let manner = Manner { connections, in_one_line: self == Self::InOneLine, caching };
        Arc::new(World::new(pair, manner, more).await)
    }
}

/// What an environment variable says.
fn number(name: &str) -> Option<usize> {
    let value = std::env::var(name).ok()?;
    Some(value.parse().unwrap_or_else(|error| panic!("{name}={value}: {error}")))
}

/// These seeds, each with its share of the commands, or the one that is asked for with all of them.
fn several_seeds(pair: &'static Pair, fixed: &[u64], way: Way) {
    let commands = number("POINTSMAN_MODEL_STATEMENTS").unwrap_or(STATEMENTS);
    let (seeds, each) = match number("POINTSMAN_MODEL_SEED") {
        Some(seed) => (vec![seed as u64], commands),
        None => (fixed.to_vec(), commands / SEEDS.len()),
    };
    block_on(async {
        let world = way.world(pair).await;
        let mut total = 0;
        for seed in seeds {
            total += run::seed(&world, seed, each).await;
        }
        if matches!(way, Way::Cached(_)) {
            cached::check_use(&world, total).await;
        }
        let [together, again] = world.sent_together().await;
        println!("{together} statements were sent with those of other sessions, {again} of them once more");
    });
}

/// Fresh seeds until the time is over.
fn soak(pair: &'static Pair, way: Way) {
    let seconds = number("POINTSMAN_MODEL_SECONDS").unwrap_or(SOAK_SECONDS);
    let end = Instant::now() + Duration::from_secs(seconds as u64);
    let commands = number("POINTSMAN_MODEL_STATEMENTS").unwrap_or(SOAK_STATEMENTS);
    block_on(async {
        let world = way.world(pair).await;
        let mut total = 0;
        while Instant::now() < end {
            total += run::seed(&world, Dice::fresh_seed(), commands).await;
            if world.caching.is_some() {
                println!("{} answers came from the cache", cached::hits(&world).await);
            }
            let [together, again] = world.sent_together().await;
            println!(
                "{total} commands without a difference; {together} statements were sent with those of other sessions, {again} of them once more"
            );
        }
    });
}

fn block_on(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(TEST_TIME_MAX, test).await }).unwrap();
}
