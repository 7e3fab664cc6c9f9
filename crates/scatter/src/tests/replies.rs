//! What the client gets for which replies.

use planner::merge::{Order, Protocol, Window};
use planner::plan::Counts;
use wire::packet::{Column, PrepareOk};
use wire::reply::End;
use wire::{Capabilities, Codec as _, StatusFlags};

use super::super::{Errors, Kind, What, Wrong};
use super::script::*;

const LONG: u8 = 0x03;
const VARCHAR: u8 = 0xfd;

/// Definitions of a visible name and a hidden number.
fn name_and_key(shard: usize) -> Vec<Vec<u8>> {
    vec![column(shard, "name", VARCHAR), column(shard, "pointsman_key_0", LONG)]
}

fn row(name: &str, key: i32) -> Vec<u8> {
    text_row(&[Some(name), Some(&key.to_string())])
}

/// The result that a client gets with these names, of so many shards.
fn names(caps: Capabilities, names: &[&str], shards: u16) -> Vec<u8> {
    let rows: Vec<_> = names.iter().map(|name| text_row(&[Some(name)])).collect();
    let mut payloads = result(caps, &[logical_column("name", VARCHAR)], &rows);
    *payloads.last_mut().unwrap() = end(caps, shards, StatusFlags::AUTOCOMMIT);
    reply(1, &payloads)
}

/// Three shards with rows in the order of their keys.
fn three(caps: Capabilities) -> Vec<Vec<u8>> {
    let rows = [vec![row("b", 2), row("e", 9)], vec![row("a", 1), row("d", 4)], vec![row("c", 3)]];
    let of = |(at, rows): (usize, &Vec<Vec<u8>>)| reply(1, &result(caps, &name_and_key(at), rows));
    rows.iter().enumerate().map(of).collect()
}

#[test]
fn rows_come_in_order_without_their_keys_whatever_the_cuts() {
    for caps in ALL {
        for piece in (1..70).chain([1000]) {
            let mut scatter = scatter(What { order: ascending(), ..what(caps) }, 3);
            let sent = run(&mut scatter, &three(caps), piece);
            assert_eq!(sent, names(caps, &["a", "b", "c", "d", "e"], 3), "{piece}");
            let over = scatter.over().unwrap();
            assert_eq!((over.outcome.rows, over.found_rows, scatter.is_quiet()), (5, 5, true));
        }
    }
}

#[test]
fn a_limit_ends_the_rows_and_awaits_the_ends() {
    for caps in ALL {
        let window = Window::new(1, 2);
        let mut scatter = scatter(What { order: ascending(), window, ..what(caps) }, 3);
        assert_eq!(run(&mut scatter, &three(caps), 7), names(caps, &["b", "c"], 3));
        let over = scatter.over().unwrap();
        assert_eq!((over.outcome.rows, over.found_rows), (2, 3));
    }
}

#[test]
fn shards_that_are_killed_behind_the_limit_cost_nothing() {
    let mut replies = three(CLASSIC);
    let mut killed = result(CLASSIC, &name_and_key(1), &[row("a", 1)]);
    *killed.last_mut().unwrap() = error(1317, "Query execution was interrupted");
    replies[1] = reply(1, &killed);
    let window = Window::new(0, 1);
    let mut scatter = scatter(What { order: ascending(), window, ..what(CLASSIC) }, 3);
    let silent = [replies[0].clone(), Vec::new(), replies[2].clone()];
    let mut sent = run(&mut scatter, &silent, 99);
    assert!(sent.is_empty() && !scatter.is_rest());
    sent.extend(run(&mut scatter, &[Vec::new(), replies[1].clone(), Vec::new()], 99));
    assert_eq!(sent, names(CLASSIC, &["a"], 2));
}

#[test]
fn without_an_order_no_shard_waits_for_another() {
    for caps in ALL {
        let mut scatter = scatter(what(caps), 2);
        let reply_of = |at: usize, cells: &[&str]| {
            let rows: Vec<_> = cells.iter().map(|cell| text_row(&[Some(cell)])).collect();
            reply(1, &result(caps, &[column(at, "name", VARCHAR)], &rows))
        };
        let (first, second) = (reply_of(0, &["a"]), reply_of(1, &["b", "c"]));
        let whole = names(caps, &["b", "c", "a"], 2);
        // Of the first shard, all but its row and its end.
        let header = reply_of(0, &[]).len() - 4 - end(caps, 0, StatusFlags::empty()).len();
        let mut sent = run(&mut scatter, &[first[..header].to_vec(), second], 1);
        assert_eq!(sent, whole[..sent.len()]);
        assert!(sent.len() > header, "rows of the second shard have left");
        sent.extend(run(&mut scatter, &[first[header..].to_vec(), Vec::new()], 1));
        assert_eq!(sent, whole);
    }
}

