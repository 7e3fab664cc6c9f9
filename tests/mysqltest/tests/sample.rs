//! A sample of MariaDB's own test suite: quick tests of many parts of the server, as text, through
//! the proxy.
//!
//! `make test-mysqltest` runs all of it.

use std::sync::Mutex;

use mysqltest::place::{Conditions, ROOT, Template};
use mysqltest::plan::{self, Job, Outcome};
use mysqltest::reader::Reader;
use mysqltest::suite::{Suite, Test};
use mysqltest::trial::Mode;

/// Tests that take less than a second each.
const SAMPLE: [&str; 23] = [
    "alias",
    "auto_increment",
    "bigint",
    "binary",
    "bool",
    "case",
    "cast",
    "count_distinct",
    "func_if",
    "fulltext",
    "func_concat",
    "func_equal",
    "func_op",
    "func_set",
    "having",
    "null",
    "limit",
    "ps_1general",
    "sp_trans",
    "temp_table",
    "type_bit",
    "union",
    "update",
];

/// Tests of the sample that must be able to run.
const SAMPLE_MIN: usize = 15;

#[test]
fn a_sample_of_the_suite_passes_through_the_proxy_as_it_does_directly() {
    let Ok(suite) = Suite::find() else {
        return println!("skipped: MariaDB's test suite is not installed; `make test-mysqltest` installs it");
    };
    // Versions of the suite differ in what a test needs besides a plain server.
    let is_of_sample = |test: &Test| SAMPLE.contains(&test.name.as_str()) && test.skip.is_none();
    let tests: Vec<Test> = suite.tests().unwrap().into_iter().filter(is_of_sample).collect();
    assert!(tests.len() >= SAMPLE_MIN, "only {} tests of the sample can run", tests.len());
    let template = Template::new(&suite).unwrap();
    let bad = Mutex::new(Vec::new());
    let report = |test: &Test, outcome: &Outcome, _| {
        if !matches!(outcome, Outcome::Same) {
            bad.lock().unwrap().push(format!("{}: {outcome:?}", test.name));
        }
        Ok(())
    };
    let ways = [(Reader::Absent, false), (Reader::Refusing, false), (Reader::Absent, true)];
    for (reader, cached) in ways {
        let split = reader == Reader::Refusing;
        // It reads its session's counters of what its statements did, which are of two sessions
        // then.
        let is_of_both = |test: &&Test| !(split && test.name == "update");
        let tests: Vec<Test> = tests.iter().filter(is_of_both).cloned().collect();
        let job = Job {
            suite: &suite,
            template: &template,
            tests: &tests,
            mode: Mode::Text,
            account: ROOT,
            conditions: Conditions { reader, cached, ..Conditions::default() },
            report: &report,
        };
        let outcomes = plan::run(&job, 2).unwrap();
        assert_eq!(outcomes.reader.strangers, [""; 0], "no write goes to a reader");
        assert_eq!(outcomes.reader.refused, [""; 0], "and so it refuses none");
        assert_eq!(outcomes.reader.statements > 0, split);
        let bad = std::mem::take(&mut *bad.lock().unwrap());
        assert!(bad.is_empty(), "{}", bad.join("\n"));
        assert!(outcomes.by_test.len() > SAMPLE.len() / 2, "the suite has other tests now: {outcomes:?}");
    }
}
