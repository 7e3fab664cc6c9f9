//! Generated answers, on which both implementations must agree.

use proptest::prelude::*;

use super::script::{self, Script, column_count};
use super::slow::slow_scan;
use super::*;
use crate::Codec as _;
use crate::packet::{Ok, OkHeader};

/// One result of an answer.
#[derive(Debug, Clone)]
enum Part {
    Ok { affected_rows: u64, last_insert_id: u64, info: Vec<u8> },
    Rows { columns: u16, follow: bool, rows: Vec<Vec<u8>> },
    Cursor { columns: u16 },
}

/// What follows the parts.
#[derive(Debug, Clone)]
enum Last {
    Part(Part),
    File,
    Err(u16),
    /// An error in the place of a row.
    ErrInRows(Vec<Vec<u8>>),
}

fn row() -> impl Strategy<Value = Vec<u8>> {
    let len = prop_oneof![8 => 0..40_usize, 1 => 200..400_usize, 1 => 65_500..65_600_usize];
    (0..0xfe_u8, len, any::<u8>()).prop_map(|(first, len, fill)| {
        let mut row = vec![fill; len];
        row.insert(0, first);
        row
    })
}

fn part() -> impl Strategy<Value = Part> {
    let rows = prop::collection::vec(row(), 0..12);
    let info = prop::collection::vec(b'a'..=b'z', 0..300);
    prop_oneof![
        (any::<u64>(), any::<u64>(), info).prop_map(|(affected_rows, last_insert_id, info)| Part::Ok {
            affected_rows,
            last_insert_id,
            info
        }),
        (1..5_u16, any::<bool>(), rows).prop_map(|(columns, follow, rows)| Part::Rows {
            columns,
            follow,
            rows
        }),
        (250..260_u16).prop_map(|columns| Part::Rows { columns, follow: true, rows: Vec::new() }),
        (1..5_u16).prop_map(|columns| Part::Cursor { columns }),
    ]
}

fn last_part() -> impl Strategy<Value = Last> {
    prop_oneof![
        6 => part().prop_map(Last::Part),
        1 => Just(Last::File),
        1 => (1..0xffff_u16).prop_map(Last::Err),
        1 => prop::collection::vec(row(), 0..4).prop_map(Last::ErrInRows),
    ]
}

fn capabilities() -> impl Strategy<Value = Capabilities> {
    let choices = Capabilities::DEPRECATE_EOF
        | Capabilities::OPTIONAL_RESULTSET_METADATA
        | Capabilities::MARIADB_CACHE_METADATA
        | Capabilities::SESSION_TRACK;
    any::<u64>()
        .prop_map(move |bits| Capabilities::PROTOCOL_41 | (Capabilities::from_bits_retain(bits) & choices))
}

fn write_part(script: Script, part: &Part, status: StatusFlags) -> Script {
    let caps = script.caps;
    let optional = Capabilities::OPTIONAL_RESULTSET_METADATA | Capabilities::MARIADB_CACHE_METADATA;
    match part {
        Part::Ok { affected_rows, last_insert_id, info } => {
            let packet = Ok {
                affected_rows: *affected_rows,
                last_insert_id: *last_insert_id,
                info,
                ..script::ok(OkHeader::Ok, status)
            };
            script.message(&packet.encode(caps))
        }
        Part::Rows { columns, follow, rows } => {
            let follow = *follow || !caps.intersects(optional);
            let script = script.message(&column_count(*columns, caps, follow));
            let script = script.definitions(if follow { *columns } else { 0 });
            let script = script.classic_eof(StatusFlags::AUTOCOMMIT);
            rows.iter().fold(script, |script, row| script.message(row)).end(status)
        }
        Part::Cursor { columns } => script
            .message(&column_count(*columns, caps, true))
            .definitions(*columns)
            .end(status | StatusFlags::CURSOR_EXISTS),
    }
}