#[test]
fn ok_packets_are_added_up() {
    let replies = [
        reply(1, &[ok(2, 0, "Records: 2  Duplicates: 0  Warnings: 1")]),
        reply(1, &[ok(1, 7, "Records: 1  Duplicates: 1  Warnings: 1")]),
    ];
    let mut scatter = scatter(What { seq: 9, ..what(CLASSIC) }, 2);
    let sent = run(&mut scatter, &replies, 3);
    let sum = b"\0\x03\x07\x02\0\x02\0\x26Records: 3  Duplicates: 1  Warnings: 2".to_vec();
    assert_eq!(sent, reply(9, &[sum]));
    let end = scatter.over().unwrap().outcome.end;
    let status = StatusFlags::AUTOCOMMIT;
    assert_eq!(end, End::Ok { affected_rows: 3, last_insert_id: 7, status, warnings: 2 });
}

#[test]
fn a_write_everywhere_counts_once_and_may_have_an_id_of_the_proxy() {
    let replies = [0, 1].map(|_| reply(1, &[ok(2, 5, "")]));
    let what = What { counts: Counts::Same, last_insert_id: Some(900), ..what(CLASSIC) };
    let mut scatter = scatter(what, 2);
    run(&mut scatter, &replies, 99);
    let End::Ok { affected_rows, last_insert_id, .. } = scatter.over().unwrap().outcome.end else { panic!() };
    assert_eq!((affected_rows, last_insert_id), (2, 900));
}

#[test]
fn the_first_error_ends_the_reply_and_names_the_logical_table() {
    let refused = reply(1, &[error(1146, "Table 'shop_1.orders_1' doesn't exist")]);
    let told = error(1146, "Table 'shop.orders' doesn't exist");
    let mut scatter = scatter(what(CLASSIC), 3);
    let sent = run(&mut scatter, &[Vec::new(), refused, Vec::new()], 5);
    assert_eq!(sent, reply(1, &[told]));
    assert_eq!(scatter.over().unwrap().outcome.end, End::Err { code: 1146 });
    assert!(scatter.is_rest(), "the other shards run on");
    let others = three(CLASSIC);
    let rest = run(&mut scatter, &[others[0].clone(), Vec::new(), others[2].clone()], 5);
    assert!(rest.is_empty() && scatter.is_quiet());
}

#[test]
fn the_error_of_a_write_is_the_last_that_comes_of_it() {
    let mut scatter = scatter(What { errors: Errors::Last, ..what(CLASSIC) }, 2);
    let sent = run(&mut scatter, &[reply(1, &[error(1062, "Duplicate")]), Vec::new()], 9);
    assert!(sent.is_empty() && scatter.is_rest() && scatter.over().is_none());
    let sent = run(&mut scatter, &[Vec::new(), reply(1, &[ok(1, 0, "")])], 9);
    assert_eq!(sent, reply(1, &[error(1062, "Duplicate")]));
    assert_eq!(scatter.over().unwrap().outcome.end, End::Err { code: 1062 });
}

#[test]
fn an_error_behind_rows_stands_behind_rows() {
    for order in [Order::default(), ascending()] {
        let mut replies = three(CLASSIC);
        let mut failing = result(CLASSIC, &name_and_key(1), &[row("a", 1)]);
        *failing.last_mut().unwrap() = error(1205, "Lock wait timeout exceeded");
        replies[1] = reply(1, &failing);
        let mut scatter = scatter(What { order, ..what(CLASSIC) }, 3);
        let sent = run(&mut scatter, &replies, 4000);
        let text = String::from_utf8_lossy(&sent);
        assert!(text.ends_with("Lock wait timeout exceeded"), "{text}");
        assert_eq!(scatter.over().unwrap().outcome.end, End::Err { code: 1205 });
    }
}

