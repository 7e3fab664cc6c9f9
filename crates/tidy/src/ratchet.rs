//! Ratchets: figures of the code's structure that may only go down. See the file of ratchets.

mod bundles;
mod circle;
mod collect;
mod figure;
mod mention;
mod methods;
mod paths;
mod production;
mod record;
mod source;
mod spots;
mod verdict;
mod ways_around;
mod wide;

use std::fs;
use std::path::Path;

use anyhow::Context as _;

pub(crate) use source::Source;

use crate::finding::Finding;
use record::Record;

/// The file of ratchets, below the root.
const FILE: &str = "crates/tidy/ratchets.txt";

/// Compares the figures with the file below `root`, and prints what is wrong. True if nothing is.
pub(crate) fn check(root: &Path, sources: Vec<Source>, findings: &[Finding]) -> anyhow::Result<bool> {
    let figures = collect::figures(sources, findings);
    let complaints = verdict::complaints(&figures, &read(root)?);
    for complaint in &complaints {
        println!("{FILE}: {complaint}");
    }
    Ok(complaints.is_empty())
}

/// Lowers the numbers of the file to today's.
pub(crate) fn tighten(root: &Path, sources: Vec<Source>, findings: &[Finding]) -> anyhow::Result<()> {
    let mut record = read(root)?;
    record.tighten(&collect::figures(sources, findings));
    write(root, &record)
}

/// Fills a file that has no numbers yet with today's.
pub(crate) fn init(root: &Path, sources: Vec<Source>, findings: &[Finding]) -> anyhow::Result<()> {
    let mut record = read(root)?;
    record.init(&collect::figures(sources, findings)).context(FILE)?;
    write(root, &record)
}

fn read(root: &Path) -> anyhow::Result<Record> {
    Record::parse(&fs::read_to_string(root.join(FILE)).unwrap_or_default()).context(FILE)
}

fn write(root: &Path, record: &Record) -> anyhow::Result<()> {
    fs::write(root.join(FILE), record.to_text()).context(FILE)
}