fn write_answer(caps: Capabilities, parts: &[Part], last: &Last) -> Script {
    let script = parts
        .iter()
        .fold(Script::new(caps), |script, part| write_part(script, part, StatusFlags::MORE_RESULTS));
    match last {
        Last::Part(part) => write_part(script, part, StatusFlags::IN_TRANSACTION),
        Last::File => script.message(b"\xfbdata.csv"),
        Last::Err(code) => script.err(*code),
        Last::ErrInRows(rows) => {
            rows.iter().fold(script.columns(2), |script, row| script.message(row)).err(1317)
        }
    }
}

/// Cuts `bytes` at the given places, taken modulo its length.
fn cut<'a>(bytes: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    cuts.sort_unstable();
    cuts.push(bytes.len());
    let mut start = 0;
    cuts.into_iter().map(|end| &bytes[std::mem::replace(&mut start, end)..end]).collect()
}

proptest! {
    #[test]
    fn both_implementations_agree_on_results(
        caps in capabilities(),
        parts in prop::collection::vec(part(), 0..3),
        last in last_part(),
        cuts in prop::collection::vec(any::<usize>(), 0..20),
        truncate in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let script = write_answer(caps, &parts, &last);
        let mut bytes = script.bytes;
        match truncate {
            Some(len) => bytes.truncate(len.index(bytes.len() + 1)),
            None => bytes.extend([1, 0, 0, 1, 0xff, 9, 9]), // of the next answer
        }
        let expected = slow_scan(Answer::Cursor, caps, &bytes);
        let got = scan_pieces(&mut ReplyScanner::new(Answer::Cursor, caps), cut(&bytes, &cuts));
        prop_assert_eq!(got, Ok(expected));
    }

    #[test]
    fn both_implementations_agree_on_prepare_answers(
        caps in capabilities(), params in 0..4_u16, columns in 0..4_u16, follow: bool,
        cuts in prop::collection::vec(any::<usize>(), 0..20),
    ) {
        let follow = follow || !caps.contains(Capabilities::OPTIONAL_RESULTSET_METADATA);
        let mut script = Script::new(caps).prepare_ok(params, columns, follow);
        for count in [params, columns].into_iter().filter(|&count| count > 0) {
            script = script.definitions(if follow { count } else { 0 });
            script = script.classic_eof(StatusFlags::AUTOCOMMIT);
        }
        let expected = slow_scan(Answer::Prepare, caps, &script.bytes);
        prop_assert_eq!(expected.0, script.bytes.len());
        let got = scan_pieces(&mut ReplyScanner::new(Answer::Prepare, caps), cut(&script.bytes, &cuts));
        prop_assert_eq!(got, Ok(expected));
    }

    #[test]
    fn both_implementations_agree_on_the_other_answers(
        caps in capabilities(), kind in 0..4_usize, rows in prop::collection::vec(row(), 0..12),
        cuts in prop::collection::vec(any::<usize>(), 0..20),
    ) {
        let status = StatusFlags::AUTOCOMMIT | StatusFlags::LAST_ROW_SENT;
        let script = Script::new(caps);
        let (answer, script) = match kind {
            0 => (Answer::Fetch, rows.iter().fold(script, |script, row| script.message(row)).end(status)),
            1 => (Answer::FieldList, script.definitions(u16::try_from(rows.len()).unwrap()).end(status)),
            2 => (Answer::Statistics, script.message(b"Uptime: 1")),
            _ => (Answer::Single, script.end(status)),
        };
        let expected = slow_scan(answer, caps, &script.bytes);
        let got = scan_pieces(&mut ReplyScanner::new(answer, caps), cut(&script.bytes, &cuts));
        prop_assert_eq!(got, Ok(expected));
    }

    #[test]
    fn changed_answers_keep_the_invariants(
        caps in capabilities(),
        kind: u8,
        lengths: [u8; 4],
        parts in prop::collection::vec(part(), 0..3),
        last in last_part(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
    ) {
        let mut bytes = write_answer(caps, &parts, &last).bytes;
        for (at, byte) in changes {
            // Most bytes of long rows mean nothing: change the start.
            let at = at.index(bytes.len().min(400));
            bytes[at] = byte;
        }
        let data = [&caps.bits().to_le_bytes(), [kind].as_slice(), &lengths, &bytes].concat();
        crate::fuzzing::reply(&data);
    }
}