#[test]
fn one_shard_with_other_names_keeps_all_else() {
    for caps in ALL {
        let rows = [text_row(&[Some("x"), None])];
        let definitions = [column(0, "a", VARCHAR), column(0, "b", LONG)];
        let replies = [reply(1, &result(caps, &definitions, &rows))];
        let mut scatter = scatter(what(caps), 1);
        let definitions = [logical_column("a", VARCHAR), logical_column("b", LONG)];
        assert_eq!(run(&mut scatter, &replies, 11), reply(1, &result(caps, &definitions, &rows)));
    }
}

#[test]
fn binary_rows_are_merged_as_well() {
    // NULL bits, an INT, and the key as INT.
    let row = |value: u8, key: u8| vec![0, 0, value, 0, 0, 0, key, 0, 0, 0];
    let null = |key: u8| vec![0, 0b100, key, 0, 0, 0];
    let definitions = |at| [column(at, "n", LONG), column(at, "pointsman_key_0", LONG)];
    let replies = [
        reply(1, &result(MODERN, &definitions(0), &[row(1, 1), row(3, 3)])),
        reply(1, &result(MODERN, &definitions(1), &[row(2, 2), null(9)])),
    ];
    let what = What { protocol: Protocol::Binary, order: ascending(), ..what(MODERN) };
    let sent = run(&mut scatter(what, 2), &replies, 8);
    let rows = [vec![0, 0, 1, 0, 0, 0], vec![0, 0, 2, 0, 0, 0], vec![0, 0, 3, 0, 0, 0], vec![0, 0b100]];
    let mut whole = result(MODERN, &[logical_column("n", LONG)], &rows);
    *whole.last_mut().unwrap() = end(MODERN, 2, StatusFlags::AUTOCOMMIT);
    assert_eq!(sent, reply(1, &whole));
}

/// The reply to the preparation of a statement with so many parameters and these columns.
fn prepared(caps: Capabilities, id: u32, params: u16, columns: &[Vec<u8>]) -> Vec<u8> {
    let count = u16::try_from(columns.len()).unwrap();
    let ok = PrepareOk { statement_id: id, columns: count, params, warnings: 0, metadata_follows: None };
    let mut payloads = vec![ok.encode(caps)];
    let param = Column::text(b"?", 63).encode(caps);
    for block in [vec![param; params.into()], columns.to_vec()] {
        let is_ended = caps == CLASSIC && !block.is_empty();
        payloads.extend(block);
        payloads.extend(is_ended.then(|| end(caps, 0, StatusFlags::AUTOCOMMIT)));
    }
    reply(1, &payloads)
}

#[test]
fn a_prepared_statement_has_no_hidden_columns_and_the_clients_id() {
    for caps in ALL {
        for params in [0, 2] {
            let replies = [prepared(caps, 71, params, &name_and_key(0))];
            for piece in [1, 1000] {
                let what = What { kind: Kind::Prepared { id: 5 }, order: ascending(), ..what(caps) };
                let mut scatter = scatter(what, 1);
                let sent = run(&mut scatter, &replies, piece);
                assert_eq!(sent, prepared(caps, 5, params, &[logical_column("name", VARCHAR)]));
                assert_eq!(scatter.over().unwrap().outcome.end, End::Other);
            }
        }
        let what = What { kind: Kind::Prepared { id: 5 }, ..what(caps) };
        let without = [prepared(caps, 1, 0, &[])];
        assert_eq!(run(&mut scatter(what, 1), &without, 3), prepared(caps, 5, 0, &[]));
    }
}

/// The fault that these replies have.
fn fault(replies: &[Vec<u8>]) -> (u16, Wrong) {
    let mut scatter = scatter(what(CLASSIC), replies.len());
    let sent = run(&mut scatter, replies, 1000);
    assert_eq!(sent[4], 0xff, "the reply is an error");
    let over = scatter.over().unwrap();
    let End::Err { code } = over.outcome.end else { panic!("{over:?}") };
    (code, over.fault.clone().unwrap().wrong)
}

