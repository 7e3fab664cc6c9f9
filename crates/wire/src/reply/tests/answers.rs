//! Every kind of answer, in both modes and every split.

use super::script::{Script, column_count, ok};
use super::*;
use crate::Codec as _;
use crate::packet::OkHeader;

const MORE: StatusFlags = StatusFlags::MORE_RESULTS.union(StatusFlags::AUTOCOMMIT);
const CURSOR: StatusFlags = StatusFlags::CURSOR_EXISTS.union(StatusFlags::AUTOCOMMIT);
const PLAIN: StatusFlags = StatusFlags::AUTOCOMMIT;

/// What ends rows with `status`.
fn end(caps: Capabilities, status: StatusFlags) -> End {
    match caps {
        DEPRECATE => ok_end(status),
        _ => End::Eof { status, warnings: 0 },
    }
}

#[test]
fn ok_says_what_was_done() {
    for answer in [Answer::Result, Answer::Single, Answer::Auth] {
        let values = [0, 1, 0xfa, 0xfb, 0xffff, 0x1_0000, 0xff_ffff, 0x100_0000, u64::MAX];
        for (affected_rows, last_insert_id) in values.into_iter().zip(values.into_iter().rev()) {
            let packet = crate::packet::Ok {
                affected_rows,
                last_insert_id,
                warnings: 513,
                info: b"Rows matched: 1  Changed: 1  Warnings: 513",
                ..ok(OkHeader::Ok, PLAIN)
            };
            let script = Script::new(CLASSIC).message(&packet.encode(CLASSIC));
            let expected = End::Ok { affected_rows, last_insert_id, status: PLAIN, warnings: 513 };
            let got = outcome(answer, CLASSIC, &script.bytes);
            assert_eq!(got, Outcome { end: expected, rows: 0, ends_rows: false });
            assert_eq!(got.status(), Some(PLAIN));
        }
    }
}

#[test]
fn err_ends_every_answer() {
    use Answer::{Auth, Endless, Fetch, FieldList, Prepare, Result, Single, Statistics};
    for answer in [Result, Prepare, FieldList, Fetch, Statistics, Single, Auth, Endless] {
        for caps in BOTH {
            let got = outcome(answer, caps, &Script::new(caps).err(1064).bytes);
            assert_eq!(got, Outcome { end: End::Err { code: 1064 }, rows: 0, ends_rows: false });
            assert_eq!(got.status(), None);
        }
    }
}

#[test]
fn out_parameters_are_followed_by_an_ok_whatever_their_terminator_says() {
    let announced = MORE | StatusFlags::PS_OUT_PARAMS;
    // MySQL forgets to announce it again, MariaDB does not.
    for terminator in [PLAIN, MORE] {
        let script = Script::new(CLASSIC).message(&column_count(2, CLASSIC, true)).definitions(2);
        let script = script.eof(announced).rows(1).eof(terminator).ok(PLAIN);
        assert_eq!(
            outcome(Answer::Result, CLASSIC, &script.bytes),
            Outcome { end: ok_end(PLAIN), rows: 1, ends_rows: false }
        );
    }
    let script = Script::new(DEPRECATE).columns(2).rows(1).end(announced).ok(PLAIN);
    assert_eq!(
        outcome(Answer::Result, DEPRECATE, &script.bytes),
        Outcome { end: ok_end(PLAIN), rows: 1, ends_rows: false }
    );
}

#[test]
fn no_answer_is_over_at_once() {
    let mut scanner = ReplyScanner::new(Answer::None, CLASSIC);
    let scan = scanner.scan(&[]).unwrap();
    assert_eq!(scan.len, 0);
    assert_eq!(scan.event, Event::Done(Outcome { end: End::Other, rows: 0, ends_rows: false }));
    assert!(!scanner.started());
}

