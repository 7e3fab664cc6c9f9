//! The order of merged rows.

use std::cmp::Ordering;

use super::Key;
use super::key::Value;

/// The hidden keys by which rows are merged, the first one weighs most. Without keys rows have no
/// order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Order {
    parts: Vec<Part>,
}

/// How the values of one hidden key compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Where the smallest value goes.
    pub direction: Direction,
    /// The weight of a space, for keys that are `WEIGHT_STRING()` of a `PAD SPACE` collation: the
    /// shorter one of two keys is compared as if it went on with it. Nothing for other keys.
    pub pad: Option<Box<[u8]>>,
}

impl Part {
    /// The smallest first, nothing is padded.
    pub const ASCENDING: Self = Self { direction: Direction::Ascending, pad: None };
}

/// `ASC` or `DESC`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The smallest first; NULL is smaller than all others.
    Ascending,
    /// The largest first, NULL last.
    Descending,
}

impl Order {
    /// The order by these parts.
    pub const fn new(parts: Vec<Part>) -> Self {
        Self { parts }
    }

    /// Whether rows have no order.
    pub const fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// How many hidden keys a row has.
    pub const fn len(&self) -> usize {
        self.parts.len()
    }

    /// The parts, the weightiest first.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The order of two rows with these keys. Keys that lack a part are equal in it.
    pub fn compare(&self, one: &Key, other: &Key) -> Ordering {
        let values = one.values().zip(other.values());
        let by_part = self.parts.iter().zip(values).map(|(part, (one, other))| part.compare(one, other));
        by_part.fold(Ordering::Equal, Ordering::then)
    }
}

impl Part {
    fn compare(&self, one: Value<'_>, other: Value<'_>) -> Ordering {
        let ascending = match (one, other) {
            (Value::Bytes(one), Value::Bytes(other)) => match &self.pad {
                Some(pad) => compare_padded(one, other, pad),
                None => one.cmp(other),
            },
            _ => one.compare(other),
        };
        match self.direction {
            Direction::Ascending => ascending,
            Direction::Descending => ascending.reverse(),
        }
    }
}

/// Compares as if the shorter one went on with `pad`, again and again. A key ends with a whole
/// weight, so that the padding begins with one.
fn compare_padded(one: &[u8], other: &[u8], pad: &[u8]) -> Ordering {
    let common = one.len().min(other.len());
    let (one, one_tail) = one.split_at_checked(common).unwrap_or((one, &[]));
    let (other, other_tail) = other.split_at_checked(common).unwrap_or((other, &[]));
    let padding = || pad.iter().cycle();
    one.cmp(other)
        .then_with(|| one_tail.iter().cmp(padding().take(one_tail.len())))
        .then_with(|| padding().take(other_tail.len()).cmp(other_tail))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(part: &Part, one: Option<&[u8]>, other: Option<&[u8]>) -> Ordering {
        let key = |bytes: Option<&[u8]>| {
            let mut key = Key::default();
            key.push(bytes.map_or(Value::Null, Value::Bytes));
            key
        };
        Order::new(vec![part.clone()]).compare(&key(one), &key(other))
    }

    #[test]
    fn null_is_the_smallest() {
        assert_eq!(compare(&Part::ASCENDING, None, Some(b"")), Ordering::Less);
        let descending = Part { direction: Direction::Descending, pad: None };
        assert_eq!(compare(&descending, None, Some(b"")), Ordering::Greater);
        assert_eq!(compare(&Part::ASCENDING, None, None), Ordering::Equal);
    }

    #[test]
    fn a_shorter_key_goes_on_with_spaces() {
        let padded = Part { direction: Direction::Ascending, pad: Some(b"\0\x20".as_slice().into()) };
        let key = |text: &str| text.bytes().flat_map(|byte| [0, byte]).collect::<Vec<_>>();
        for (one, other, order) in [
            ("a", "a  ", Ordering::Equal),
            ("a", "a\t", Ordering::Greater),
            ("a", "a!", Ordering::Less),
            ("a ", "a \t", Ordering::Greater),
            ("a", "b", Ordering::Less),
            ("", "", Ordering::Equal),
        ] {
            assert_eq!(compare(&padded, Some(&key(one)), Some(&key(other))), order, "{one:?} {other:?}");
            assert_eq!(compare(&padded, Some(&key(other)), Some(&key(one))), order.reverse());
        }
        assert_eq!(compare(&Part::ASCENDING, Some(b"a"), Some(b"a ")), Ordering::Less);
    }

    #[test]
    fn the_first_part_weighs_most() {
        let order = Order::new(vec![Part::ASCENDING, Part { direction: Direction::Descending, pad: None }]);
        let key = |numbers: &[i64]| Key::of_integers(numbers);
        assert_eq!(order.compare(&key(&[1, 5]), &key(&[2, 9])), Ordering::Less);
        assert_eq!(order.compare(&key(&[1, 5]), &key(&[1, 9])), Ordering::Greater);
        assert_eq!(order.compare(&key(&[1, 5]), &key(&[1, 5])), Ordering::Equal);
    }
}
