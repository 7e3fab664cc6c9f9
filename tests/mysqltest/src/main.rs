//! `make test-mysqltest`: runs the suite in every mode and as every account, and prints a table.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser;
use mysqltest::place::{Account, Conditions, ORDINARY, ROOT, Template};
use mysqltest::plan::{self, Job, Outcome, Outcomes};
use mysqltest::reader::Reader;
use mysqltest::record::{self, Counts, Divergences, Keep};
use mysqltest::suite::{Suite, Test};
use mysqltest::trial::Mode;

/// Runs `MariaDB`'s `main` test suite directly and through Pointsman.
///
/// Fails when a test passes directly, does not pass through the proxy, and is not in
/// tests/mysqltest/divergences.txt.
#[derive(Debug, Parser)]
#[command(name = "mysqltest")]
struct Options {
    /// Only this mode; may be repeated [text, ps, cursor, compress; default: all]
    #[arg(long, value_name = "MODE", value_parser = mode)]
    mode: Vec<Mode>,
    /// Only this account; may be repeated [root, ordinary; default: both]
    #[arg(long, value_name = "ACCOUNT", value_parser = account)]
    account: Vec<Account>,
    /// Only tests whose name matches; `*` stands for anything; may be repeated
    #[arg(long, value_name = "NAME")]
    test: Vec<String>,
    /// With the read/write split, the same server being writer and reader: fails when the reader
    /// refuses a write, or gets something that is no plain read. What the suite sees of being on
    /// two connections does not count
    #[arg(long)]
    split: bool,
    /// With sessions that share connections, of which there are fewer than sessions
    #[arg(long)]
    multiplexing: bool,
    /// With a rule that has all reads cached in the mode `own`
    #[arg(long)]
    cached: bool,
    /// Other clients at the same time, directly and through the proxy, that do something else all
    /// the time; the run fails when one of them gets what is not for it
    #[arg(long, value_name = "N", default_value_t = 0)]
    noise: usize,
    /// Servers that tests run against at the same time
    #[arg(long, value_name = "N", default_value_t = 2)]
    servers: usize,
    /// Where the difference of each test that did not pass is kept
    #[arg(long, value_name = "FOLDER", default_value = "target/mysqltest")]
    out: PathBuf,
}

fn main() -> anyhow::Result<ExitCode> {
    let options = Options::parse();
    let suite = Suite::find()?;
    let all = suite.tests()?;
    let chosen = |test: &&Test| {
        options.test.is_empty() || options.test.iter().any(|pattern| matches(pattern, &test.name))
    };
    let tests: Vec<Test> = all.iter().filter(chosen).cloned().collect();
    println!("{} tests of the suite, of which a plain server cannot run:", tests.len());
    print!("{}", record::skipped(&tests));
    let tests: Vec<Test> = tests.into_iter().filter(|test| test.skip.is_none()).collect();
    println!("{:>5}  are run\n\n{}", tests.len(), Counts::header());

    let template = Template::new(&suite)?;
    let conditions = Conditions {
        reader: Reader::Absent,
        multiplexing: options.multiplexing,
        cached: options.cached,
        noise: options.noise,
    };
    let known = Divergences::read(conditions)?;
    let modes = if options.mode.is_empty() { Mode::ALL.to_vec() } else { options.mode };
    let accounts = if options.account.is_empty() { vec![ROOT, ORDINARY] } else { options.account };
    let mut good = true;
    for (mode, account) in modes.iter().flat_map(|mode| accounts.iter().map(move |account| (*mode, *account)))
    {
        let keep = Keep::new(&options.out, mode, account, options.multiplexing)?;
        let report = |test: &Test, outcome: &Outcome, times| keep.note(test, outcome, times);
        let (suite, template, report) = (&suite, &template, &report);
        let mut outcomes = Outcomes::default();
        for (reader, tests) in &parts(&tests, mode, account, options.split) {
            let conditions = Conditions { reader: *reader, ..conditions };
            let job = Job { suite, template, tests, mode, account, conditions, report };
            outcomes.add(plan::run(&job, options.servers)?);
        }
        println!("{}", Counts::of(&outcomes).line(mode, account, &outcomes));
        let as_directly = judge(&known, &outcomes);
        let reader = &outcomes.reader;
        let only_reads = reader.strangers.is_empty() && reader.refused.is_empty();
        good &= if options.split { only_reads } else { as_directly };
        if options.split {
            println!(
                "          {} statements at the reader: {} refused with error 1290, {} that do not belong there by their words; \
                 {} refused by the writer",
                reader.statements,
                reader.refused.len(),
                reader.strangers.len(),
                reader.refused_by_writer.len(),
            );
            keep.note_reader(reader)?;
        }
        if options.noise > 0 {
            println!("          beside them: {}", outcomes.noise);
        }
        println!("          differences are in {}", keep.folder().display());
    }
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The tests by the reader that they are run with.
fn parts(tests: &[Test], mode: Mode, account: Account, split: bool) -> Vec<(Reader, Vec<Test>)> {
    if !split {
        return vec![(Reader::Absent, tests.to_vec())];
    }
    let (lenient, refusing): (Vec<Test>, Vec<Test>) =
        tests.iter().cloned().partition(|test| plan::has_to_write(test, mode, account));
    println!(
        "{} {}: {} tests with a reader that refuses writes; {} that set read_only, log in as users of their own, come by TCP, or insert with \
         a delay, with one that does not",
        mode.name(),
        account.name,
        refusing.len(),
        lenient.len()
    );
    let parts = [(Reader::Refusing, refusing), (Reader::Lenient, lenient)];
    parts.into_iter().filter(|(_, tests)| !tests.is_empty()).collect()
}

/// Prints what is no news only in part, and returns whether there is nothing bad in it.
fn judge(known: &Divergences, outcomes: &Outcomes) -> bool {
    let unsteady = outcomes.by_test.iter().filter(|(_, outcome)| matches!(outcome, Outcome::Unsteady(_)));
    let unsteady: Vec<&str> = unsteady.map(|(name, _)| name.as_str()).collect();
    let unknown: Vec<&str> = known.unknown(outcomes).into_iter().collect();
    let outdated: Vec<&str> = known.outdated(outcomes).into_iter().collect();
    for (what, names) in
        [("diverging", &unknown), ("unsteady", &unsteady), ("no longer diverging", &outdated)]
    {
        if !names.is_empty() {
            println!("          {what}: {}", names.join(", "));
        }
    }
    println!(
        "          {:.1} s directly, {:.1} s through the proxy; {} fresh servers",
        outcomes.times.0.as_secs_f64(),
        outcomes.times.1.as_secs_f64(),
        outcomes.restarts
    );
    unknown.is_empty()
}

fn mode(name: &str) -> anyhow::Result<Mode> {
    let mode = Mode::ALL.into_iter().find(|mode| mode.name() == name);
    mode.context("one of text, ps, cursor, compress")
}

fn account(name: &str) -> anyhow::Result<Account> {
    match name {
        "root" => Ok(ROOT),
        "ordinary" => Ok(ORDINARY),
        _ => anyhow::bail!("one of root, ordinary"),
    }
}

/// Whether `name` is like `pattern`, in which `*` stands for anything.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|name| {
            (0..=name.len()).filter(|&at| name.is_char_boundary(at)).any(|at| matches(rest, &name[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_anything() {
        assert!(matches("func_*", "func_math"));
        assert!(matches("*math*", "func_math"));
        assert!(matches("func_math", "func_math"));
        assert!(!matches("func", "func_math"));
        assert!(!matches("*x", "func_math"));
    }
}