#[test]
fn a_result_ends_behind_its_rows() {
    for caps in BOTH {
        for (columns, rows) in [(1, 0), (1, 1), (3, 2), (300, 3), (1, 600)] {
            let script = Script::new(caps).columns(columns).rows(rows).end(PLAIN);
            // 600 rows and more: sequence ids wrap.
            let got = match rows {
                600 => {
                    let mut scanner = ReplyScanner::new(Answer::Result, caps);
                    let (len, event) = scan_pieces(&mut scanner, script.bytes.chunks(97)).unwrap();
                    assert_eq!((len, scanner.next_seq()), (script.bytes.len(), script.seq()));
                    let Event::Done(got) = event else { panic!("{event:?}") };
                    got
                }
                _ => outcome(Answer::Result, caps, &script.bytes),
            };
            assert_eq!(got, Outcome { end: end(caps, PLAIN), rows: rows as u64, ends_rows: true });
        }
    }
}

#[test]
fn a_null_in_the_first_column_is_a_row() {
    for caps in BOTH {
        let script = Script::new(caps).columns(2).message(&[0xfb, 0xfb]).end(PLAIN);
        assert_eq!(outcome(Answer::Result, caps, &script.bytes).rows, 1);
    }
}

#[test]
fn a_terminator_carries_session_state() {
    // With DEPRECATE_EOF it is an OK packet of any length; a row that starts with 0xfe cannot be
    // that short.
    let mut payload = ok(OkHeader::Eof, PLAIN | StatusFlags::SESSION_STATE_CHANGED).encode(DEPRECATE);
    payload.extend([b's'; 500]);
    let script = Script::new(DEPRECATE).columns(1).rows(1).message(&payload);
    let got = outcome(Answer::Result, DEPRECATE, &script.bytes);
    assert_eq!(got.status(), Some(PLAIN | StatusFlags::SESSION_STATE_CHANGED));
}

#[test]
fn c18_more_results_are_followed() {
    for caps in BOTH {
        let script = Script::new(caps)
            .columns(1)
            .rows(2)
            .end(MORE)
            .ok(MORE)
            .columns(2)
            .rows(0)
            .end(MORE)
            .columns(1)
            .rows(1)
            .end(MORE)
            .ok(PLAIN);
        let got = outcome(Answer::Result, caps, &script.bytes);
        assert_eq!(
            got,
            Outcome { end: ok_end(PLAIN), rows: 3, ends_rows: false },
            "CALL ends with a bare OK"
        );
    }
}

#[test]
fn c18_an_error_ends_all_results() {
    for caps in BOTH {
        let script = Script::new(caps).columns(1).rows(2).end(MORE).err(1146);
        let got = outcome(Answer::Result, caps, &script.bytes);
        assert_eq!(got, Outcome { end: End::Err { code: 1146 }, rows: 2, ends_rows: false });
    }
}

#[test]
fn an_error_may_stand_anywhere() {
    for caps in BOTH {
        let head = column_count(2, caps, true);
        for script in [
            Script::new(caps).message(&head).definitions(1).err(1317),
            Script::new(caps).message(&head).definitions(2).err(1317),
            Script::new(caps).columns(2).err(1317),
            Script::new(caps).columns(2).rows(2).err(1317),
        ] {
            assert_eq!(outcome(Answer::Result, caps, &script.bytes).end, End::Err { code: 1317 });
        }
    }
}

#[test]
fn an_open_cursor_has_no_rows_yet() {
    for caps in BOTH {
        // Without EOF packets the terminator follows the columns at once.
        let head = column_count(2, caps, true);
        let script = Script::new(caps).message(&head).definitions(2).end(CURSOR);
        let got = outcome(Answer::Cursor, caps, &script.bytes);
        assert_eq!(
            got,
            Outcome {
                end: end(caps, CURSOR),
                rows: 0,
                ends_rows: caps.contains(Capabilities::DEPRECATE_EOF)
            }
        );
    }
}

