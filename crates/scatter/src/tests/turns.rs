//! Shards whose statements one session runs, one after the other.

use wire::packet::TextRow;
use wire::reply::End;

use super::super::{What, Wrong};
use super::script::*;
use crate::limits::{SCATTER_KEPT_BYTES_MAX, SCATTER_SHARD_BYTES_MAX};

const LONG: u8 = 0x03;
const VARCHAR: u8 = 0xfd;

/// A reply with these keys, and a text of so many bytes in each row.
fn numbers(shard: usize, numbers: impl Iterator<Item = u32>, bytes: usize) -> Vec<u8> {
    let row = |number: u32| {
        let mut row = Vec::new();
        TextRow::put(&mut row, [Some("x".repeat(bytes)), Some(number.to_string())]);
        row
    };
    let definitions = [column(shard, "t", VARCHAR), column(shard, "pointsman_key_0", LONG)];
    reply(1, &result(MODERN, &definitions, &numbers.map(row).collect::<Vec<_>>()))
}

/// More rows of each shard than are kept of a shard that none waits for.
fn interleaved() -> [Vec<u8>; 3] {
    [0, 1, 2].map(|at| numbers(at, (0..3000).map(|n| 3 * n + u32::try_from(at).unwrap()), 50))
}

#[test]
fn sorted_rows_are_kept_until_the_last_shard_has_begun() {
    let replies = interleaved();
    assert!(replies[0].len() > 2 * SCATTER_SHARD_BYTES_MAX);
    let what = || What { order: ascending(), ..what(MODERN) };
    let expected = run(&mut scatter(what(), 3), &replies, 4096);
    let mut scatter = scatter_of_one_session(what(), 3);
    let (sent, lens) = run_one_by_one(&mut scatter, &replies);
    assert!(sent == expected && scatter.is_quiet());
    assert!(lens[1] < 200, "no row leaves before all can be compared");
}

#[test]
fn rows_without_an_order_leave_before_the_next_shard_begins() {
    let replies = interleaved();
    let mut scatter = scatter_of_one_session(what(MODERN), 3);
    let (sent, lens) = run_one_by_one(&mut scatter, &replies);
    assert!(scatter.is_quiet() && scatter.over().unwrap().outcome.rows == 9000);
    assert!(lens[0] > replies[0].len() / 2 && lens[1] > lens[0] && sent.len() > lens[1]);
}

#[test]
fn more_sorted_rows_than_may_be_kept_are_an_error() {
    let rows = u32::try_from(SCATTER_KEPT_BYTES_MAX / 1000).unwrap();
    let replies = [numbers(0, 0..rows, 1000), numbers(1, 0..1, 1000)];
    let mut scatter = scatter_of_one_session(What { order: ascending(), ..what(MODERN) }, 2);
    run_one_by_one(&mut scatter, &replies);
    let over = scatter.over().unwrap();
    assert_eq!(over.outcome.end, End::Err { code: 1235 });
    assert_eq!(over.fault.as_ref().unwrap().wrong, Wrong::Kept);
    assert!(!scatter.is_lost(0), "its connection is of use");
}

#[test]
fn writes_are_added_up_one_after_the_other() {
    let replies = [1, 2, 3].map(|rows| reply(1, &[ok(rows, 0, "")]));
    let mut scatter = scatter_of_one_session(what(CLASSIC), 3);
    run_one_by_one(&mut scatter, &replies);
    assert!(matches!(scatter.over().unwrap().outcome.end, End::Ok { affected_rows: 6, .. }));
}

#[test]
fn a_late_shard_must_have_the_columns_of_the_client() {
    for late in [
        reply(1, &result(MODERN, &[column(1, "t", LONG)], &[])),
        reply(1, &result(MODERN, &[column(1, "t", VARCHAR), column(1, "u", LONG)], &[])),
        reply(1, &[ok(1, 0, "")]),
    ] {
        let first = reply(1, &result(MODERN, &[column(0, "t", VARCHAR)], &[text_row(&[Some("a")])]));
        let mut scatter = scatter_of_one_session(what(MODERN), 2);
        run_one_by_one(&mut scatter, &[first, late]);
        assert_eq!(scatter.over().unwrap().outcome.end, End::Err { code: 1105 });
    }
}

#[test]
fn the_first_error_of_a_session_is_told() {
    let columns = [column(0, "t", VARCHAR), column(0, "pointsman_key_0", LONG)];
    let mut first = result(MODERN, &columns, &[text_row(&[Some("a"), Some("1")])]);
    // In the place of the end.
    first.pop();
    first.push(error(1213, "Deadlock found"));
    let replies = [reply(1, &first), reply(1, &[error(1213, "earlier part")])];
    let mut scatter = scatter_of_one_session(What { order: ascending(), ..what(MODERN) }, 2);
    let (sent, _) = run_one_by_one(&mut scatter, &replies);
    assert_eq!(scatter.over().unwrap().outcome.end, End::Err { code: 1213 });
    assert!(sent.windows(14).any(|part| part == b"Deadlock found"));
}
