//! The entries of all workers together.
//!
//! Workers are asked in turns, so that none of them is kept from its clients for long. Each of its
//! answers goes on where the one before has ended; what lies in front of the place that all of them
//! have reached is put together.

use std::ops::ControlFlow;

use observe::counts::report::StatementSums;
use observe::rows::StatementStats;

use super::Slice;
use crate::limits::{STATEMENTS_SHOWN_BYTES_MAX, STATEMENTS_SHOWN_MAX};

/// Bits of a hash that are no part of the number that is shown: 52 bits are left, which programs
/// that take numbers for floating point can tell apart.
const HIDDEN_BITS: u32 = 12;

/// Gives `each` the entries of all workers in the order of their hashes, as long as it wants more.
/// `ask` returns what each worker has from a hash on.
fn walk(mut ask: impl FnMut(u64) -> Vec<Slice>, mut each: impl FnMut(StatementStats) -> ControlFlow<()>) {
    let mut from = 0;
    loop {
        let slices = ask(from);
        let end = slices.iter().filter_map(|(_, next)| *next).min();
        let mut some: Vec<StatementStats> = slices.into_iter().flat_map(|(entries, _)| entries).collect();
        some.retain(|entry| end.is_none_or(|end| entry.id < end));
        some.sort_by_key(|entry| entry.id);
        let mut some = some.into_iter().peekable();
        while let Some(mut entry) = some.next() {
            while let Some(same) = some.next_if(|next| next.id == entry.id) {
                entry.clients += same.clients;
                entry.servers += same.servers;
            }
            if each(entry).is_break() {
                return;
            }
        }
        let Some(end) = end else { return };
        from = end;
    }
}

/// The statements in the order of their numbers, as many as are shown.
pub fn list(ask: impl FnMut(u64) -> Vec<Slice>) -> Vec<StatementStats> {
    let (mut all, mut bytes) = (Vec::new(), 0);
    walk(ask, |entry| {
        bytes += entry.text.len();
        if all.len() >= STATEMENTS_SHOWN_MAX || bytes > STATEMENTS_SHOWN_BYTES_MAX {
            return ControlFlow::Break(());
        }
        all.push(StatementStats { id: shown(entry.id), ..entry });
        ControlFlow::Continue(())
    });
    all
}

/// Sums over all of them, also those that are not shown.
pub fn sums(ask: impl FnMut(u64) -> Vec<Slice>) -> StatementSums {
    let mut sums = StatementSums::default();
    walk(ask, |entry| {
        sums.clients += entry.clients;
        sums.servers += entry.servers;
        sums.of_clients += u64::from(entry.clients > 0);
        sums.of_servers += u64::from(entry.servers > 0);
        sums.all += 1;
        sums.largest_id = shown(entry.id);
        ControlFlow::Continue(())
    });
    sums
}

/// The number of the statement with this hash.
const fn shown(hash: u64) -> u64 {
    hash >> HIDDEN_BITS
}

#[cfg(test)]
mod tests {
    use std::hash::RandomState;
    use std::rc::Rc;
    use std::sync::Arc;

    use route::Caller;
    use wire::reply::Prepared;

    use super::*;
    use crate::ledger::{Ledger, Opened, Placed};
    use crate::limits::STATEMENTS_PER_TURN;
    use session::texts::Texts;

    /// Workers, each with its texts.
    fn workers() -> [(Ledger, Texts); 2] {
        let state = RandomState::new();
        [(); 2].map(|()| (Ledger::new(state.clone()), Texts::new(1 << 30)))
    }

    fn entry((ledger, texts): &(Ledger, Texts), text: &str) -> Rc<crate::ledger::Entry> {
        let caller = Arc::new(Caller::new(b"app", b"shop", "", 0));
        let text = texts.keep(text.as_bytes()).unwrap();
        ledger.entry(&caller, &text, 7, texts).unwrap()
    }

    fn ask(workers: &[(Ledger, Texts)], with_texts: bool) -> impl Fn(u64) -> Vec<Slice> {
        move |from| workers.iter().map(|(ledger, _)| ledger.slice(from, with_texts)).collect()
    }

    #[test]
    fn a_statement_of_two_workers_is_one() {
        let workers = workers();
        let answer = Prepared { id: 1, params: 2, columns: 3, warnings: 0 };
        let _placed = workers.each_ref().map(|worker| Placed::new(entry(worker, "DO 1"), &answer));
        let opened = Opened::new(entry(&workers[1], "DO 1"));
        let before = list(ask(&workers, true));
        let [one] = &before[..] else { panic!("{before:?}") };
        assert_eq!((one.clients, one.servers, one.columns, one.params), (1, 2, 3, 2));
        assert_eq!(
            (&one.schema[..], &one.user[..], &one.text[..]),
            (&b"shop"[..], &b"app"[..], &b"DO 1"[..])
        );
        drop(opened);
        let after = list(ask(&workers, true));
        assert_eq!((after[0].id, after[0].clients), (one.id, 0));
    }

    #[test]
    fn sums_are_those_of_the_rows_however_many_turns_it_takes() {
        let workers = workers();
        let answer = Prepared { id: 1, params: 0, columns: 0, warnings: 0 };
        let count = 5 * STATEMENTS_PER_TURN;
        let text = |n: usize| format!("DO {n}");
        // One worker has all of them, the other one some.
        let opened: Vec<_> = (0..count).map(|n| Opened::new(entry(&workers[0], &text(n)))).collect();
        let placed: Vec<_> =
            (0..count).step_by(3).map(|n| Placed::new(entry(&workers[1], &text(n)), &answer)).collect();
        let rows = list(ask(&workers, true));
        assert!(rows.is_sorted_by(|one, next| one.id < next.id));
        let sums = sums(ask(&workers, false));
        let expected = StatementSums {
            clients: count as u64,
            servers: placed.len() as u64,
            of_clients: opened.len() as u64,
            of_servers: placed.len() as u64,
            all: count as u64,
            largest_id: rows.last().unwrap().id,
        };
        assert_eq!(sums, expected);
        let sum = |of: fn(&StatementStats) -> u64| rows.iter().map(of).sum::<u64>();
        assert_eq!((sum(|row| row.clients), sum(|row| row.servers)), (sums.clients, sums.servers));
    }

    #[test]
    fn c29_rows_have_an_end() {
        let workers = workers();
        let half = "x".repeat(STATEMENTS_SHOWN_BYTES_MAX / 2);
        let _opened: Vec<_> =
            (0..4).map(|n| Opened::new(entry(&workers[0], &format!("{half}{n}")))).collect();
        assert_eq!(list(ask(&workers, true)).len(), 1);
        assert_eq!(sums(ask(&workers, false)).all, 4);
    }
}
