//! Definitions of tables that several nodes get, from the first node to the last: recorded before
//! the first node is asked, so that a definition that has stopped between two nodes is known, also
//! behind the end of the process.
//!
//! - `record`: what is recorded; whether a node has executed the statement;
//! - `files`: records in `datadir`; without a `datadir` they last as long as the process;
//! - `resume`: going on with one that has stopped, on behalf of an admin.

mod files;
mod record;
mod resume;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use net::lock;
use wire::Codec as _;
use wire::frame::front;
use wire::{Capabilities, packet};

use observe::rows::ShardDdl;
use tokio::task::spawn_blocking;

use crate::gates::TableName;
use crate::limits::DDL_RECORDS_MAX;
use files::Files;
pub use record::{Bytes, Record, State, Step, fingerprint};
pub use resume::resume;

/// Definitions that have not come to their end.
#[derive(Debug, Default)]
pub struct Ddl {
    files: Files,
    book: Mutex<Book>,
    /// Whether one has stopped: most processes never have any.
    has_stopped: AtomicBool,
}

#[derive(Debug, Default)]
struct Book {
    last_id: u64,
    entries: BTreeMap<u64, Entry>,
}

#[derive(Debug)]
struct Entry {
    record: Record,
    /// A session or an admin's order is at it.
    is_running: bool,
}

/// A definition that runs. Dropped before its end it has stopped.
#[derive(Debug)]
pub struct Running {
    ddl: Arc<Ddl>,
    id: u64,
}

/// Why an order about a definition is not carried out.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotOrdered {
    /// No record has the id.
    #[error("there is no definition with the id {0}")]
    Unknown(u64),
    /// It has not stopped.
    #[error("definition {0} runs")]
    Runs(u64),
}

impl Ddl {
    /// With the records that an earlier process has left in this folder; none if it is empty.
    pub fn open(datadir: &str) -> Self {
        let files = Files::new((!datadir.is_empty()).then(|| Path::new(datadir).to_path_buf()));
        let mut book = Book::default();
        for record in files.read_all() {
            tracing::warn!(
                id = record.id,
                statement = %record.shown(),
                "a definition of a sharded table has not come to its end: see stats_pointsman_shard_ddl"
            );
            book.last_id = book.last_id.max(record.id);
            book.entries.insert(record.id, Entry { record, is_running: false });
        }
        let has_stopped = AtomicBool::new(!book.entries.is_empty());
        Self { files, book: Mutex::new(book), has_stopped }
    }

    /// The definition of one of these tables that has stopped, if one has.
    pub fn stopped_of(&self, tables: &[TableName]) -> Option<u64> {
        if !self.has_stopped.load(Ordering::Acquire) {
            return None;
        }
        let book = lock(&self.book);
        let stopped = book.entries.iter().filter(|(_, entry)| !entry.is_running);
        let of = |table| stopped.clone().find(|(_, entry)| entry.record.tables.contains(table));
        tables.iter().find_map(of).map(|(id, _)| *id)
    }

    /// All, with their steps.
    pub fn rows(&self) -> Vec<ShardDdl> {
        let book = lock(&self.book);
        book.entries.values().flat_map(|entry| entry.record.rows(entry.is_running)).collect()
    }

    /// Records a definition, which has to end or to stop. The error says why it cannot be.
    pub async fn begin(self: &Arc<Self>, mut record: Record) -> Result<Running, String> {
        {
            let mut book = lock(&self.book);
            if book.entries.len() >= DDL_RECORDS_MAX {
                return Err(format!("{DDL_RECORDS_MAX} others have not come to their ends"));
            }
            book.last_id += 1;
            record.id = book.last_id;
            book.entries.insert(record.id, Entry { record: record.clone(), is_running: true });
        }
        let running = Running { ddl: Arc::clone(self), id: record.id };
        match self.in_background(move |files| files.create(&record)).await {
            Ok(()) => Ok(running),
            Err(why) => {
                running.end().await;
                Err(why)
            }
        }
    }

