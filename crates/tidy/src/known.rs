//! Findings that exist already, by rule and file: a file may have as many, and no more.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::finding::Finding;

/// How many findings of a rule a file has.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Known(BTreeMap<(String, String), usize>);

impl Known {
    /// Counts findings.
    pub(crate) fn of(findings: &[Finding]) -> Self {
        let mut counts = BTreeMap::new();
        for Finding { rule, path, .. } in findings {
            *counts.entry((rule.name().to_owned(), path.clone())).or_default() += 1;
        }
        Self(counts)
    }

    /// Reads lines of `rule count path`. Fails on a line of another form.
    pub(crate) fn parse(text: &str) -> anyhow::Result<Self> {
        let mut counts = BTreeMap::new();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let mut parts = line.splitn(3, ' ');
            let (Some(rule), Some(count), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
                anyhow::bail!("known.txt: not `rule count path`: {line}");
            };
            counts.insert((rule.to_owned(), path.to_owned()), count.parse()?);
        }
        Ok(Self(counts))
    }

    /// The same as lines.
    pub(crate) fn to_text(&self) -> String {
        let mut text =
            "# Written by `cargo run --package tidy -- --write`. Numbers only go down.\n".to_owned();
        for ((rule, path), count) in &self.0 {
            let _ = writeln!(text, "{rule} {count} {path}");
        }
        text
    }

    /// How many there are of all files.
    pub(crate) fn sum(&self) -> usize {
        self.0.values().sum()
    }

    /// Rules and files with more findings in `now` than here; each with both numbers.
    pub(crate) fn exceeded_by<'a>(&self, now: &'a Self) -> Vec<(&'a str, &'a str, usize, usize)> {
        let more = now.0.iter().filter_map(|(key, count)| {
            let known = self.0.get(key).copied().unwrap_or(0);
            (*count > known).then_some((key.0.as_str(), key.1.as_str(), known, *count))
        });
        more.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Rule;

    fn findings(counts: &[(Rule, &str, usize)]) -> Vec<Finding> {
        let all = counts.iter().flat_map(|(rule, path, count)| {
            (0..*count).map(|line| Finding { rule: *rule, path: (*path).into(), line, text: String::new() })
        });
        all.collect()
    }

    #[test]
    fn text_and_counts_are_the_same() {
        let known = Known::of(&findings(&[(Rule::Word, "a b.rs", 2), (Rule::File, "c.rs", 1)]));
        assert_eq!(Known::parse(&known.to_text()).unwrap(), known);
        assert!(Known::parse("word 2\n").is_err() && Known::parse("word x a.rs\n").is_err());
    }

    #[test]
    fn more_than_known_fails_and_less_does_not() {
        let known = Known::of(&findings(&[(Rule::Word, "a.rs", 2)]));
        let now = Known::of(&findings(&[(Rule::Word, "a.rs", 3), (Rule::File, "b.rs", 1)]));
        assert_eq!(known.exceeded_by(&now), [("file", "b.rs", 0, 1), ("word", "a.rs", 2, 3)]);
        assert_eq!(now.exceeded_by(&known), []);
    }
}
