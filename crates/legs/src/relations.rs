//! What is behind the names of a statement's tables: a view or a trigger may do more than the
//! statement says.
//!
//! The first statement with a table counts as one that calls a stored function. Behind it, the
//! session's server is asked what is there; what it says holds for all sessions of the worker.

use runtime::limits::{RELATION_ROWS_MAX, ROUTINE_BYTES_MAX};
use session::relations::Behind;
use sql::routine;
use sql::routine::unhex;
use sql::shape::Table;
use upstream::Reply;
use wire::rows::cells;

/// What is in a definition of what may be behind the name of a table.
const DEFINITIONS: [&str; 5] = ["view", "trigger", "function", "procedure", "rename"];

/// Whether a text that commits may define what is behind the name of a table.
pub fn defines(text: &[u8]) -> bool {
    let has = |word: &str| text.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes()));
    DEFINITIONS.into_iter().any(has)
}

/// How to ask what is behind a name. Definitions come in hexadecimal: what character set results
/// have does not matter.
pub(crate) fn question(table: &Table) -> String {
    let (schema, name) = (table.schema.as_deref().unwrap_or_default(), &table.name);
    format!(
        "SELECT 'view', HEX(VIEW_DEFINITION), '' FROM information_schema.VIEWS \
         WHERE TABLE_SCHEMA = '{schema}' AND TABLE_NAME = '{name}' UNION ALL \
         SELECT 'trigger', HEX(ACTION_STATEMENT), SQL_MODE FROM information_schema.TRIGGERS \
         WHERE EVENT_OBJECT_SCHEMA = '{schema}' AND EVENT_OBJECT_TABLE = '{name}' UNION ALL \
         SELECT 'default', '', '' FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = '{schema}' \
         AND TABLE_NAME = '{name}' AND COLUMN_DEFAULT LIKE '%nextval(%' LIMIT {RELATION_ROWS_MAX}"
    )
}

/// What a view or triggers use by what their server has answered; else what is behind the name that
/// outlives a statement.
pub(crate) fn uses(reply: &Reply) -> Result<routine::Uses, Behind> {
    let rows = cells(&reply.bytes).ok_or(Behind::Something)?;
    if rows.iter().any(|row| row.first() == Some(&Some(b"default"))) {
        return Err(Behind::Sequence);
    }
    uses_of(&rows).ok_or(Behind::Something)
}

/// What these views and triggers use, if nothing of them outlives a statement. What the user may
/// not see has no definition.
fn uses_of(rows: &[Vec<Option<&[u8]>>]) -> Option<routine::Uses> {
    let mut all = routine::Uses::default();
    if rows.len() >= RELATION_ROWS_MAX {
        return None;
    }
    for row in rows {
        let &[Some(kind), Some(definition), Some(modes)] = row.as_slice() else { return None };
        let definition = unhex(definition)?;
        if definition.len() > ROUTINE_BYTES_MAX {
            return None;
        }
        let uses = match kind {
            _ if definition.is_empty() => routine::Uses::default(),
            b"view" => routine::view(&definition)?,
            _ => routine::trigger(&definition, routine::modes(std::str::from_utf8(modes).ok()?)?)?,
        };
        all.routines.extend(uses.routines);
        all.tables.extend(uses.tables);
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_may_define_something_is_known() {
        assert!(defines(b"CREATE OR REPLACE VIEW v AS SELECT 1") && defines(b"rename table a to b"));
        assert!(!defines(b"TRUNCATE t"));
    }
}