#[test]
fn a_cursor_without_a_request_belongs_to_another_statement() {
    // MariaDB: FOR rec IN (SELECT ...) DO SELECT rec.c; END FOR.
    for caps in BOTH {
        let more = CURSOR | StatusFlags::MORE_RESULTS;
        let script = Script::new(caps).message(&column_count(1, caps, true)).definitions(1);
        let script = script.classic_eof(more).message(b"\x01a").end(more).message(b"\x01x");
        let script = script.definitions(1).classic_eof(more).message(b"\x01b").end(CURSOR);
        let got = outcome(Answer::Result, caps, &script.bytes);
        assert_eq!(got, Outcome { end: end(caps, CURSOR), rows: 2, ends_rows: true });
    }
}

#[test]
fn fetch_answers_with_rows_only() {
    for caps in BOTH {
        for status in [CURSOR, CURSOR | StatusFlags::LAST_ROW_SENT] {
            let script = Script::new(caps).message(&[0, 0, 1]).message(&[0, 0, 2]).end(status);
            let got = outcome(Answer::Fetch, caps, &script.bytes);
            assert_eq!(got, Outcome { end: end(caps, status), rows: 2, ends_rows: true });
        }
    }
}

#[test]
fn left_out_definitions_are_not_waited_for() {
    for optional in [Capabilities::OPTIONAL_RESULTSET_METADATA, Capabilities::MARIADB_CACHE_METADATA] {
        for caps in BOTH.map(|caps| caps | optional) {
            let end = |script: Script| script.rows(2).end(PLAIN);
            let full = end(Script::new(caps).columns(3));
            let none = column_count(3, caps, false);
            let none = end(Script::new(caps).message(&none).classic_eof(PLAIN));
            for script in [full, none] {
                assert_eq!(outcome(Answer::Result, caps, &script.bytes).rows, 2);
            }
        }
    }
    let optional = CLASSIC | Capabilities::OPTIONAL_RESULTSET_METADATA;
    let script = Script::new(optional).message(&[3, 2]);
    let error = WireError::Invalid { field: "metadata follows", value: 2 };
    assert_eq!(scan_all_splits(Answer::Result, optional, &script.bytes), Err(error));
}

#[test]
fn a_prepare_answer_counts_its_definitions() {
    for caps in BOTH {
        for (params, columns) in [(0, 0), (1, 0), (0, 1), (2, 3), (300, 1)] {
            let mut script = Script::new(caps).prepare_ok(params, columns, true);
            for count in [params, columns].into_iter().filter(|&count| count > 0) {
                script = script.definitions(count).classic_eof(PLAIN);
            }
            let got = outcome(Answer::Prepare, caps, &script.bytes);
            let none = caps == DEPRECATE || params + columns == 0;
            let expected = if none { End::Other } else { End::Eof { status: PLAIN, warnings: 0 } };
            assert_eq!(got, Outcome { end: expected, rows: 0, ends_rows: false }, "{params} {columns}");
        }
    }
}

#[test]
fn a_prepare_answer_tells_of_warnings() {
    for (warnings, warned) in [(0, false), (3, true)] {
        let script = Script::new(CLASSIC).message(&[0, 7, 0, 0, 0, 0, 0, 0, 0, 0, warnings, 0]);
        let mut scanner = ReplyScanner::new(Answer::Prepare, CLASSIC);
        scanner.scan(&script.bytes).unwrap();
        assert_eq!(scanner.warned(), warned);
    }
}

#[test]
fn a_prepare_answer_may_leave_out_definitions() {
    for caps in BOTH.map(|caps| caps | Capabilities::OPTIONAL_RESULTSET_METADATA) {
        for (params, columns) in [(0, 0), (1, 0), (0, 1), (2, 3)] {
            let mut script = Script::new(caps).prepare_ok(params, columns, false);
            for _ in [params, columns].into_iter().filter(|&count| count > 0) {
                script = script.classic_eof(PLAIN);
            }
            outcome(Answer::Prepare, caps, &script.bytes);
        }
    }
}

