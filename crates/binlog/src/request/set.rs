//! The set of a replica's transactions in the binary form of MySQL.

use gtid::mysql::{Set, Source};

/// The form of sets with tags: in the first and in the last byte of the number of sources.
/// Sets without tags have zero there, and servers before 8.3 know no other form.
const TAGGED: u64 = 1;

/// The set's bytes: the number of sources, then of each its UUID, its tag in that form, the
/// number of ranges, and the first number of each range and the one behind its last.
pub(super) fn encode(set: &Set) -> Vec<u8> {
    let mut sources: Vec<(Source, Vec<(u64, u64)>)> = Vec::new();
    for (source, first, last) in set.iter() {
        match sources.last_mut() {
            Some((same, ranges)) if *same == source => ranges.push((first, last)),
            _ => sources.push((source, vec![(first, last)])),
        }
    }
    let has_tags = sources.iter().any(|(source, _)| !tag(*source).is_empty());
    let count = sources.len() as u64;
    let head = if has_tags { TAGGED << 56 | count << 8 | TAGGED } else { count };
    let mut bytes = head.to_le_bytes().to_vec();
    for (source, ranges) in sources {
        bytes.extend(source.uuid().to_be_bytes());
        if has_tags {
            let tag = tag(source);
            // A length of at most 32, with the zero below that says that it has one byte.
            bytes.push(u8::try_from(tag.len() << 1).unwrap_or_default());
            bytes.extend(tag.bytes());
        }
        bytes.extend((ranges.len() as u64).to_le_bytes());
        for (first, last) in ranges {
            bytes.extend(first.to_le_bytes());
            bytes.extend(last.saturating_add(1).to_le_bytes());
        }
    }
    bytes
}

/// The tag of a source, as its text has it behind the UUID.
fn tag(source: Source) -> String {
    let text = source.to_string();
    text.split_once(':').map_or_else(String::new, |(_, tag)| tag.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "00000000-0000-0000-0000-000000000009";

    fn encoded(text: &str) -> Vec<u8> {
        encode(&text.parse().unwrap())
    }

    #[test]
    fn ranges_end_behind_their_last_number() {
        let mut expected = vec![1, 0, 0, 0, 0, 0, 0, 0];
        expected.extend([0; 15]);
        expected.push(9);
        for number in [2_u64, 1, 6, 8, 9] {
            expected.extend(number.to_le_bytes());
        }
        assert_eq!(encoded(&format!("{UUID}:1-5:8")), expected);
        assert_eq!(encoded(""), [0; 8]);
    }

    #[test]
    fn tags_have_a_form_of_their_own() {
        let bytes = encoded(&format!("{UUID}:1-5:ddl:7"));
        assert_eq!(bytes[..8], [1, 2, 0, 0, 0, 0, 0, 1]);
        assert_eq!(bytes[24], 0);
        assert_eq!(bytes[49 + 16..][..4], *b"\x06ddl");
    }
}
