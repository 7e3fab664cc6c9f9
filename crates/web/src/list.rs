//! Rows of a long list that a viewer wants: those that match a filter, in an order, up to a number.

use std::cmp::Ordering;

use crate::form::Fields;
use crate::limits::LISTED_MAX;
use crate::reply::Refusal;

/// What a viewer wants of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Words that a row has, in lower case, all of them.
    words: Vec<String>,
    /// The column that rows are sorted by; empty: the order of the list.
    pub(crate) sort: String,
    descending: bool,
    /// Whether columns are those of the last minute.
    pub(crate) recent: bool,
    limit: usize,
}

/// A cell, to sort by. Nothing stands below all others.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cell {
    Nothing,
    Number(f64),
    Text(String),
}

impl Wanted {
    /// The first rows of a list in its own order.
    pub(crate) fn first(limit: usize) -> Self {
        Self { words: Vec::new(), sort: String::new(), descending: true, recent: true, limit }
    }

    /// What a request wants of a list whose columns have these names.
    pub(crate) fn parse(query: &Fields, columns: &[&str]) -> Result<Self, Refusal> {
        let sort = query.filled("sort").unwrap_or_default();
        if !sort.is_empty() && !columns.contains(&sort.as_str()) {
            return Err(Refusal::bad(format!("`sort` must be one of {}", columns.join(", "))));
        }
        let limit = query.filled("limit").map_or(Ok(LISTED_MAX), |limit| limit.parse());
        let limit = limit.map_err(|_| Refusal::bad("`limit` must be a number"))?;
        let filter = query.get("filter").unwrap_or_default().to_lowercase();
        Ok(Self {
            words: filter.split_whitespace().map(str::to_owned).collect(),
            sort,
            descending: query.get("order") != Some("asc"),
            recent: query.get("recent") != Some("0"),
            limit: limit.min(LISTED_MAX),
        })
    }

    /// The rows that are wanted, and how many match in all. `text` is what a row shows, `cell` what
    /// it is sorted by.
    pub(crate) fn of<'a, R>(
        &self,
        rows: impl IntoIterator<Item = &'a R>,
        mut text: impl FnMut(&R) -> String,
        cell: impl Fn(&R) -> Cell,
    ) -> (Vec<&'a R>, usize) {
        let is_wanted = |row: &&R| {
            self.words.is_empty() || {
                let text = text(row).to_lowercase();
                self.words.iter().all(|word| text.contains(word))
            }
        };
        let mut found: Vec<&R> = rows.into_iter().filter(is_wanted).collect();
        if !self.sort.is_empty() {
            let mut keyed: Vec<(Cell, &R)> = found.into_iter().map(|row| (cell(row), row)).collect();
            keyed.sort_by(|(one, _), (other, _)| {
                let order = one.compare(other);
                if self.descending { order.reverse() } else { order }
            });
            found = keyed.into_iter().map(|(_, row)| row).collect();
        }
        let matching = found.len();
        found.truncate(self.limit);
        (found, matching)
    }
}

impl Cell {
    fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Nothing, Self::Nothing) => Ordering::Equal,
            (Self::Number(one), Self::Number(other)) => one.total_cmp(other),
            (Self::Text(one), Self::Text(other)) => one.cmp(other),
            (Self::Nothing, _) | (Self::Number(_), Self::Text(_)) => Ordering::Less,
            (_, Self::Nothing) | (Self::Text(_), Self::Number(_)) => Ordering::Greater,
        }
    }
}

impl From<Option<u64>> for Cell {
    fn from(number: Option<u64>) -> Self {
        number.map_or(Self::Nothing, |number| Self::Number(crate::percentile::float(number)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_filtered_sorted_and_counted() {
        let rows = ["a1", "B2", "b3", "c"];
        let wanted = |query: &str| Wanted::parse(&Fields::of(query), &["n"]).unwrap();
        let of = |query: &str| {
            let cell = |row: &&str| match row.chars().nth(1) {
                Some(digit) => Cell::from(digit.to_digit(10).map(u64::from)),
                None => Cell::Nothing,
            };
            let (rows, matching) = wanted(query).of(&rows, |row| (*row).to_owned(), cell);
            (rows.into_iter().copied().collect::<Vec<_>>().join(" "), matching)
        };
        assert_eq!(of(""), ("a1 B2 b3 c".to_owned(), 4));
        assert_eq!(of("filter=b"), ("B2 b3".to_owned(), 2));
        assert_eq!(of("filter=B+3"), ("b3".to_owned(), 1));
        assert_eq!(of("sort=n"), ("b3 B2 a1 c".to_owned(), 4));
        assert_eq!(of("sort=n&order=asc&limit=2"), ("c a1".to_owned(), 4));
        assert!(Wanted::parse(&Fields::of("sort=x"), &["n"]).is_err());
        assert!(Wanted::parse(&Fields::of("limit=x"), &["n"]).is_err());
    }
}
