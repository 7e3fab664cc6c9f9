//! What the checks of one program came to, and how two runs of it differ.

use std::collections::BTreeMap;

/// The words that a line of a check begins with.
const WORDS: [&str; 3] = ["ok", "FAIL", "skip"];

/// The outcome of each check, by name.
#[derive(Debug, Default)]
pub(crate) struct Outcomes {
    checks: BTreeMap<String, (String, String)>,
    /// What else the program has printed: the cause if it has not come to its end.
    noise: Vec<String>,
}

impl Outcomes {
    /// Reads lines of `ok NAME`, `FAIL NAME reason` and `skip NAME reason`.
    pub(crate) fn parse(stdout: &str, stderr: &str) -> Self {
        let mut outcomes = Self::default();
        for line in stdout.lines() {
            let mut parts = line.splitn(3, ' ');
            match (parts.next(), parts.next()) {
                (Some(word), Some(name)) if WORDS.contains(&word) => {
                    let reason = parts.next().unwrap_or_default().to_owned();
                    outcomes.checks.insert(name.to_owned(), (word.to_owned(), reason));
                }
                _ => outcomes.noise.push(line.to_owned()),
            }
        }
        outcomes.noise.extend(stderr.lines().map(str::to_owned));
        outcomes
    }

    /// Notes that the program has not ended as it should.
    pub(crate) fn note(&mut self, what: String) {
        self.noise.push(what);
    }

    /// How a check ended.
    pub(crate) fn word(&self, name: &str) -> Option<&str> {
        self.checks.get(name).map(|(word, _)| word.as_str())
    }

    /// Number of checks that ended like this.
    pub(crate) fn count(&self, word: &str) -> usize {
        self.checks.values().filter(|(found, _)| found == word).count()
    }

    /// What is wrong if `self` is the run with the server and `proxied` the one through the proxy:
    /// checks, and why.
    pub(crate) fn problems(&self, proxied: &Self) -> Vec<(String, String)> {
        if self.checks.is_empty() || proxied.checks.is_empty() {
            let why = format!("no outcome: {:?} and {:?}", self.noise, proxied.noise);
            return vec![("all checks".to_owned(), why)];
        }
        let nothing = ("no outcome".to_owned(), format!("{:?}", proxied.noise));
        let mut problems = Vec::new();
        for (name, direct) in &self.checks {
            let through = proxied.checks.get(name).unwrap_or(&nothing);
            if direct.0 != through.0 {
                let why = format!("{} {} (direct: {} {})", through.0, through.1, direct.0, direct.1);
                problems.push((name.clone(), why));
            } else if direct.0 == "FAIL" {
                problems.push((name.clone(), format!("fails without the proxy, too: {}", direct.1)));
            }
        }
        for name in proxied.checks.keys().filter(|name| !self.checks.contains_key(*name)) {
            problems.push((name.clone(), format!("no outcome without the proxy: {:?}", self.noise)));
        }
        problems
    }
}

#[test]
fn differences_are_found() {
    let direct = Outcomes::parse("ok a\nskip b not here\nok c\nhello\nFAIL d why not\n", "");
    assert_eq!((direct.count("ok"), direct.word("b"), direct.word("x")), (2, Some("skip"), None));
    let named = |name: &str, why: &str| (name.to_owned(), why.to_owned());
    let fails_too = named("d", "fails without the proxy, too: why not");
    assert_eq!(direct.problems(&direct), std::slice::from_ref(&fails_too));
    let proxied = Outcomes::parse("ok a\nskip b other words\nFAIL c cause\nFAIL d why not\nok e\n", "");
    let missing = named("e", "no outcome without the proxy: [\"hello\"]");
    assert_eq!(direct.problems(&proxied), [named("c", "FAIL cause (direct: ok )"), fails_too, missing]);
    assert_eq!(direct.problems(&Outcomes::default()).len(), 1);
}
