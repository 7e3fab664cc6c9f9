//! Recorded streams of real servers: their facts in any pieces, and with any byte changed.

mod common;

use std::path::Path;

use common::facts;

/// Bytes that are changed of each recording, about.
const CHANGES: usize = 1_000;

/// The recordings by their names, with their facts.
fn recordings() -> Vec<(String, Vec<u8>, Vec<String>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded");
    let mut recordings = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "bin") {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let lines = std::fs::read_to_string(path.with_extension("out")).unwrap();
            let lines = lines.lines().map(str::to_owned).collect();
            recordings.push((name, std::fs::read(&path).unwrap(), lines));
        }
    }
    assert!(recordings.len() >= 11, "recordings are missing");
    recordings
}

#[test]
fn facts_are_the_same_in_any_pieces() {
    for (name, bytes, expected) in recordings() {
        for len in [bytes.len(), 1, 2, 3, 4, 5, 7, 19, 23, 64, 1000] {
            let (lines, state) = facts(bytes.chunks(len));
            assert_eq!((lines, state), (expected.clone(), Ok(true)), "{name} in pieces of {len}");
        }
    }
}

#[test]
fn a_changed_byte_is_noticed() {
    for (name, bytes, expected) in recordings() {
        let step = bytes.len().div_ceil(CHANGES);
        // The last bytes are warnings and status at the end of the log.
        for at in (0..bytes.len() - 4).step_by(step) {
            let mut changed = bytes.clone();
            // Not the lowest bit: in flags of format descriptions it is in no checksum. Servers
            // change it while they write the file.
            changed[at] ^= 2 << (at % 7);
            let (mut lines, state) = facts([&changed[..]]);
            if name.ends_with("without_checksums") {
                continue;
            }
            // A compressed transaction tells of doubts before its checksum was seen.
            let is_doubt = |line: &mut String| line.starts_with("Unknown") || line.starts_with("Misplaced");
            while lines.pop_if(is_doubt).is_some() {}
            let is_told = lines.iter().any(|line| line.starts_with("Refused"));
            let is_short = state != Ok(true) && expected.starts_with(&lines);
            assert!(is_told || is_short, "{name} at {at}: {state:?} {lines:#?}");
        }
    }
}
