//! What was counted.

use std::collections::BTreeMap;
use std::fmt;

use crate::trial::{Found, Same};

/// Statements by what became of them.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    one: usize,
    many: usize,
    errors: usize,
    warnings: usize,
    types: usize,
    contradictory: usize,
    refused: BTreeMap<String, usize>,
    pub(crate) different: usize,
}

impl Figures {
    pub(crate) fn add(&mut self, found: &Found) {
        match found {
            Found::Same(same) => {
                self.warnings += usize::from(same.has_other_warnings);
                self.types += usize::from(same.types_differ);
                match same {
                    Same { is_error: true, .. } => self.errors += 1,
                    Same { shards: 1, .. } => self.one += 1,
                    Same { .. } => self.many += 1,
                }
            }
            Found::Refused(cause) => {
                let cause = cause.map_or_else(|| "Other".to_owned(), |cause| format!("{cause:?}"));
                *self.refused.entry(cause).or_default() += 1;
            }
            Found::Contradictory => self.contradictory += 1,
            Found::Different(_) => self.different += 1,
        }
    }

    /// Statements that both sides have executed.
    pub(crate) const fn executed(&self) -> usize {
        self.one + self.many + self.errors + self.contradictory + self.different
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let refused: usize = self.refused.values().sum();
        writeln!(
            f,
            "{} statements executed: {} by one shard, {} by several, {} with the same error, {} different",
            self.executed(),
            self.one,
            self.many,
            self.errors,
            self.different
        )?;
        writeln!(
            f,
            "of these {} with another number of warnings, {} with columns of different types at the shards, \
             {} to which the server has two answers",
            self.warnings, self.types, self.contradictory
        )?;
        write!(f, "{refused} statements refused")?;
        for (cause, count) in &self.refused {
            write!(f, ", {cause} {count}")?;
        }
        Ok(())
    }
}
