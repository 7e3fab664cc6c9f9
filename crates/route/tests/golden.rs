//! Chains of rules and what they decide: every `tests/golden/NAME.toml` is a configuration,
//! `NAME.statements` has statements with their circumstances, and `NAME.out` says what becomes of
//! each and why.
//!
//! `POINTSMAN_WRITE_GOLDEN=1 cargo test -p route --test golden` writes the `.out` files; read the
//! difference.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use route::{
    Account, Caller, Candidate, Options, Pairs, Query, Rules, Session, Situation, Statement, StatementPlan,
    Verdicts, Ways, explain,
};
use sql::shape::Effects;
use sql::{Digest, StatementKind, hint};

/// A line `name=value ... | statement`.
#[derive(Debug)]
struct Line<'a> {
    settings: Vec<(&'a str, &'a str)>,
    text: &'a str,
}

impl<'a> Line<'a> {
    fn parse(line: &'a str) -> Self {
        let (settings, text) = line.split_once('|').expect("a line has a `|`");
        let settings =
            settings.split_whitespace().map(|pair| pair.split_once('=').expect("name=value")).collect();
        Self { settings, text: text.trim() }
    }

    fn get(&self, name: &str) -> Option<&'a str> {
        self.settings.iter().find(|(key, _)| *key == name).map(|(_, value)| *value)
    }

    fn number(&self, name: &str) -> Option<u32> {
        self.get(name).map(|value| value.parse().expect("a number"))
    }
}

/// What the word `kind` means.
fn plan(word: &str) -> StatementPlan {
    let (kind, effects) = match word {
        "read" => (StatementKind::Select, Effects::empty()),
        "locking-read" => (StatementKind::Select, Effects::LOCKS),
        "write" => (StatementKind::Do, Effects::WRITES),
        "begin" => (StatementKind::Begin, Effects::empty()),
        "begin-read-only" => (StatementKind::StartReadOnly, Effects::empty()),
        "commit" => (StatementKind::Commit, Effects::empty()),
        "unknown" => (StatementKind::Do, Effects::UNKNOWN),
        other => panic!("{other} is no kind"),
    };
    StatementPlan { kind, effects, tables: true, several: false, may_load: false, counts_apart: false }
}

const ACCOUNT: Account =
    Account { default_hostgroup: 0, transaction_persistent: true, listener: None, is_shard: false };

/// What becomes of the statement in `line`, and that the remembering way decides the same.
fn decide(line: &Line<'_>, verdicts: &mut Verdicts, pairs: &Pairs, split_on: bool) -> String {
    let mut digest = Digest::default();
    digest.read(line.text.as_bytes(), &sql::Options::default());
    let comment = digest.facts().first_comment.map(|span| hint::parse(span.of(line.text.as_bytes())));
    let caller = Arc::new(Caller::new(
        line.get("user").unwrap_or("app").as_bytes(),
        line.get("schema").unwrap_or("shop").as_bytes(),
        "127.0.0.1",
        6033,
    ));
    let query = Query {
        statement: Statement {
            text: line.text.as_bytes(),
            digest: Some(digest.hash()),
            digest_text: digest.shown(),
            hints: comment.as_ref(),
            plan: plan(line.get("kind").unwrap_or("read")),
        },
        caller: &caller,
        client_addr: line.get("from").unwrap_or("10.0.0.7"),
        flag_in: line.number("flag").unwrap_or(0),
        execute: line.get("execute").is_some(),
        mirror: None,
        hints: line.get("hints") != Some("off"),
        random: 7,
        now_ms: 1_800_000_000_000,
    };
    let session = Session {
        transaction: line.number("transaction"),
        autocommit: line.get("autocommit") != Some("0"),
        locked_on: line.number("locked"),
        ..Session::default()
    };
    let candidates = |hostgroup: u32| {
        vec![Candidate {
            server: format!("db{hostgroup}:3306"),
            taken: true,
            reason: "ONLINE, weight 1".to_owned(),
        }]
    };
    let situation = Situation {
        ways: Ways {
            account: ACCOUNT,
            session: &session,
            pairs,
            split_on,
            rules: verdicts.rules(),
            firewall: None,
            injections: None,
            caching: &route::CacheDefaults::default(),
            uncached: &|| None,
        },
        candidates: &candidates,
        must_see: &|_, _| None,
        plan_of: &|_| StatementPlan::default(),
        peek: &|_| route::Peek::Unseen,
        pins: &[],
    };
    let explanation = explain(&query, &situation);
    for _ in 0..2 {
        let decision = verdicts.decide(&query);
        assert_eq!(*decision.verdict, explanation.verdict, "{}", line.text);
    }
    let mut out = String::new();
    for [step, result, detail] in explanation.rows() {
        let _ = writeln!(out, "  {}", [step, result, detail].join(" | ").trim_end_matches(" | "));
    }
    let _ = writeln!(out, "  {}", explanation.json());
    out
}

/// What the files with the stem of `toml` mean.
fn meaning(toml: &Path) -> String {
    let loaded = config::load(toml, config::Strictness::Strict).expect("a good configuration");
    let options = Options { iterations: u32::from(toml.ends_with("again.toml")) * 3, ..Options::default() };
    let rules = match Rules::compile(&loaded.config.query_rules, &loaded.config.fast_routes, options) {
        Ok(rules) => rules,
        Err(errors) => {
            let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
            return lines.join("\n") + "\n";
        }
    };
    let pairs = Pairs::new(loaded.config.pairs());
    let mut verdicts = Verdicts::new(&rules);
    let statements = std::fs::read_to_string(toml.with_extension("statements")).unwrap();
    let mut out = String::new();
    for line in statements.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
        let parsed = Line::parse(line);
        let _ =
            writeln!(out, "{line}\n{}", decide(&parsed, &mut verdicts, &pairs, !pairs.eq(&Pairs::default())));
    }
    let hits: Vec<String> =
        rules.ids().zip(verdicts.hits().matches()).map(|(id, hits)| format!("{id}: {hits}")).collect();
    let _ = writeln!(out, "hits: {}", hits.join(", "));
    out
}

#[test]
fn chains_decide_as_they_did() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    files.sort();
    assert!(files.len() >= 5, "{files:?}");
    for file in files {
        let golden = file.with_extension("out");
        let meaning = meaning(&file);
        if std::env::var_os("POINTSMAN_WRITE_GOLDEN").is_some() {
            std::fs::write(&golden, &meaning).unwrap();
        }
        assert_eq!(meaning, std::fs::read_to_string(&golden).unwrap(), "{}", file.display());
    }
}