    /// Goes on with a definition that has stopped.
    pub fn go_on(self: &Arc<Self>, id: u64) -> Result<Running, NotOrdered> {
        let mut book = lock(&self.book);
        let entry = book.entries.get_mut(&id).ok_or(NotOrdered::Unknown(id))?;
        if std::mem::replace(&mut entry.is_running, true) {
            return Err(NotOrdered::Runs(id));
        }
        drop(book);
        self.look();
        Ok(Running { ddl: Arc::clone(self), id })
    }

    /// Forgets a definition that has stopped: an admin has seen to its nodes. Blocks while its file
    /// is removed.
    pub fn forget(&self, id: u64) -> Result<(), NotOrdered> {
        let mut book = lock(&self.book);
        match book.entries.get(&id) {
            None => return Err(NotOrdered::Unknown(id)),
            Some(entry) if entry.is_running => return Err(NotOrdered::Runs(id)),
            Some(_) => drop(book.entries.remove(&id)),
        }
        drop(book);
        self.look();
        if let Err(error) = self.files.remove(id) {
            tracing::warn!(id, %error, "the record of a definition cannot be removed: a start will find it");
        }
        Ok(())
    }

    /// Does something with files on a thread that may wait for the disk.
    async fn in_background(
        self: &Arc<Self>,
        work: impl FnOnce(&Files) -> std::io::Result<()> + Send + 'static,
    ) -> Result<(), String> {
        if !self.files.are_kept() {
            return Ok(());
        }
        let ddl = Arc::clone(self);
        let done = spawn_blocking(move || work(&ddl.files)).await;
        done.map_err(|error| error.to_string())?
            .map_err(|error| format!("its record is not written: {error}"))
    }

    /// Notes whether one has stopped.
    fn look(&self) {
        let has_stopped = lock(&self.book).entries.values().any(|entry| !entry.is_running);
        self.has_stopped.store(has_stopped, Ordering::Release);
    }
}

impl Running {
    /// What is recorded; none only behind an end.
    pub fn record(&self) -> Option<Record> {
        lock(&self.ddl.book).entries.get(&self.id).map(|entry| entry.record.clone())
    }

    /// A node has come so far, or has failed with an error.
    pub async fn note(&self, step: usize, state: State, error: &str) {
        if let Some(entry) = lock(&self.ddl.book).entries.get_mut(&self.id) {
            entry.record.note(step, state, error);
        }
        let (id, error) = (self.id, error.to_owned());
        let noted = self.ddl.in_background(move |files| files.append(id, step, state, &error)).await;
        if let Err(why) = noted {
            // An order to go on with it asks the node.
            tracing::warn!(id, why, "how far a definition has come is not on disk");
        }
    }

    /// All nodes have executed it, or none has.
    pub async fn end(self) {
        lock(&self.ddl.book).entries.remove(&self.id);
        let id = self.id;
        if let Err(why) = self.ddl.in_background(move |files| files.remove(id)).await {
            tracing::warn!(id, why, "the record of a definition is not removed: a start will find it");
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(entry) = lock(&self.ddl.book).entries.get_mut(&self.id) {
            entry.is_running = false;
            tracing::error!(
                id = self.id,
                statement = %entry.record.shown(),
                "a definition of a sharded table has stopped: its nodes differ"
            );
        }
        self.ddl.look();
    }
}

/// An error of a server, by the payload of its packet.
pub fn told(payload: &[u8]) -> String {
    match packet::Err::decode(payload, Capabilities::PROTOCOL_41) {
        Ok(error) => format!("{}: {}", error.code, String::from_utf8_lossy(error.message)),
        Err(error) => error.to_string(),
    }
}

/// The error that a reply is, if it is one.
pub fn error_text(reply: &[u8]) -> Option<String> {
    let payload = front(reply);
    (payload.first() == Some(&packet::Err::HEADER)).then(|| told(payload))
}

#[cfg(test)]
mod tests;
