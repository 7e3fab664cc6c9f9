//! What is known of the physical tables behind a layout.
//!
//! A server is asked for a table with one statement, and once for the collations that it has not
//! been asked for before:
//!
//! 1. [`table_statement`] asks for a table, a [`Reader`] makes a [`TableDefinition`] of the answer;
//! 2. [`Collations::unknown`] says which collations are to be asked for, [`collation_statement`]
//!    asks, and [`Collations::read`] takes the answer;
//! 3. [`columns`] says what a planner needs, [`check()`] what is wrong with the tables, and
//!    [`survey()`] what of that keeps a layout from being used.
//!
//! A [`Catalog`] keeps all that within a number of bytes.

mod answer;
mod ask;
mod catalog;
mod check;
mod collation;
mod columns;
mod finding;
mod own_values;
mod parts;
mod row_key;
#[cfg(test)]
mod sample;
mod survey;
mod table;

pub use answer::{Reader, Unreadable};
pub use ask::table_statement;
pub use catalog::{Catalog, Known};
pub use check::{Answer, check};
pub use collation::{Collation, CollationFacts, Collations, collation_statement};
pub use columns::columns;
pub use finding::{Finding, Problem};
pub use survey::{Survey, survey};
pub use table::{ColumnDefinition, DefaultValue, ForeignKey, Index, IndexPart, TableDefinition, Trigger};
