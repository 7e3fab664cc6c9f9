//! Where rows with given values are, so that a statement that joins tables does not read all rows
//! of one for each row of the other.
//!
//! It may find rows too many, of which SQLite sorts out those that it did not mean, and must find
//! all that SQLite takes for equal: `'5'`, `5` and `5.0` are, in one column or another.

use std::hash::{BuildHasher as _, Hash as _, Hasher, RandomState};

use rusqlite::types::ValueRef;

use crate::Rows;

/// The rows of a table by their values in some columns.
#[derive(Debug)]
pub(crate) struct Index {
    state: RandomState,
    /// The hash of the values of each row, and its number, in the order of both.
    places: Vec<(u64, usize)>,
}

impl Index {
    /// Looks at all rows.
    pub(crate) fn new(rows: &dyn Rows, columns: &[usize]) -> Self {
        let state = RandomState::new();
        let hash = |row: usize| {
            let values: Vec<_> = columns.iter().map(|column| rows.cell(row, *column)).collect();
            hash(&state, values.iter().map(ValueRef::from))
        };
        let mut places: Vec<(u64, usize)> = rows.each().filter_map(|row| Some((hash(row)?, row))).collect();
        places.sort_unstable();
        Self { state, places }
    }

    /// The rows that may have these values, in their order: numbers for [`row`](Self::row).
    pub(crate) fn find<'a>(&self, values: impl Iterator<Item = ValueRef<'a>>) -> std::ops::Range<usize> {
        let Some(hash) = hash(&self.state, values) else { return 0..0 };
        let begin = self.places.partition_point(|(other, _)| *other < hash);
        let end = self.places.partition_point(|(other, _)| *other <= hash);
        begin..end
    }

    /// The number of a row that was found.
    pub(crate) fn row(&self, place: usize) -> Option<usize> {
        self.places.get(place).map(|(_, row)| *row)
    }
}

/// The hash of values that are compared with `=`; nothing if one is NULL, which equals nothing.
fn hash<'a>(state: &RandomState, values: impl Iterator<Item = ValueRef<'a>>) -> Option<u64> {
    let mut hasher = state.build_hasher();
    for value in values {
        match value {
            ValueRef::Null => return None,
            #[expect(clippy::cast_precision_loss, reason = "numbers that are nearly equal may have one hash")]
            ValueRef::Integer(number) => hash_number(number as f64, &mut hasher),
            ValueRef::Real(number) => hash_number(number, &mut hasher),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                match str::from_utf8(bytes).ok().and_then(|text| text.trim().parse().ok()) {
                    Some(number) => hash_number(number, &mut hasher),
                    None => bytes.hash(&mut hasher),
                }
            }
        }
    }
    Some(hasher.finish())
}

fn hash_number(number: f64, hasher: &mut impl Hasher) {
    // Both noughts are one number.
    (number + 0.0).to_bits().hash(hasher);
}
