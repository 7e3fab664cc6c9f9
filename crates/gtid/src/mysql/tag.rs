//! Tags of transactions (MySQL 8.3 and later): a server numbers the transactions of each tag apart.

use std::fmt;
use std::str::FromStr;

use crate::GtidError;

/// Bytes of the longest tag.
const TAG_BYTES_MAX: usize = 32;

/// A tag in small letters, filled up with zeros. The empty tag is that of transactions without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Tag([u8; TAG_BYTES_MAX]);

impl Tag {
    /// The tag of transactions without a tag.
    pub(super) const NONE: Self = Self([0; TAG_BYTES_MAX]);

    /// Whether transactions with this tag have none.
    pub(super) const fn is_empty(self) -> bool {
        matches!(self.0.first(), Some(0))
    }
}

impl FromStr for Tag {
    type Err = GtidError;

    /// Letters, digits and underscores, of which the first one is no digit.
    fn from_str(text: &str) -> Result<Self, GtidError> {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if text.starts_with(|first: char| first.is_ascii_digit()) || !text.bytes().all(is_word) {
            return Err(GtidError::Tag);
        }
        let mut tag = [0; TAG_BYTES_MAX];
        let room = tag.get_mut(..text.len()).filter(|room| !room.is_empty()).ok_or(GtidError::Tag)?;
        room.copy_from_slice(text.to_ascii_lowercase().as_bytes());
        Ok(Self(tag))
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().take_while(|byte| **byte != 0).try_for_each(|byte| write!(f, "{}", char::from(*byte)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_words_in_small_letters() {
        let long = "t".repeat(TAG_BYTES_MAX);
        for (text, shown) in [("tag", "tag"), ("_2", "_2"), ("Online_DDL", "online_ddl"), (&long, &long)] {
            let tag: Tag = text.parse().unwrap();
            assert_eq!((tag.to_string().as_str(), tag.is_empty()), (shown, false));
        }
        let longer = "t".repeat(TAG_BYTES_MAX + 1);
        for text in ["", "2nd", "a-b", "\u{e9}", "a b", &longer] {
            assert_eq!(text.parse::<Tag>(), Err(GtidError::Tag), "{text}");
        }
        assert!(Tag::NONE.is_empty());
    }
}
