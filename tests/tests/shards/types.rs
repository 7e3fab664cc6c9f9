//! Types of columns: their definitions, their values, and what a planner knows of them.

use e2e::Make;
use e2e::dice::Dice;
use planner::plan::{ColumnInfo, Sorting};
use shard::ColumnType;

use crate::collations::Collation;

/// Type of a column.
#[derive(Debug, Clone)]
pub(crate) enum Type {
    /// Any integer type: its words, the least and the largest value.
    Integer(&'static str, i64, u64),
    /// `DECIMAL(digits, fraction)`.
    Decimal(u8, u8),
    Float,
    Double,
    Bit,
    Date,
    /// With so many digits of a second, as the next ones.
    DateTime(u8),
    Timestamp(u8),
    Time(u8),
    Year,
    /// `CHAR(12)`, `VARCHAR(20)` or `TEXT`.
    Text(&'static str, Collation),
    /// `BINARY(4)`, `VARBINARY(12)` or `BLOB`.
    Bytes(&'static str),
    Enum(Collation),
    Set(Collation),
    Json,
    Point,
}

/// What an expression generator may do with a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    Number,
    Text,
    Moment,
    Other,
}

/// Integer types.
pub(crate) const INTEGERS: [Type; 7] = [
    Type::Integer("TINYINT", -128, 127),
    Type::Integer("SMALLINT UNSIGNED", 0, 65_535),
    Type::Integer("MEDIUMINT", -8_388_608, 8_388_607),
    Type::Integer("INT", -2_147_483_648, 2_147_483_647),
    Type::Integer("INT UNSIGNED", 0, 4_294_967_295),
    Type::Integer("BIGINT", i64::MIN, i64::MAX.unsigned_abs()),
    Type::Integer("BIGINT UNSIGNED", 0, u64::MAX),
];

/// Texts whose comparisons differ between collations. All character sets have the first ones.
const TEXTS: [&str; 34] = [
    "",
    " ",
    "a",
    "A",
    "a ",
    "ab",
    "aB",
    "AB ",
    "b",
    "B",
    "ba",
    "z",
    "Z",
    "_",
    "%",
    "a%",
    "1",
    "10",
    "2",
    "5abc",
    "5.0",
    " 5",
    "-1",
    "0",
    "00",
    "1e2",
    "NULL",
    "ss",
    "SS",
    "ch",
    "ll",
    "ij",
    "2024-01-02",
    "a\\tb",
];
/// Texts beyond ASCII, for Unicode.
const WIDE_TEXTS: [&str; 14] = ["ä", "Ä", "ae", "ß", "é", "e", "É", "ö", "oe", "ı", "İ", "ñ", "æ", "日本"];

/// Days of DATE, DATETIME and TIMESTAMP.
const DAYS: [&str; 8] = [
    "2023-12-31",
    "2024-01-01",
    "2024-01-02",
    "2024-02-29",
    "2024-03-31",
    "2024-06-15",
    "2024-10-27",
    "2025-05-05",
];
const CLOCKS: [&str; 5] = ["00:00:00", "01:30:00", "02:30:59", "12:00:00", "23:59:59"];

impl Type {
    /// A random type but JSON and POINT, which are rare.
    pub(crate) fn random(dice: &mut Dice, collations: &[Collation]) -> Self {
        let digits = [0, 0, 3, 6][dice.below(4)];
        match dice.below(30) {
            0..6 => dice.pick(&INTEGERS).clone(),
            6 => Self::Decimal(10, 2),
            7 => Self::Decimal(30, 10),
            8 => Self::Float,
            9 => Self::Double,
            10 => Self::Bit,
            11 => Self::Date,
            12 => Self::DateTime(digits),
            13 => Self::Timestamp(digits),
            14 => Self::Time(digits),
            15 => Self::Year,
            16 => Self::Bytes("BINARY(4)"),
            17 => Self::Bytes("VARBINARY(12)"),
            18 => Self::Bytes("BLOB"),
            19 => Self::Enum(dice.pick(collations).clone()),
            20 => Self::Set(dice.pick(collations).clone()),
            21 => [Self::Json, Self::Point][dice.below(2)].clone(),
            22 | 23 => Self::Text("CHAR(12)", dice.pick(collations).clone()),
            24 => Self::Text("TEXT", dice.pick(collations).clone()),
            _ => Self::Text("VARCHAR(20)", dice.pick(collations).clone()),
        }
    }

    /// The words of a definition.
    pub(crate) fn sql(&self) -> String {
        let of = |collation: &Collation| {
            format!("CHARACTER SET {} COLLATE {}", collation.character_set, collation.name)
        };
        match self {
            Self::Integer(words, ..) | Self::Bytes(words) => (*words).to_owned(),
            Self::Decimal(digits, fraction) => format!("DECIMAL({digits}, {fraction})"),
            Self::Float => "FLOAT".to_owned(),
            Self::Double => "DOUBLE".to_owned(),
            Self::Bit => "BIT(10)".to_owned(),
            Self::Date => "DATE".to_owned(),
            Self::DateTime(digits) => format!("DATETIME({digits})"),
            Self::Timestamp(digits) => format!("TIMESTAMP({digits})"),
            Self::Time(digits) => format!("TIME({digits})"),
            Self::Year => "YEAR".to_owned(),
            Self::Text(words, collation) => format!("{words} {}", of(collation)),
            Self::Enum(collation) => format!("ENUM('z', 'b', 'a', '10') {}", of(collation)),
            Self::Set(collation) => format!("SET('z', 'b', 'a') {}", of(collation)),
            Self::Json => "JSON".to_owned(),
            Self::Point => "POINT".to_owned(),
        }
    }

    pub(crate) const fn family(&self) -> Family {
        match self {
            Self::Integer(..) | Self::Decimal(..) | Self::Float | Self::Double | Self::Bit | Self::Year => {
                Family::Number
            }
            Self::Date | Self::DateTime(_) | Self::Timestamp(_) => Family::Moment,
            Self::Text(..) | Self::Enum(_) | Self::Set(_) | Self::Bytes(_) => Family::Text,
            Self::Time(_) | Self::Json | Self::Point => Family::Other,
        }
    }

    /// Whether an index over the whole column may be made.
    pub(crate) fn is_indexable(&self) -> bool {
        !matches!(self, Self::Json | Self::Point | Self::Bytes("BLOB") | Self::Text("TEXT", _))
    }

    /// A value that the column holds, as a literal.
    pub(crate) fn value(&self, dice: &mut Dice) -> String {
        let quarter =
            |dice: &mut Dice| f64::from(u8::try_from(dice.below(80)).unwrap_or_default()) / 4.0 - 10.0;
        match self {
            Self::Integer(_, min, max) => match dice.below(20) {
                0 => min.to_string(),
                1 => max.to_string(),
                _ => integer(dice, *min).to_string(),
            },
            Self::Decimal(..) => format!("{:.2}", quarter(dice)),
            // Exact sums do not depend on the order of rows.
            Self::Float | Self::Double => format!("{}", quarter(dice)),
            Self::Bit => dice.below(12).to_string(),
            Self::Date => format!("'{}'", dice.pick(&DAYS)),
            Self::DateTime(digits) | Self::Timestamp(digits) => {
                let clock = dice.pick(&CLOCKS);
                // Clocks are put forward in the night of one of the days.
                let day = if *clock == "02:30:59" { "2024-06-15" } else { dice.pick(&DAYS) };
                format!("'{day} {clock}{}'", fraction(dice, *digits))
            }
            Self::Time(digits) => {
                let clock = dice.pick(&["-100:00:01", "-00:00:01", "00:00:00", "01:00:00", "120:30:00"]);
                format!("'{clock}{}'", fraction(dice, *digits))
            }
            Self::Year => dice.within(2020..2030).to_string(),
            Self::Text(_, collation) => format!("'{}'", text(dice, collation)),
            Self::Bytes(_) => format!("'{}'", dice.pick(&["", "a", "A", "ab", "b", "a ", "1"])),
            Self::Enum(_) => format!("'{}'", dice.pick(&["z", "b", "a", "10"])),
            Self::Set(_) => format!("'{}'", dice.pick(&["", "z", "b", "z,b", "a", "z,b,a"])),
            Self::Json => dice.pick(&["'1'", "'\"a\"'", "'[1, 2]'", "'{\"a\": 1}'", "'null'"]).to_string(),
            Self::Point => format!("POINT({}, {})", dice.below(3), dice.below(3)),
        }
    }

    /// What the planner is told of a column of this type.
    pub(crate) fn info(&self, name: &str, make: Make) -> ColumnInfo {
        let compares = match self {
            Self::Integer(_, min, max) => ColumnType::Integer { min: *min, max: *max },
            Self::Date => ColumnType::Date,
            Self::DateTime(digits) => ColumnType::DateTime { fraction_digits: *digits },
            Self::Timestamp(_) => ColumnType::Timestamp,
            Self::Text("VARCHAR(20)", collation) if collation.compares_bytes => {
                ColumnType::Bytes { length_max: 20 }
            }
            Self::Bytes("VARBINARY(12)") => ColumnType::Bytes { length_max: 12 },
            Self::Text(..) => ColumnType::Text,
            _ => ColumnType::Other,
        };
        let sorts = match self {
            Self::Float | Self::Enum(_) | Self::Set(_) => Sorting::Number,
            Self::Timestamp(_) => Sorting::Instant,
            // MariaDB sorts CHAR as if it were padded, whatever its collation says.
            Self::Text("CHAR(12)", Collation { sorting: Sorting::Weight(None), .. })
                if make == Make::MariaDb =>
            {
                Sorting::None
            }
            Self::Text(_, collation) => collation.sorting.clone(),
            // MariaDB's is a text.
            Self::Json if make == Make::MariaDb => Sorting::Weight(None),
            Self::Json | Self::Point => Sorting::None,
            _ => Sorting::Value,
        };
        ColumnInfo { name: name.to_owned(), compares, sorts }
    }
}

/// A small integer that the type has.
pub(crate) fn integer(dice: &mut Dice, min: i64) -> i64 {
    let number = i64::try_from(dice.below(24)).unwrap_or_default();
    if min < 0 { number - 6 } else { number }
}

fn fraction(dice: &mut Dice, digits: u8) -> String {
    match digits {
        0 => String::new(),
        _ => format!(".{:.*}", usize::from(digits), dice.pick(&["500000", "000001", "123000"])),
    }
}

/// A text that this collation's character set has.
pub(crate) fn text(dice: &mut Dice, collation: &Collation) -> &'static str {
    if collation.is_unicode && dice.chance(30) {
        dice.pick::<&str>(&WIDE_TEXTS)
    } else {
        dice.pick::<&str>(&TEXTS)
    }
}

/// A text in ASCII.
pub(crate) fn ascii(dice: &mut Dice) -> &'static str {
    dice.pick::<&str>(&TEXTS)
}

/// A day.
pub(crate) fn day(dice: &mut Dice) -> &'static str {
    dice.pick::<&str>(&DAYS)
}
