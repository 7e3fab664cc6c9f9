//! What a `SET` and a `USE` are about, as far as that is counted and shown.

use super::words::Words;

/// What a `SET` is about, where it is counted by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetOf {
    /// Names and character sets.
    Names,
    /// `autocommit`.
    Autocommit,
    /// Anything else.
    Other,
}

/// Looks at what a `SET` sets first.
pub fn set_of(text: &[u8]) -> SetOf {
    let mut words = Words::new(text);
    words.keyword("SET");
    if words.keyword("NAMES") {
        return SetOf::Names;
    }
    while words.sign(b'@') {}
    let _ = words.keyword("SESSION") || words.keyword("LOCAL");
    words.sign(b'.');
    if words.keyword("AUTOCOMMIT") { SetOf::Autocommit } else { SetOf::Other }
}

/// The schema that a `USE` names; nothing if it is not certain what servers take for its name.
pub fn used_schema(text: &[u8]) -> Option<&[u8]> {
    let mut words = Words::new(text);
    words.keyword("USE");
    let rest = words.next_text()?;
    let (name, behind) = if let Some(rest) = rest.strip_prefix(b"`") {
        let end = rest.iter().position(|byte| *byte == b'`')?;
        (rest.get(..end)?, rest.get(end + 1..)?)
    } else {
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..);
        rest.split_at_checked(rest.iter().take_while(|byte| is_plain(byte)).count())?
    };
    // Another backtick behind the name would be a part of it.
    let is_all = Words::new(behind).ends();
    (is_all && !name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_set_and_used_is_seen() {
        for (text, of) in [
            ("SET NAMES utf8", SetOf::Names),
            ("set /**/ names 'utf8'", SetOf::Names),
            ("SET autocommit=0", SetOf::Autocommit),
            ("SET @@session.autocommit = ON", SetOf::Autocommit),
            ("SET SESSION autocommit=1", SetOf::Autocommit),
            ("SET @names=1", SetOf::Other),
            ("SET sql_mode=''", SetOf::Other),
        ] {
            assert_eq!(set_of(text.as_bytes()), of, "{text}");
        }
        assert_eq!(used_schema(b"USE shop"), Some(&b"shop"[..]));
        assert_eq!(used_schema(b"use `my shop` ;"), Some(&b"my shop"[..]));
        for text in [
            "/* c */ use $a_1;",
            "USE /* c */ $a_1",
            "USE $a_1 -- c",
            "use`$a_1`/* c */; # c",
            "USE -- c\n$a_1 /*! */",
        ] {
            assert_eq!(used_schema(text.as_bytes()), Some(&b"$a_1"[..]), "{text}");
        }
        for text in [
            "USE",
            "USE ``",
            "USE `a",
            "USE a`",
            "USE `a``b`",
            "USE a b",
            "USE a; SELECT 1",
            "USE `a`; SELECT 1",
            "USE `a`b",
            "USE a.b",
            "USE \"a\"",
            "USE a/*!50000b*/",
            "USE /*!50000 a */",
            "USE /* a",
            "USE a /* b",
        ] {
            assert_eq!(used_schema(text.as_bytes()), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_no_harm(text: Vec<u8>) {
            set_of(&text);
            used_schema(&text);
        }
    }
}
