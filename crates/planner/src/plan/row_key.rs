//! Keys of rows as constants, which servers write: a row is read at a server and named there again.

use shard::sequence::store::literal;

use super::text;

/// Digits of the number of a shard, which stands in front of a key.
const NUMBER_DIGITS: usize = 5;

/// A column of a key that names one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyColumn {
    /// Its name.
    pub name: String,
    /// How its values are written.
    pub written: Written,
}

/// How the values of a column are written as constants that equal them. Hexadecimal digits hold in
/// all character sets and modes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    /// As they are shown: integers, decimals.
    Number,
    /// As they are shown, in quotes: dates and times.
    Moment,
    /// As bytes: `x'00'`.
    Bytes,
    /// As bytes in this character set: `_utf8mb4 x'00'`.
    Text(String),
}

/// The expression that a shard's query selects for a key: the number of the shard, and the
/// constant. Of several columns the constant is a condition.
pub(super) fn selected(key: &[KeyColumn], shard: usize) -> String {
    let constant = if let [column] = key {
        constant(column)
    } else {
        let equal = |(at, column): (usize, &KeyColumn)| {
            let ahead = if at == 0 { "(" } else { " AND " };
            let ahead = literal(&format!("{ahead}{} = ", text::quoted(&column.name)));
            format!("{ahead}, {}", constant(column))
        };
        let all: Vec<_> = key.iter().enumerate().map(equal).collect();
        format!("{}, ')'", all.join(", "))
    };
    format!("CONCAT('{shard:0NUMBER_DIGITS$} ', {constant})")
}

/// Arguments of `CONCAT` that yield the constant for the value of a column.
fn constant(column: &KeyColumn) -> String {
    let name = text::quoted(&column.name);
    match &column.written {
        Written::Number => name,
        Written::Moment => format!("'''', {name}, ''''"),
        Written::Bytes => format!("'x''', HEX({name}), ''''"),
        Written::Text(charset) => format!("'_{charset} x''', HEX({name}), ''''"),
    }
}

/// What stands in front of the keys of a condition, between them, and behind them.
pub(super) fn condition(key: &[KeyColumn]) -> [String; 3] {
    match key {
        [column] => [format!("{} IN (", text::quoted(&column.name)), ", ".to_owned(), ") ".to_owned()],
        _ => ["(".to_owned(), " OR ".to_owned(), ") ".to_owned()],
    }
}

/// The number of the shard, and the constant, of what a query has selected.
pub(super) fn read(row: &[u8]) -> Option<(usize, &[u8])> {
    let (shard, key) = row.split_at_checked(NUMBER_DIGITS)?;
    Some((std::str::from_utf8(shard).ok()?.parse().ok()?, key.strip_prefix(b" ")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_write_keys_as_constants() {
        let column = |name: &str, written| KeyColumn { name: name.to_owned(), written };
        assert_eq!(selected(&[column("id", Written::Number)], 3), "CONCAT('00003 ', `id`)");
        let text = column("a", Written::Text("latin1".to_owned()));
        assert_eq!(selected(&[text], 12), "CONCAT('00012 ', '_latin1 x''', HEX(`a`), '''')");
        let both = [column("a", Written::Bytes), column("b", Written::Moment)];
        let ahead = [literal("(`a` = "), literal(" AND `b` = ")];
        let expected = format!(
            "CONCAT('00000 ', {}, 'x''', HEX(`a`), '''', {}, '''', `b`, '''', ')')",
            ahead[0], ahead[1]
        );
        assert_eq!(selected(&both, 0), expected);
        assert_eq!(condition(&both).concat(), "( OR ) ");
        assert_eq!(condition(&both[..1]).concat(), "`a` IN (, ) ");
    }

    #[test]
    fn rows_name_their_shard() {
        assert_eq!(read(b"00012 x'00'"), Some((12, &b"x'00'"[..])));
        for row in [&b""[..], b"00012", b"0001 7", b"0001x 7", b"00012-7"] {
            assert_eq!(read(row), None, "{row:?}");
        }
    }
}
