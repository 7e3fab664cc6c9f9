//! Patterns of dates as Java writes them: `yyyy-MM-dd HH:mm:ss`.

use std::fmt::Write as _;

use crate::calendar::{Date, DateTime};

/// Pattern of fields of fixed width.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(Vec<Part>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Field(Field, usize),
    Literal(char),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
}

impl Pattern {
    /// Reads a pattern of `yyyy` or `uuuu`, `yy`, `MM`, `dd`, `HH`, `mm`, `ss`, signs, and text in
    /// quotes. The latter five may have one letter, for numbers without zeros in front. Fails with
    /// the letters that are something else.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text.chars().peekable();
        while let Some(c) = rest.next() {
            if c == '\'' {
                parts.extend(rest.by_ref().take_while(|c| *c != '\'').map(Part::Literal));
                continue;
            }
            if !c.is_ascii_alphabetic() {
                parts.push(Part::Literal(c));
                continue;
            }
            let mut width = 1;
            while rest.next_if_eq(&c).is_some() {
                width += 1;
            }
            let field = match (c, width) {
                ('y' | 'u', 2 | 4) => Field::Year,
                ('M', 1 | 2) => Field::Month,
                ('d', 1 | 2) => Field::Day,
                ('H', 1 | 2) => Field::Hour,
                ('m', 1 | 2) => Field::Minute,
                ('s', 1 | 2) => Field::Second,
                _ => return Err(c.to_string().repeat(width)),
            };
            parts.push(Part::Field(field, width));
        }
        Ok(Self(parts))
    }

    /// `time` by the pattern.
    pub fn format(&self, time: DateTime) -> String {
        let [hour, minute, second] = time.time();
        let date = time.date();
        let mut text = String::new();
        for part in &self.0 {
            let (value, width) = match *part {
                Part::Literal(c) => {
                    text.push(c);
                    continue;
                }
                Part::Field(Field::Year, 2) => (date.year() % 100, 2),
                Part::Field(Field::Year, width) => (date.year(), width),
                Part::Field(Field::Month, width) => (date.month().into(), width),
                Part::Field(Field::Day, width) => (date.day().into(), width),
                Part::Field(Field::Hour, width) => (hour.into(), width),
                Part::Field(Field::Minute, width) => (minute.into(), width),
                Part::Field(Field::Second, width) => (second.into(), width),
            };
            let _ = write!(text, "{value:0width$}");
        }
        text
    }

    /// The time that `text` says in the pattern: the first of the year, month or day if it has no
    /// more. Fails if the pattern has no year, or fields without zeros in front.
    pub fn read(&self, text: &str) -> Option<DateTime> {
        let (mut year, mut month, mut day, mut time) = (None, 1, 1, [0; 3]);
        let mut rest = text;
        for part in &self.0 {
            match *part {
                Part::Literal(c) => rest = rest.strip_prefix(c)?,
                Part::Field(_, 1) | Part::Field(Field::Year, 2) => return None,
                Part::Field(field, width) => {
                    let (digits, behind) = rest.split_at_checked(width)?;
                    let valid = digits.bytes().all(|byte| byte.is_ascii_digit());
                    let value: u16 = digits.parse().ok().filter(|_| valid)?;
                    let small = u8::try_from(value);
                    match field {
                        Field::Year => year = Some(value),
                        Field::Month => month = small.ok()?,
                        Field::Day => day = small.ok()?,
                        Field::Hour => time[0] = small.ok()?,
                        Field::Minute => time[1] = small.ok()?,
                        Field::Second => time[2] = small.ok()?,
                    }
                    rest = behind;
                }
            }
        }
        if !rest.is_empty() {
            return None;
        }
        DateTime::new(Date::new(year?, month, day)?, time, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_and_read() {
        let time = DateTime::parse(b"2024-03-09 07:08:05").unwrap();
        let format = |pattern: &str| Pattern::parse(pattern).unwrap().format(time);
        assert_eq!(format("yyyyMM"), "202403");
        assert_eq!(format("yy-M-d'T'H"), "24-3-9T7");
        assert_eq!(format("_uuuu_MM_dd_HHmmss"), "_2024_03_09_070805");
        assert_eq!(Pattern::parse("yyyyww"), Err("ww".to_owned()));
        assert_eq!(Pattern::parse("yyyMM"), Err("yyy".to_owned()));
        let read = |pattern: &str, text: &str| Pattern::parse(pattern).unwrap().read(text);
        assert_eq!(read("yyyy-MM-dd HH:mm:ss", "2024-03-09 07:08:05"), Some(time));
        assert_eq!(read("yyyyMM", "202403"), DateTime::parse(b"2024-03-01"));
        assert_eq!(read("yyyy", "2024"), DateTime::parse(b"2024-01-01"));
        for (pattern, text) in [("yyyy", "20245"), ("MM", "03"), ("yyyy-MM", "2024-13"), ("yyyyM", "20243")] {
            assert_eq!(read(pattern, text), None, "{pattern}");
        }
    }
}
