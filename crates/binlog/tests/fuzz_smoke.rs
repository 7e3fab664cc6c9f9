//! The fuzz harness as bounded property tests: on random bytes, and on recordings in which some
//! bytes are changed.

use binlog::fuzzing;
use proptest::{collection::vec, prelude::*, sample::Index};

/// Cases of each property.
const CASES: u32 = 2_000;

/// Bytes of the longest random input.
const LEN_MAX: usize = 400;

const RECORDINGS: [&[u8]; 6] = [
    include_bytes!("recorded/mysql_row.bin"),
    include_bytes!("recorded/mysql_without_checksums.bin"),
    include_bytes!("recorded/mysql_partial_rows.bin"),
    include_bytes!("recorded/mariadb_row.bin"),
    include_bytes!("recorded/mariadb_statement.bin"),
    include_bytes!("recorded/mariadb_without_checksums.bin"),
];

/// Types of events, and some that there are not.
const KINDS: [u8; 30] = [
    2, 3, 4, 5, 15, 16, 17, 18, 19, 20, 26, 27, 28, 30, 31, 33, 34, 35, 38, 39, 40, 41, 42, 50, 160, 162,
    163, 165, 168, 172,
];

/// Events with right headers and any bodies, behind two bytes of choices.
fn bodies() -> impl Strategy<Value = Vec<u8>> {
    let kind = any::<Index>().prop_map(|index| KINDS[index.index(KINDS.len())]);
    let body = prop_oneof![vec(any::<u8>(), 0..60), vec(0_u8..4, 0..60)];
    let event = (kind, any::<u8>(), body).prop_map(|(kind, flags, body)| {
        let len = u8::try_from(body.len()).unwrap();
        [&[kind, flags, len][..], &body].concat()
    });
    (any::<u8>(), any::<u8>(), vec(event, 0..12))
        .prop_map(|(choice, piece, events)| [&[choice | 2, piece][..], &events.concat()].concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, ..ProptestConfig::default() })]

    #[test]
    fn streams_of_any_bytes(data in vec(any::<u8>(), 0..LEN_MAX)) {
        fuzzing::stream(&data);
    }

    #[test]
    fn events_with_any_bodies(data in bodies()) {
        fuzzing::stream(&data);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES / 10, ..ProptestConfig::default() })]

    #[test]
    fn recordings_with_changes(
        which in any::<Index>(),
        piece: u8,
        changes in vec((any::<Index>(), any::<u8>()), 0..4),
    ) {
        let recording = RECORDINGS[which.index(RECORDINGS.len())];
        let mut data = [&[0, piece][..], recording].concat();
        for (at, byte) in changes {
            let at = 2 + at.index(recording.len());
            data[at] = byte;
        }
        fuzzing::stream(&data);
    }
}
