//! The table as SQLite sees it: its columns, and a cursor over the rows that are there when a
//! statement begins to read.

// What rusqlite asks for is a promise about the layout of two structures, which is in front of each
// of them.
#![allow(unsafe_code)]

use std::borrow::Cow;
use std::collections::HashSet;
use std::ffi::{CStr, CString, c_int};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rusqlite::vtab::{
    Context, CreateVTab, Filters, IndexConstraintOp, IndexInfo, VTab, VTabConfig, VTabConnection, VTabCursor,
    VTabKind, sqlite3_vtab, sqlite3_vtab_cursor,
};
use rusqlite::{Error, Result};

use crate::index::Index;
use crate::{Lists, Shown};

/// What it costs to find rows by their values, in the terms of SQLite's planner: much less than to
/// read all of them.
const COST_OF_A_LOOK: f64 = 20.0;

/// How many rows are expected to be found.
const ROWS_OF_A_LOOK: i64 = 5;

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

    /// `args` are the definitions of columns and keys, as the `CREATE` has them.
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

    /// There are two ways to read it: from the first row to the last, or those that are found by
    /// their values in columns, whose numbers the name of the way tells. SQLite itself checks
    /// whether a row is what a statement asks for.
    fn best_index(&self, info: &mut IndexInfo) -> Result<bool> {
        let rows = self.lists.of(&self.name);
        let rows = rows.map_or(Ok(0), |shown| caught(&self.name, || shown.rows.count()))?;
        let equal = equal_columns(info)?;
        if !equal.is_empty() {
            for (argument, (constraint, _)) in (1..).zip(&equal) {
                info.constraint_usage(*constraint).set_argv_index(argument);
            }
            let columns: Vec<String> = equal.iter().map(|(_, column)| column.to_string()).collect();
            info.set_idx_str(&columns.join(","));
            info.set_estimated_cost(COST_OF_A_LOOK);
            info.set_estimated_rows(ROWS_OF_A_LOOK);
            return Ok(true);
        }
        info.set_estimated_rows(i64::try_from(rows).unwrap_or(i64::MAX));
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        info.set_estimated_cost(rows as f64);
        Ok(true)
    }

    fn open(&mut self) -> Result<Cursor> {
        let (name, lists) = (self.name.clone(), self.lists.clone());
        Ok(Cursor {
            base: sqlite3_vtab_cursor::default(),
            name,
            lists,
            shown: None,
            index: None,
            places: 0..0,
        })
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
    shown: Option<Arc<Shown>>,
    /// What rows are found with; nothing if all are read.
    index: Option<Arc<Index>>,
    /// The places in the index that are left, or the rows.
    places: Range<usize>,
}

impl Cursor {
    /// The row where it is; none behind the last one.
    fn row(&self) -> Option<usize> {
        let place = self.places.clone().next()?;
        match &self.index {
            Some(index) => index.row(place),
            None => Some(place),
        }
    }
}

// SAFETY: the structure is `repr(C)`, and `sqlite3_vtab_cursor` comes first.
unsafe impl VTabCursor for Cursor {
    fn filter(&mut self, _: c_int, way: Option<&str>, values: &Filters<'_>) -> Result<()> {
        (self.shown, self.index, self.places) = (self.lists.of(&self.name), None, 0..0);
        let Some(shown) = &self.shown else { return Ok(()) };
        let columns: Vec<usize> =
            way.unwrap_or_default().split(',').filter_map(|column| column.parse().ok()).collect();
        if !columns.is_empty() && columns.len() == values.len() {
            self.index = caught(&self.name, || shown.index(&columns))?;
        }
        self.places = match &self.index {
            Some(index) => index.find(values.iter()),
            None => 0..caught(&self.name, || shown.rows.count())?,
        };
        Ok(())
    }

    fn next(&mut self) -> Result<()> {
        self.places.next();
        Ok(())
    }

    fn eof(&self) -> bool {
        self.places.is_empty()
    }

    fn column(&self, context: &mut Context, column: c_int) -> Result<()> {
        match (&self.shown, self.row(), usize::try_from(column)) {
            (Some(shown), Some(row), Ok(column)) => {
                context.set_result(caught(&self.name, || shown.rows.cell(row, column))?)
            }
            _ => Ok(()),
        }
    }

    fn rowid(&self) -> Result<i64> {
        Ok(self.row().and_then(|row| i64::try_from(row).ok()).unwrap_or(i64::MAX))
    }
}

/// The conditions of a statement that a column equals something that is known when the table is
/// read, with the column; one for each column.
fn equal_columns(info: &IndexInfo) -> Result<Vec<(usize, usize)>> {
    let mut equal = Vec::new();
    let mut columns = HashSet::new();
    for (at, constraint) in info.constraints().enumerate() {
        let is_equality = constraint.operator() == IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_EQ;
        // A negative column is the number of the row.
        let Ok(column) = usize::try_from(constraint.column()) else { continue };
        if is_equality && constraint.is_usable() && info.collation(at)? == "BINARY" && columns.insert(column)
        {
            equal.push((at, column));
        }
    }
    Ok(equal)
}

/// What `work` on the rows of a table returns, with a panic as an error: one that reached SQLite's
/// code would end the process.
fn caught<T>(table: &str, work: impl FnOnce() -> T) -> Result<T> {
    // Nothing is looked at afterwards that `work` may have left half done: rows are shared, and
    // their trait only reads them.
    catch_unwind(AssertUnwindSafe(work))
        .map_err(|_| Error::ModuleError(format!("a panic in the rows of {table}")))
}