#[test]
fn a_file_is_asked_for_and_answered() {
    for caps in BOTH {
        let request = Script::new(caps).message(b"\xfb/tmp/data.csv");
        let (len, event) = scan_all_splits(Answer::Result, caps, &request.bytes).unwrap();
        assert_eq!((len, event), (request.bytes.len(), Event::LocalInfile));

        let after = |status| Script::new(caps).skip_to(9).ok(status);
        let error = Script::new(caps).skip_to(9).err(1290);
        let followed = after(MORE).columns(1).rows(2).end(PLAIN);
        for (answer, end, rows) in [
            (after(PLAIN), ok_end(PLAIN), 0),
            (error, End::Err { code: 1290 }, 0),
            (followed, end(caps, PLAIN), 2),
        ] {
            for piece in [1, 5, usize::MAX] {
                let mut scanner = ReplyScanner::new(Answer::Result, caps);
                scan_pieces(&mut scanner, [request.bytes.as_slice()]).unwrap();
                let still = scanner.scan(&answer.bytes).unwrap();
                assert_eq!((still.len, still.event), (0, Event::LocalInfile), "until the file is sent");
                scanner.file_sent(9);
                let pieces = answer.bytes.chunks(piece.min(answer.bytes.len()));
                let (len, event) = scan_pieces(&mut scanner, pieces).unwrap();
                assert_eq!(len, answer.bytes.len());
                assert_eq!(event, Event::Done(Outcome { end, rows, ends_rows: rows > 0 }));
            }
        }
    }
}

#[test]
fn a_file_is_not_answered_with_rows() {
    let mut scanner = ReplyScanner::new(Answer::Result, CLASSIC);
    scanner.scan(&Script::new(CLASSIC).message(b"\xfbdata").bytes).unwrap();
    scanner.file_sent(4);
    let columns = Script::new(CLASSIC).skip_to(4).columns(1);
    let error = WireError::Unexpected { expected: "OK or ERR after a file", got: "another packet" };
    assert_eq!(scanner.scan(&columns.bytes), Err(error));
}

#[test]
fn statistics_are_one_packet_of_text() {
    for caps in BOTH {
        let script = Script::new(caps).message(b"Uptime: 5  Threads: 1");
        let got = outcome(Answer::Statistics, caps, &script.bytes);
        assert_eq!(got, Outcome { end: End::Other, rows: 0, ends_rows: false });
    }
}

#[test]
fn a_field_list_has_no_count() {
    for caps in BOTH {
        for fields in [0, 1, 5] {
            let script = Script::new(caps).definitions(fields).end(PLAIN);
            let got = outcome(Answer::FieldList, caps, &script.bytes);
            assert_eq!(got, Outcome { end: end(caps, PLAIN), rows: 0, ends_rows: true });
        }
    }
}

#[test]
fn the_columns_of_a_result_are_counted() {
    for caps in BOTH {
        let scanner = |bytes: &[u8]| {
            let mut scanner = ReplyScanner::new(Answer::Result, caps);
            scanner.scan(bytes).unwrap();
            scanner.columns()
        };
        assert_eq!(scanner(&Script::new(caps).columns(3).rows(1).end(PLAIN).bytes), Some(3));
        assert_eq!(scanner(&Script::new(caps).ok(PLAIN).bytes), None);
    }
}

/// MariaDB does that in a transaction, for a table that is not there.
#[test]
fn a_field_list_may_be_ok_alone() {
    for caps in BOTH {
        let got = outcome(Answer::FieldList, caps, &Script::new(caps).ok(PLAIN).bytes);
        assert!(matches!(got.end, End::Ok { .. }), "{got:?}");
    }
}

#[test]
fn a_single_packet_may_be_eof() {
    for caps in BOTH {
        let got = outcome(Answer::Single, caps, &Script::new(caps).end(PLAIN).bytes);
        assert_eq!(got.end, end(caps, PLAIN));
        let text = Script::new(caps).message(b"text");
        let error = WireError::Unexpected { expected: "OK, EOF or ERR", got: "another packet" };
        assert_eq!(scan_all_splits(Answer::Single, caps, &text.bytes), Err(error));
    }
}

