//! The character set of a client's texts, as far as reading them depends on it.

use sql::lexer::Charset;

/// Collations whose characters may have a quote or a backslash as their second byte.
const COLLATIONS: [(u16, Charset); 11] = [
    (1, Charset::Big5),
    (13, Charset::Sjis),
    (28, Charset::Gbk),
    (84, Charset::Big5),
    (87, Charset::Gbk),
    (88, Charset::Sjis),
    (95, Charset::Sjis),
    (96, Charset::Sjis),
    (248, Charset::Gb18030),
    (249, Charset::Gb18030),
    (250, Charset::Gb18030),
];

/// MariaDB's collations without padding have the number of the one with padding, and this more.
const NOPAD: u16 = 1024;

/// The character set of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientCharset {
    /// This one.
    Known(Charset),
    /// The default of the server.
    Unknown,
}

impl ClientCharset {
    /// That of a login with this collation.
    pub(crate) fn of_collation(collation: u16) -> Self {
        let found = COLLATIONS.iter().find(|(number, _)| *number == collation % NOPAD);
        Self::Known(found.map_or(Charset::Plain, |(_, charset)| *charset))
    }

    /// That of a `SET NAMES`, or of a statement that sets `character_set_client` first.
    pub(crate) fn of_statement(text: &[u8]) -> Self {
        let text = text.split(|byte| *byte == b',').next().unwrap_or_default();
        let text = String::from_utf8_lossy(text).to_ascii_lowercase();
        let of_word = |word: &str| match word {
            "big5" => Some(Self::Known(Charset::Big5)),
            "gbk" => Some(Self::Known(Charset::Gbk)),
            "gb18030" => Some(Self::Known(Charset::Gb18030)),
            "sjis" | "cp932" => Some(Self::Known(Charset::Sjis)),
            "default" => Some(Self::Unknown),
            _ => None,
        };
        let mut words = text.split(|c: char| !c.is_ascii_alphanumeric());
        words.find_map(of_word).unwrap_or(Self::Known(Charset::Plain))
    }

    /// Whether the second byte of a character may be a quote or a backslash.
    pub(crate) fn has_two_byte_quotes(self) -> bool {
        self != Self::Known(Charset::Plain)
    }

    /// How a text is read; none if that is not known.
    pub fn of_text(self, text: &[u8]) -> Option<Charset> {
        match self {
            Self::Known(charset) => Some(charset),
            Self::Unknown => text.is_ascii().then_some(Charset::Plain),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn character_sets_are_found_by_collation_and_by_word() {
        for (collation, charset) in [(28, Charset::Gbk), (28 + NOPAD, Charset::Gbk), (45, Charset::Plain)] {
            assert_eq!(ClientCharset::of_collation(collation), ClientCharset::Known(charset));
        }
        for (text, charset) in [
            ("SET NAMES gbk", Some(Charset::Gbk)),
            ("set names 'CP932' collate 'cp932_bin'", Some(Charset::Sjis)),
            ("SET character_set_client = gb18030", Some(Charset::Gb18030)),
            ("SET NAMES utf8mb4", Some(Charset::Plain)),
            ("SET NAMES DEFAULT", None),
            ("SET character_set_client = latin1, collation_connection = gbk_bin", Some(Charset::Plain)),
            ("SET character_set_client = gbk, collation_connection = latin1_bin", Some(Charset::Gbk)),
        ] {
            assert_eq!(
                ClientCharset::of_statement(text.as_bytes()).of_text("ä".as_bytes()),
                charset,
                "{text}"
            );
        }
        assert_eq!(ClientCharset::Unknown.of_text(b"a"), Some(Charset::Plain));
    }
}
