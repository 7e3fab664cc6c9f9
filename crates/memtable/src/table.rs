//! The table as SQLite sees it: its columns, and a cursor over the rows that are there when a statement begins to read.

// What rusqlite asks for is a promise about the layout of two structures, which is in front of each of them.
#![allow(unsafe_code)]

use std::borrow::Cow;
use std::ffi::{CStr, CString, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rusqlite::vtab::{
    Context, CreateVTab, Filters, IndexInfo, VTab, VTabConfig, VTabConnection, VTabCursor, VTabKind,
    sqlite3_vtab, sqlite3_vtab_cursor,
};
use rusqlite::{Error, Result};

use crate::{Lists, Rows};

/// A table that a connection knows.
#[repr(C)]
pub(crate) struct Table {
    /// SQLite's part, which it finds at the beginning.
    base: sqlite3_vtab,
    name: String,
    lists: Lists,
}

// SAFETY: the structure is `repr(C)`, and `sqlite3_vtab` comes first.
unsafe impl VTab<'_> for Table {
    type Aux = Lists;
    type Cursor = Cursor;

    /// `args` are the definitions of columns and keys, as somebody wrote them.
    fn connect(
        connection: &mut VTabConnection,
        lists: Option<&Lists>,
        _: &[u8],
        _: &[u8],
        name: &[u8],
        args: &[&[u8]],
    ) -> Result<(Cow<'static, CStr>, Self)> {
        // Nothing but its rows can be got out of it: views and triggers may read it, too.
        connection.config(VTabConfig::Innocuous)?;
        let columns = args.join(&b", "[..]);
        let declared = CString::new([&b"CREATE TABLE x ("[..], &columns, b")"].concat())
            .map_err(|error| Error::ModuleError(error.to_string()))?;
        let name = String::from_utf8_lossy(name).to_ascii_lowercase();
        let lists = lists.cloned().unwrap_or_default();
        Ok((Cow::Owned(declared), Self { base: sqlite3_vtab::default(), name, lists }))
    }

    /// There is one way to read it: from the first row to the last. SQLite itself checks what a statement asks for.
    fn best_index(&self, info: &mut IndexInfo) -> Result<bool> {
        let rows = self.lists.of(&self.name);
        let rows = rows.map_or(Ok(0), |rows| caught(&self.name, || rows.count()))?;
        info.set_estimated_rows(i64::try_from(rows).unwrap_or(i64::MAX));
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        info.set_estimated_cost(rows as f64);
        Ok(true)
    }

    fn open(&mut self) -> Result<Cursor> {
        let (name, lists) = (self.name.clone(), self.lists.clone());
        Ok(Cursor { base: sqlite3_vtab_cursor::default(), name, lists, rows: None, at: 0, count: 0 })
    }
}

impl CreateVTab<'_> for Table {
    const KIND: VTabKind = VTabKind::Default;
}

/// A place among the rows of a table; before the first `filter`, behind the last one.
#[repr(C)]
pub(crate) struct Cursor {
    /// SQLite's part, which it finds at the beginning.
    base: sqlite3_vtab_cursor,
    name: String,
    lists: Lists,
    rows: Option<Arc<dyn Rows>>,
    at: usize,
    count: usize,
}

// SAFETY: the structure is `repr(C)`, and `sqlite3_vtab_cursor` comes first.
unsafe impl VTabCursor for Cursor {
    fn filter(&mut self, _: c_int, _: Option<&str>, _: &Filters<'_>) -> Result<()> {
        (self.rows, self.count, self.at) = (self.lists.of(&self.name), 0, 0);
        if let Some(rows) = &self.rows {
            self.count = caught(&self.name, || rows.count())?;
        }
        Ok(())
    }

    fn next(&mut self) -> Result<()> {
        self.at += 1;
        Ok(())
    }

    fn eof(&self) -> bool {
        self.at >= self.count
    }

    fn column(&self, context: &mut Context, column: c_int) -> Result<()> {
        let cell = self.rows.as_ref().zip(usize::try_from(column).ok());
        match cell.filter(|_| !self.eof()) {
            Some((rows, column)) => context.set_result(caught(&self.name, || rows.cell(self.at, column))?),
            None => Ok(()),
        }
    }

    fn rowid(&self) -> Result<i64> {
        Ok(i64::try_from(self.at).unwrap_or(i64::MAX))
    }
}

/// What `work` on the rows of a table returns, with a panic as an error: one that reached SQLite's code would end the process.
fn caught<T>(table: &str, work: impl FnOnce() -> T) -> Result<T> {
    // Nothing is looked at afterwards that `work` may have left half done: rows are shared, and their trait only reads them.
    catch_unwind(AssertUnwindSafe(work))
        .map_err(|_| Error::ModuleError(format!("a panic in the rows of {table}")))
}