#[test]
fn a_short_eof_is_understood_whatever_was_agreed() {
    let script = Script::new(DEPRECATE).columns(1).rows(1).eof(PLAIN);
    let got = outcome(Answer::Result, DEPRECATE, &script.bytes);
    assert_eq!(got, Outcome { end: End::Eof { status: PLAIN, warnings: 0 }, rows: 1, ends_rows: true });
}

#[test]
fn a_login_stops_where_the_client_must_answer() {
    let switch = b"\xfemysql_native_password\0abcdefghijabcdefghij\0".as_slice();
    for message in [switch, &[0xfe], &[1, 4], b"\x01-----BEGIN PUBLIC KEY-----", b"\x02second_factor\0"] {
        let script = Script::new(CLASSIC).message(message);
        let got = outcome(Answer::Auth, CLASSIC, &script.bytes);
        assert_eq!(got, Outcome { end: End::Other, rows: 0, ends_rows: false });
    }
    let fast = Script::new(CLASSIC).skip_to(3).message(&[1, 3]).ok(PLAIN);
    let mut scanner = ReplyScanner::new(Answer::Auth, CLASSIC).starting_at(3);
    let (len, event) = scan_pieces(&mut scanner, fast.bytes.chunks(2)).unwrap();
    assert_eq!(len, fast.bytes.len());
    assert_eq!(event, Event::Done(Outcome { end: ok_end(PLAIN), rows: 0, ends_rows: false }));
}

#[test]
fn a_binary_log_ends_with_eof_only() {
    for caps in BOTH {
        // An acknowledgement of a replica starts sequence ids anew.
        let script = Script::new(caps).message(&[0; 40]).message(&[0; 19]).skip_to(1).message(&[0; 19]);
        let (len, event) = scan_all_splits(Answer::Endless, caps, &script.bytes).unwrap();
        assert_eq!((len, event), (script.bytes.len(), Event::More));
        // MariaDB ends it with an EOF packet, MySQL as agreed.
        for (script, end) in [
            (script.clone().eof(PLAIN), End::Eof { status: PLAIN, warnings: 0 }),
            (script.end(PLAIN), end(caps, PLAIN)),
        ] {
            assert_eq!(
                outcome(Answer::Endless, caps, &script.bytes),
                Outcome { end, rows: 0, ends_rows: false }
            );
        }
    }
}

#[test]
fn progress_reports_end_nothing() {
    let caps = CLASSIC | Capabilities::MARIADB_PROGRESS;
    let report = [b"\xff\xff\xff\x01\x01\x02\x10\x27\0\x05copy ".as_slice()].concat();
    let script = Script::new(caps).message(&report).message(&report).ok(PLAIN);
    assert_eq!(outcome(Answer::Result, caps, &script.bytes).end, ok_end(PLAIN));
    let (len, event) = scan_all_splits(Answer::Result, CLASSIC, &script.bytes).unwrap();
    assert_eq!(len, 4 + report.len());
    assert_eq!(event, Event::Done(Outcome { end: End::Err { code: 0xffff }, rows: 0, ends_rows: false }));
}

#[test]
fn started_is_the_first_byte() {
    let script = Script::new(CLASSIC).ok(PLAIN);
    let mut scanner = ReplyScanner::new(Answer::Result, CLASSIC);
    scanner.scan(&[]).unwrap();
    assert!(!scanner.started());
    scanner.scan(&script.bytes[..1]).unwrap();
    assert!(scanner.started());
}

#[test]
fn c02_nothing_is_scanned_behind_the_end() {
    let script = Script::new(CLASSIC).ok(PLAIN);
    let mut scanner = ReplyScanner::new(Answer::Result, CLASSIC);
    scanner.scan(&script.bytes).unwrap();
    assert!(matches!(scanner.scan(&script.bytes), Err(WireError::Unexpected { .. })));
}
