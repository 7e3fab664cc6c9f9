//! What the detector of injected SQL makes of honest statements, and of any bytes.

mod json;

use proptest::{collection::vec, prelude::*};
use sql::fuzzing;
use sql::injection::{Look, look};

/// The numbers are in the manual.
#[test]
fn many_honest_statements_are_taken_for_injected_ones() {
    let vectors = json::objects(include_str!("digest-vectors.json"));
    let vectors: Vec<&str> = vectors.iter().map(|vector| vector["sql"].as_str()).collect();
    let is_statement = |line: &&str| !(line.is_empty() || line.starts_with("    ") || line.starts_with("##"));
    let shapes: Vec<&str> = include_str!("shapes.txt").lines().filter(is_statement).collect();
    let count = |all: &[&str]| all.iter().filter(|sql| look(sql.as_bytes()) != Look::Harmless).count();
    assert_eq!((count(&vectors), vectors.len()), (168, 714));
    assert_eq!((count(&shapes), shapes.len()), (69, 270));
}

/// Bytes that mean something to it, and some that mean nothing.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    const SIGNS: [&[u8]; 24] = [
        b"'", b"\"", b"`", b"\\", b"#", b"--", b"--x", b"/*", b"*/", b"/*!", b"(", b")", b"{", b"}", b",",
        b";", b"$", b"@@", b"q'", b"nq'", b"u&'", b"0x", b"\xFF", b"\0",
    ];
    let piece = prop_oneof![
        (0..SIGNS.len()).prop_map(|at| SIGNS[at].to_vec()),
        "(select|union|not|in|or|like|if|user|a\\.b|[0-9]{1,2}e?|:|<=>|\\.|\\[|\\]|\n| )"
            .prop_map(String::into_bytes),
        vec(any::<u8>(), 0..3),
    ];
    vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5_000, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_it_fail(text in bytes()) {
        fuzzing::injection(&text);
    }
}
