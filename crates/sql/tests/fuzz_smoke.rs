//! The fuzz harnesses as bounded tests: on random bytes, and on statements that something happened
//! to.

use proptest::{collection::vec, prelude::*, sample::Index};
use sql::fuzzing;

/// Cases of each property.
const CASES: u32 = 5_000;

/// Bytes of the longest random input.
const LEN_MAX: usize = 300;

fn statements() -> Vec<&'static str> {
    let shapes = include_str!("shapes.txt").lines().filter(|line| !line.starts_with("    "));
    shapes.chain(include_str!("statements.sql").split(";\n")).collect()
}

/// A statement, behind two bytes of choices, with some bytes changed.
fn changed() -> impl Strategy<Value = Vec<u8>> {
    let statements = statements();
    (any::<[u8; 2]>(), any::<Index>(), vec((any::<Index>(), any::<u8>()), 0..6)).prop_map(
        move |(choice, which, changes)| {
            let mut bytes = choice.to_vec();
            bytes.extend(statements[which.index(statements.len())].bytes());
            for (at, byte) in changes {
                let at = at.index(bytes.len());
                // Bytes that mean something are more interesting than others.
                bytes[at] = *b"'\"`\\/*-#;()@?,. \0\xD5".get(usize::from(byte)).unwrap_or(&byte);
            }
            bytes
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, ..ProptestConfig::default() })]

    #[test]
    fn digest_of_any_bytes(data in vec(any::<u8>(), 0..LEN_MAX)) {
        fuzzing::digest(&data);
    }

    #[test]
    fn digest_of_changed_statements(data in changed()) {
        fuzzing::digest(&data);
    }

    #[test]
    fn outline_of_any_bytes(data in vec(any::<u8>(), 0..LEN_MAX)) {
        fuzzing::outline(&data);
    }

    #[test]
    fn outline_of_changed_statements(data in changed()) {
        fuzzing::outline(&data);
    }

    #[test]
    fn spans_of_any_bytes(data in vec(any::<u8>(), 0..LEN_MAX)) {
        fuzzing::spans(&data);
    }

    #[test]
    fn spans_of_changed_statements(data in changed()) {
        fuzzing::spans(&data);
    }

    #[test]
    fn spans_of_shuffled_words(which in vec(any::<Index>(), 1..40), choice: u8) {
        let words: Vec<&str> = include_str!("statements.sql").split([' ', '\n']).collect();
        let mut bytes = vec![choice];
        for which in which {
            bytes.extend(words[which.index(words.len())].bytes());
            bytes.push(b' ');
        }
        fuzzing::spans(&bytes);
    }

    #[test]
    fn shape_of_any_bytes(data in vec(any::<u8>(), 0..LEN_MAX)) {
        fuzzing::shape(&data);
    }

    #[test]
    fn shape_of_changed_statements(data in changed()) {
        fuzzing::shape(&data);
    }
}
