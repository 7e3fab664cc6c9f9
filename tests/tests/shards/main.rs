//! Random statements over tables that are split, and over the same tables on one server: answers
//! have to be the same.
//!
//! A seed makes the tables, their split and the statements. A difference is printed with its seed
//! and the smallest statement found that differs. Environment variables, all optional:
//!
//! - `POINTSMAN_SHARDS_SEED`: only this seed; the first one of `soak`;
//! - `POINTSMAN_SHARDS_STATEMENTS`: statements of one server;
//! - `POINTSMAN_SHARDS_SECONDS`: how long `soak` takes;
//! - `POINTSMAN_SHARDS_DIRECT=1`: without a proxy: plans are executed and merged here;
//! - `POINTSMAN_SHARDS_ALL=1`: differences are counted and printed, and the run goes on.

mod answer;
mod author;
mod collations;
mod compare;
mod direct;
mod expression;
mod figures;
mod layout;
mod query;
mod tables;
mod trial;
mod types;
mod world;

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use e2e::Backend;
use e2e::dice::Dice;

use author::Author;
use figures::Figures;
use layout::Split;
use trial::Found;
use world::{Servers, Way, World};

static DB: LazyLock<Servers> = LazyLock::new(|| {
    let start = || Backend::start(&[]);
    Servers { whole: start(), parts: [start(), start()] }
});
static MYSQL: LazyLock<Option<Servers>> = LazyLock::new(|| {
    let start = || Backend::start_mysql(&[]);
    Some(Servers { whole: start()?, parts: [start()?, start()?] })
});

/// Statements of one server that both sides execute.
const STATEMENTS: usize = 10_000;
/// Statements of one seed, refused ones too.
const STATEMENTS_OF_SEED: usize = 2_000;
/// Statements that change rows.
const CHANGES_PERCENT: usize = 20;
/// Changes behind which all rows are compared.
const LOOKS_PERCENT: usize = 10;
/// The first seed; the others follow it.
const SEED: u64 = 1;
/// How long `soak` takes.
const SOAK_SECONDS: usize = 600;
/// Longest time of a run.
const TEST_TIME_MAX: Duration = Duration::from_hours(3);

mod on_mariadb {
    #[test]
    fn c22_answers_are_those_of_one_server() {
        super::usual(&super::DB);
    }

    #[test]
    #[ignore = "takes ten minutes"]
    fn soak() {
        super::soak(&super::DB);
    }
}

mod on_mysql {
    #[test]
    fn c22_answers_are_those_of_one_server() {
        if let Some(db) = e2e::mysql_or_skip(&super::MYSQL) {
            super::usual(db);
        }
    }

    #[test]
    #[ignore = "takes ten minutes"]
    fn soak() {
        if let Some(db) = e2e::mysql_or_skip(&super::MYSQL) {
            super::soak(db);
        }
    }
}

/// What an environment variable says.
fn number(name: &str) -> Option<usize> {
    let value = std::env::var(name).ok()?;
    Some(value.parse().unwrap_or_else(|error| panic!("{name}={value}: {error}")))
}

/// The way that is asked for.
fn way() -> Way {
    if number("POINTSMAN_SHARDS_DIRECT").is_some() { Way::Direct } else { Way::Proxied }
}

/// Seeds of every run, or the one that is asked for.
fn usual(servers: &'static Servers) {
    let wanted = number("POINTSMAN_SHARDS_STATEMENTS").unwrap_or(STATEMENTS);
    let only = number("POINTSMAN_SHARDS_SEED");
    block_on(async {
        let mut figures = Figures::default();
        let mut seed = only.map_or(SEED, |seed| seed as u64);
        while figures.executed() < wanted {
            run(servers, seed, &mut figures).await;
            seed += 1;
            if only.is_some() {
                break;
            }
        }
        println!("{figures}");
        assert_eq!(figures.different, 0, "statements with another answer");
    });
}

/// Fresh seeds, or those from one on, until the time is over.
fn soak(servers: &'static Servers) {
    let seconds = number("POINTSMAN_SHARDS_SECONDS").unwrap_or(SOAK_SECONDS);
    let wanted = number("POINTSMAN_SHARDS_STATEMENTS").unwrap_or(usize::MAX);
    let first = number("POINTSMAN_SHARDS_SEED").map(|seed| seed as u64);
    let end = Instant::now() + Duration::from_secs(seconds as u64);
    block_on(async {
        let mut figures = Figures::default();
        let mut seed = first.unwrap_or_else(Dice::fresh_seed);
        while Instant::now() < end && figures.executed() < wanted {
            println!("seed {seed}");
            run(servers, seed, &mut figures).await;
            println!("{figures}");
            seed += 1;
        }
        assert_eq!(figures.different, 0, "statements with another answer");
    });
}

/// Runs the statements of a seed.
async fn run(servers: &Servers, seed: u64, figures: &mut Figures) {
    let split = [Split::Servers, Split::Suffixes, Split::Both][(seed % 3) as usize];
    let mut world = World::new(servers, seed, split, way()).await;
    let tables = world.tables.clone();
    let mut author = Author::new(Dice::new(seed, 1), &tables, split);
    for statement in 0..STATEMENTS_OF_SEED {
        if author.chance(CHANGES_PERCENT) {
            change(&mut world, &mut author, figures, seed).await;
            continue;
        }
        let query = author.query();
        let found = trial::judged(&mut world, &query).await;
        figures.add(&found);
        if let Found::Same(trial::Same { types_differ: true, .. }) = found {
            println!("columns of different types at the shards, seed {seed}: {}", query.written().sql);
        }
        if let Found::Different(difference) = found {
            let (smallest, shown) = trial::shrunk(&mut world, &query, difference.clone()).await;
            println!(
                "seed {seed}, statement {statement} on {:?}, {:?}: {difference}\n  {:?}\n* {shown}\n  \
                 {:?}\n  {:?}\n",
                servers.whole.make,
                world.shards,
                query.written(),
                smallest.written(),
                direct::planned(&world, &smallest.written())
            );
            for table in &tables {
                println!("  {}\n", table.create(table.name));
            }
            assert!(number("POINTSMAN_SHARDS_ALL").is_some(), "another answer; seed {seed}");
        }
    }
}

/// Changes rows once, and looks at all rows from time to time.
async fn change(world: &mut World, author: &mut Author<'_>, figures: &mut Figures, seed: u64) {
    let written = author.change();
    let commits = author.chance(50);
    let mut found = trial::of_change(world, &written, commits).await;
    if author.chance(LOOKS_PERCENT)
        && let Err(difference) = world.check_rows().await
    {
        found = Found::Different(difference);
    }
    figures.add(&found);
    if let Found::Different(difference) = found {
        println!("seed {seed}, {:?}:\n* {difference}\n  {written:?}", world.shards);
        println!("  {:?}\n", direct::planned(world, &written));
        for table in &world.tables {
            println!("  {}\n", table.create(table.name));
        }
        assert!(number("POINTSMAN_SHARDS_ALL").is_some(), "another answer; seed {seed}");
    }
}

fn block_on(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.unwrap_or_else(|error| panic!("cannot start a runtime: {error}"));
    let ended = runtime.block_on(async { tokio::time::timeout(TEST_TIME_MAX, test).await });
    ended.unwrap_or_else(|_| panic!("the test has not ended"));
}
