//! The file of ratchets: a line for each figure that is above its goal.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anyhow::Context as _;

use super::figure::{Figure, KINDS};

const HEAD: &str = "\
# Figures of the code that are above their goals. A figure may not be above its line, and its line is
# lowered with the figure: cargo run -p tidy -- --tighten (it writes this file anew).
#
#   FIGURE NUMBER                        today's number
#   except FIGURE: REASON                a figure without a limit
#   loan FIGURE +N until STEP: REASON    N more than the line or the goal allows, until STEP is done
#   done STEP                            loans until STEP are over; the step's own commit adds this line
";

/// More than a line or a goal allows, for a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Loan {
    pub(crate) key: String,
    pub(crate) more: usize,
    pub(crate) step: String,
    reason: String,
}

/// What the file says.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) numbers: BTreeMap<String, usize>,
    /// Reasons of figures that have no limit.
    pub(crate) exceptions: BTreeMap<String, String>,
    pub(crate) loans: Vec<Loan>,
    pub(crate) done: BTreeSet<String>,
}

impl Record {
    /// Reads the lines of the file. Fails on a line of another form.
    pub(crate) fn parse(text: &str) -> anyhow::Result<Self> {
        let mut record = Self::default();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            record.line(line).with_context(|| format!("no line of ratchets: {line}"))?;
        }
        Ok(record)
    }

    fn line(&mut self, line: &str) -> anyhow::Result<()> {
        let is_twice = if let Some(exception) = line.strip_prefix("except ") {
            let (key, reason) = exception.split_once(": ").context("an exception has a reason")?;
            self.exceptions.insert(key.to_owned(), reason.to_owned()).is_some()
        } else if let Some(loan) = line.strip_prefix("loan ") {
            let (terms, reason) = loan.split_once(": ").context("a loan has a reason")?;
            let (key, terms) = terms.split_once(" +").context("a loan has a number: +N")?;
            let (more, step) = terms.split_once(" until ").context("a loan has a step: until STEP")?;
            let (key, step, reason) = (key.to_owned(), step.to_owned(), reason.to_owned());
            self.loans.push(Loan { key, more: more.parse()?, step, reason });
            false
        } else if let Some(step) = line.strip_prefix("done ") {
            !self.done.insert(step.to_owned())
        } else {
            let (key, number) = line.rsplit_once(' ').context("a figure has a number")?;
            self.numbers.insert(key.to_owned(), number.parse()?).is_some()
        };
        anyhow::ensure!(!is_twice, "a second line for the same");
        Ok(())
    }

    /// The whole file.
    pub(crate) fn to_text(&self) -> String {
        let mut text = HEAD.to_owned();
        for kind in KINDS {
            let lines: Vec<_> =
                self.numbers.iter().filter(|(key, _)| key.split(' ').next() == Some(kind.name)).collect();
            if !lines.is_empty() {
                let _ = writeln!(text, "\n# {}: {}; goal {}", kind.name, kind.about, kind.goal);
            }
            for (key, number) in lines {
                let _ = writeln!(text, "{key} {number}");
            }
        }
        let exceptions = self.exceptions.iter().map(|(key, reason)| format!("except {key}: {reason}"));
        let loans = self
            .loans
            .iter()
            .map(|Loan { key, more, step, reason }| format!("loan {key} +{more} until {step}: {reason}"));
        let done = self.done.iter().map(|step| format!("done {step}"));
        for lines in [exceptions.collect::<Vec<_>>(), loans.collect(), done.collect()] {
            if !lines.is_empty() {
                let _ = writeln!(text, "\n{}", lines.join("\n"));
            }
        }
        text
    }

    /// What all loans allow of a figure.
    pub(crate) fn lent(&self, key: &str) -> usize {
        self.loans.iter().filter(|loan| loan.key == key).map(|loan| loan.more).sum()
    }

    /// Lowers the numbers to those of `figures`, and raises none. A line goes with its figure, and
    /// with the last number above the goal.
    pub(crate) fn tighten(&mut self, figures: &[Figure]) {
        let now: BTreeMap<String, &Figure> = figures.iter().map(|figure| (figure.key(), figure)).collect();
        self.numbers.retain(|key, number| {
            let Some(figure) = now.get(key) else {
                return false;
            };
            *number = figure.value.min(*number);
            *number > figure.kind.goal
        });
    }

    /// Takes the numbers of all figures above their goals. Fails if there are numbers already.
    pub(crate) fn init(&mut self, figures: &[Figure]) -> anyhow::Result<()> {
        anyhow::ensure!(self.numbers.is_empty(), "the file has numbers, and they only go down: --tighten");
        let above = figures.iter().filter(|figure| figure.value > figure.kind.goal);
        let numbers = above.map(|figure| (figure.key(), figure.value));
        self.numbers = numbers.filter(|(key, _)| !self.exceptions.contains_key(key)).collect();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "circle proxy 31\nwords 4\nexcept methods sql::Cursor: one for each rule\n\
        loan circle proxy +2 until step-5: both ways exist\ndone step-1\n";

    fn figures(circle: usize, words: usize) -> Vec<Figure> {
        let all = [("circle", "proxy", circle), ("words", "", words), ("methods", "sql::Cursor", 177)];
        all.iter().filter_map(|(name, of, value)| Figure::new(name, of, *value, Vec::new())).collect()
    }

    #[test]
    fn text_and_record_are_the_same() {
        let record = Record::parse(TEXT).unwrap();
        assert_eq!(
            (record.numbers["circle proxy"], record.lent("circle proxy"), record.lent("words")),
            (31, 2, 0)
        );
        assert_eq!(Record::parse(&record.to_text()).unwrap(), record);
        let lines = record.to_text();
        assert_eq!(lines.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).count(), 5);
    }

    #[test]
    fn lines_of_another_form_and_second_lines_are_refused() {
        for line in [
            "words",
            "words x",
            "except words",
            "loan words 1 until s: r",
            "loan words +1 until s",
            "loan words +1: r",
        ] {
            assert!(Record::parse(line).is_err(), "{line}");
        }
        assert!(Record::parse("words 1\nwords 2\n").is_err());
    }

    #[test]
    fn numbers_are_lowered_and_never_raised() {
        let mut record = Record::parse(TEXT).unwrap();
        record.tighten(&figures(30, 5));
        assert_eq!(record.numbers, BTreeMap::from([("circle proxy".into(), 30), ("words".into(), 4)]));
        record.tighten(&figures(5, 1));
        assert_eq!(record.numbers, BTreeMap::from([("words".into(), 1)]), "the goal needs no line");
        record.tighten(&[]);
        assert!(record.numbers.is_empty() && record.loans.len() == 1);
    }

    #[test]
    fn a_first_file_has_what_is_above_the_goals() {
        let mut record = Record::parse("except methods sql::Cursor: one for each rule\n").unwrap();
        record.init(&figures(5, 3)).unwrap();
        assert_eq!(record.numbers, BTreeMap::from([("words".into(), 3)]));
        assert!(record.init(&figures(6, 3)).is_err(), "numbers only go down");
    }
}
