//! What all the statistics of a statement cost together: its counters, its time, its digest, and
//! its text for lists of sessions.
//!
//! `cargo test --release -p observe --lib what_the_statistics -- --ignored --nocapture` prints it.

use std::hint::black_box;
use std::sync::Arc;

use sql::StatementKind;
use tokio::time::Instant;
use wire::command::Kind;

use super::{Counter, Counts};
use crate::digests::{Done, Names};
use crate::running::{Measured, Running, Shown};

/// Different statements that a worker sees.
const DIGESTS: u64 = 100;
/// Statements of a round, and rounds, of which the fastest counts: others use the machine as well.
const STATEMENTS: u64 = 20_000;
const ROUNDS: u32 = 200;

#[test]
#[ignore = "prints times; run it in a release build"]
fn what_the_statistics_of_a_statement_cost() {
    let (counts, running, shown) = (Counts::default(), Running::default(), Shown::default());
    counts.digests.configure(1 << 20, false);
    let names = Names { user: b"app"[..].into(), schema: b"shop"[..].into(), client: Arc::default() };
    let who = counts.digests.who(names);
    let text = b"SELECT c FROM sbtest1 WHERE id=5027";
    let statement = |n: u64| {
        counts.note(Counter::Questions);
        let digest = black_box((n % DIGESTS).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let place = counts.digests.table.borrow_mut().enter(&who, 0, digest, || text[..].into());
        let statement = Some(black_box(StatementKind::Select));
        let measured =
            Measured { statement, digest: Some(digest), place, bytes: 36, ..Measured::plain(Kind::Query) };
        running.begin(&shown, measured, black_box(text), 1024, Instant::now());
        running.add_answered(black_box(200));
        let Some((measured, took)) = running.end(Instant::now()) else { return };
        let done = Done { took, rows_sent: 1, bytes_sent: running.answered.get(), ..Done::default() };
        if let Some(place) = measured.place {
            counts.digests.table.borrow_mut().note(place, &done, 1);
        }
        counts.commands.note(StatementKind::Select, took);
        counts.add(Counter::QueryNanoseconds, done.took.subsec_nanos().into());
        running.rest(&shown);
    };
    let round = |_| {
        let start = Instant::now();
        (0..STATEMENTS).for_each(&statement);
        start.elapsed() / u32::try_from(STATEMENTS).unwrap_or(u32::MAX)
    };
    println!("{:?} a statement", (0..ROUNDS).map(round).min());
}