#[test]
fn replies_that_do_not_go_together_are_an_error() {
    let plain = |definitions: &[Vec<u8>]| reply(1, &result(CLASSIC, definitions, &[]));
    let one = plain(&[column(0, "a", LONG)]);
    let two = plain(&[column(1, "a", LONG), column(1, "b", LONG)]);
    assert_eq!(fault(&[one.clone(), two]), (1105, Wrong::Columns { here: 2, there: 1 }));
    let (code, wrong) = fault(&[one.clone(), plain(&[column(1, "a", VARCHAR)])]);
    assert_eq!((code, wrong.to_string().contains("another type")), (1105, true), "{wrong}");
    let (_, wrong) = fault(&[one.clone(), plain(&[column(1, "b", LONG)])]);
    assert!(wrong.to_string().contains("'b'"), "{wrong}");
    assert_eq!(fault(&[one.clone(), reply(1, &[ok(1, 0, "")])]), (1105, Wrong::Kind));
    assert_eq!(fault(&[reply(1, &[b"\xfb/etc/passwd".to_vec()])]), (1835, Wrong::File));
}

#[test]
fn types_of_integers_may_differ() {
    const LONGLONG: u8 = 8;
    let text = |shard, kind| reply(1, &result(CLASSIC, &[column(shard, "a", kind)], &[]));
    // A binary row has as many bytes as its type.
    let binary = |shard, kind| {
        let number = (-2_i64).to_le_bytes();
        let row = [b"\0\0", &number[..if kind == LONG { 4 } else { 8 }]].concat();
        reply(1, &result(CLASSIC, &[column(shard, "a", kind)], &[row]))
    };
    let in_text = || scatter(what(CLASSIC), 2);
    let in_binary = || scatter(What { protocol: Protocol::Binary, ..what(CLASSIC) }, 2);
    for kinds in [[LONG, LONGLONG], [LONGLONG, LONG]] {
        let sent = run(&mut in_text(), &[text(0, kinds[0]), text(1, kinds[1])], 1000);
        assert_eq!(sent, run(&mut in_text(), &[text(0, LONGLONG), text(1, LONGLONG)], 1000));
        let sent = run(&mut in_binary(), &[binary(0, kinds[0]), binary(1, kinds[1])], 1000);
        assert_eq!(sent, run(&mut in_binary(), &[binary(0, LONGLONG), binary(1, LONGLONG)], 1000));
        // The second one begins when the client has been told of the first one's type.
        let in_turn = |second| {
            let mut scatter = scatter_of_one_session(What { protocol: Protocol::Binary, ..what(CLASSIC) }, 2);
            run_one_by_one(&mut scatter, &[binary(0, kinds[0]), binary(1, second)]).0
        };
        assert_eq!(in_turn(kinds[1]), in_turn(kinds[0]));
    }
}

#[test]
fn types_of_texts_may_differ() {
    const BLOB: u8 = 0xfc;
    let plain = |shard, kind| reply(1, &result(CLASSIC, &[column(shard, "a", kind)], &[]));
    for protocol in [Protocol::Text, Protocol::Binary] {
        let what = || What { protocol, ..what(CLASSIC) };
        let sent = run(&mut scatter(what(), 2), &[plain(0, VARCHAR), plain(1, BLOB)], 1000);
        let blobs = run(&mut scatter(what(), 2), &[plain(0, BLOB), plain(1, BLOB)], 1000);
        assert_eq!(sent, blobs);
    }
}

#[test]
fn several_results_are_an_error() {
    let more = StatusFlags::AUTOCOMMIT | StatusFlags::MORE_RESULTS;
    let mut first = ok(1, 0, "");
    first[3] = more.bits().to_le_bytes()[0];
    assert_eq!(fault(&[reply(1, &[first])]), (1835, Wrong::MoreResults));
    let mut rows = result(CLASSIC, &[column(0, "a", LONG)], &[]);
    *rows.last_mut().unwrap() = end(CLASSIC, 0, more);
    let mut scatter = scatter(what(CLASSIC), 1);
    run(&mut scatter, &[reply(1, &rows)], 1000);
    assert_eq!(scatter.over().unwrap().fault.as_ref().unwrap().wrong, Wrong::MoreResults);
    assert!(scatter.is_lost(0));
}

#[test]
fn a_connection_that_ends_in_a_reply_is_an_error() {
    let replies = three(CLASSIC);
    for cut in 0..replies[1].len() {
        let mut scatter = scatter(What { order: ascending(), ..what(CLASSIC) }, 3);
        let cut = replies[1][..cut].to_vec();
        run(&mut scatter, &[replies[0].clone(), cut, replies[2].clone()], 1000);
        scatter.close(1);
        run(&mut scatter, &[], 1);
        let over = scatter.over().unwrap();
        assert_eq!(over.outcome.end, End::Err { code: 2013 });
        assert!(scatter.is_lost(1) && !scatter.is_lost(0));
    }
}
