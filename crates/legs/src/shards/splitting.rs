//! Which lines of a file go to which shards.

use planner::load::{Splitter, Taken};
use planner::plan::{Load, Receiver};
use runtime::limits::LOAD_LINE_BYTES_MAX;
use scatter::Feeds;
use session::error::ClientError;

/// A file that is split.
pub struct Splitting<'a> {
    load: &'a Load,
    splitter: Splitter,
    /// Rows that were found.
    rows: u64,
    /// The largest id that lines bring for a sequence.
    largest: Option<u64>,
    /// Why the rest of the file goes nowhere.
    refused: Option<Refused>,
}

/// The row of a line, and what is wrong with it.
#[derive(Debug, Clone)]
struct Refused {
    row: u64,
    reason: String,
}

impl<'a> Splitting<'a> {
    /// Nothing of the file was read yet.
    pub fn new(load: &'a Load) -> Self {
        Self { load, splitter: load.splitter(), rows: 0, largest: None, refused: None }
    }

    /// Takes the next bytes of the file, and gives shards their lines.
    pub fn add(&mut self, bytes: &[u8], feeds: &Feeds) {
        if self.refused.is_none() {
            self.splitter.feed(bytes);
            self.split(feeds);
        }
    }

    /// The file has ended.
    pub fn end(&mut self, feeds: &Feeds) {
        if self.refused.is_none() {
            self.splitter.end();
            self.split(feeds);
        }
    }

    /// The largest id that lines have brought for a sequence.
    pub const fn largest_id(&self) -> Option<u64> {
        self.largest
    }

    /// Why the file is not loaded.
    pub fn refused(&self) -> Option<ClientError> {
        let Refused { row, reason } = self.refused.as_ref()?;
        Some(ClientError::not_sharded(&format!("the file of LOAD DATA at row {row}"), reason))
    }

    /// The rest of the file goes nowhere.
    pub fn stop(&mut self) {
        self.refuse("the statement was killed");
    }

    fn refuse(&mut self, reason: impl Into<String>) {
        self.refused = Some(Refused { row: self.rows, reason: reason.into() });
    }

    fn split(&mut self, feeds: &Feeds) {
        loop {
            match self.splitter.take() {
                Taken::End => return,
                Taken::Wait(bytes) if bytes <= LOAD_LINE_BYTES_MAX => return,
                Taken::Wait(_) => {
                    self.rows += 1;
                    return self.refuse(format!("the line has more than {LOAD_LINE_BYTES_MAX} bytes"));
                }
                Taken::Line(line) => {
                    self.rows = line.row.unwrap_or(self.rows);
                    self.largest = self.largest.max(self.load.id(&line));
                    match self.load.receiver(&line) {
                        Ok(Receiver::All) => feeds.add_everywhere(line.bytes),
                        Ok(Receiver::Shard(shard)) => feeds.add(shard, line.bytes),
                        Err(cause) => return self.refuse(cause.text()),
                    }
                }
            }
        }
    }
}
