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

    /// What is wrong if `self` is the run with the server and `proxied` the one through the proxy.
    pub(crate) fn problems(&self, proxied: &Self) -> Vec<String> {
        if self.checks.is_empty() || proxied.checks.is_empty() {
            return vec![format!("no checks at all: {:?} and {:?}", self.noise, proxied.noise)];
        }
        let nothing = ("no outcome".to_owned(), String::new());
        let mut problems = Vec::new();
        for (name, direct) in &self.checks {
            let through = proxied.checks.get(name).unwrap_or(&nothing);
            if direct.0 != through.0 {
                problems
                    .push(format!("{name}: {} {} (direct: {} {})", through.0, through.1, direct.0, direct.1));
            } else if direct.0 == "FAIL" {
                problems.push(format!("{name}: fails without the proxy, too: {}", direct.1));
            }
        }
        let only_proxied = proxied.checks.keys().filter(|name| !self.checks.contains_key(*name));
        problems.extend(
            only_proxied.map(|name| format!("{name}: no outcome without the proxy: {:?}", self.noise)),
        );
        problems
    }
}

#[test]
fn differences_are_found() {
    let direct = Outcomes::parse("ok a\nskip b not here\nok c\nhello\nFAIL d why not\n", "");
    assert_eq!((direct.count("ok"), direct.word("b"), direct.word("x")), (2, Some("skip"), None));
    let fails_too = "d: fails without the proxy, too: why not".to_owned();
    assert_eq!(direct.problems(&direct), [fails_too.as_str()]);
    let proxied = Outcomes::parse("ok a\nskip b other words\nFAIL c cause\nFAIL d why not\nok e\n", "");
    let missing = "e: no outcome without the proxy: [\"hello\"]".to_owned();
    assert_eq!(direct.problems(&proxied), ["c: FAIL cause (direct: ok )".to_owned(), fails_too, missing]);
    assert_eq!(direct.problems(&Outcomes::default()).len(), 1);
}
