//! What separates the lines and the fields of a file.

/// Character sets in which a byte of a character may look like one of ASCII.
const AMBIGUOUS: [&str; 13] = [
    "big5", "cp932", "eucjpms", "euckr", "gb18030", "gb2312", "gbk", "sjis", "ucs2", "ujis", "utf16",
    "utf16le", "utf32",
];

/// The clauses `FIELDS`, `LINES` and `IGNORE n LINES`. Lines and fields have separators, which are
/// ASCII and not the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    /// `FIELDS TERMINATED BY`: at least one byte.
    pub field_end: Vec<u8>,
    /// `LINES TERMINATED BY`: at least one byte.
    pub line_end: Vec<u8>,
    /// `ENCLOSED BY`.
    pub quote: Option<u8>,
    /// `ESCAPED BY`.
    pub escape: Option<u8>,
    /// Lines at the beginning that have no rows.
    pub skipped: u64,
}

impl Default for Format {
    fn default() -> Self {
        Self {
            field_end: b"\t".to_vec(),
            line_end: b"\n".to_vec(),
            quote: None,
            escape: Some(b'\\'),
            skipped: 0,
        }
    }
}

impl Format {
    /// Whether separators, which are ASCII, are found by their bytes in a file of this character
    /// set: no byte of another character looks like one of theirs.
    pub fn is_found_in(charset: &str) -> bool {
        !AMBIGUOUS.iter().any(|name| name.eq_ignore_ascii_case(charset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_are_found_in_character_sets_that_hide_none() {
        for charset in ["utf8mb4", "UTF8", "latin1", "binary", "cp1251", "koi8r"] {
            assert!(Format::is_found_in(charset), "{charset}");
        }
        assert!(!Format::is_found_in("gbk") && !Format::is_found_in("UTF16"));
    }
}
