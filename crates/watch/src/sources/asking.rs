//! One turn of questions to a server, and the answers.

use cache::{Cache, Definition, Learnt, Scope, Sight, question};
use sql::shape::Table;

use super::control::Control;
use super::lost::Lost;
use super::pace::Ask;
use super::probe::Visible;
use crate::question::Rows;

/// What a server was asked at once, and what it has said.
pub(super) struct Answers {
    pub(super) ask: Ask,
    /// When it was asked, in microseconds.
    pub(super) at_us: u64,
    pub(super) visible: Option<Visible>,
    /// Where the log has ended after the definitions were told. It is there if there are any.
    pub(super) end: Option<cache::Position>,
    pub(super) definitions: Vec<Learnt>,
}

/// Tables whose definitions are asked for, and by whom.
pub(super) struct Wanted<'a> {
    pub(super) cache: &'a Cache,
    pub(super) sight: Sight,
    pub(super) tables: Vec<Table>,
}

/// Asks a server. The connection comes back with the answers.
pub(super) async fn questions<'w>(
    mut control: Control<'w>,
    ask: Ask,
    wanted: Wanted<'_>,
) -> Result<(Control<'w>, Answers), Lost> {
    const NONSENSE: Lost = Lost::Useless("the server does not tell what is visible");
    let at_us = control.worker.shared.uptime_us();
    let kind = control.kind;
    let mut definitions = Vec::new();
    for table in wanted.tables {
        // While a definition is being changed, what a server says is not certain.
        let Some(moment) = wanted.cache.versions.moment(&Scope::of_definitions()) else { break };
        let schema = table.schema.as_deref().unwrap_or_default();
        let definition = match control.ask(&question(schema, &table.name)).await {
            Ok(rows) => definition(schema, &rows).unwrap_or(Definition::unknown()),
            Err(Lost::Refused { .. }) => Definition::unknown(),
            Err(lost) => return Err(lost),
        };
        definitions.push(Learnt { whose: wanted.sight.whose, table, definition, moment });
    }
    let asks_end = ask.end || !definitions.is_empty();
    let end = if asks_end { Some(control.end().await?) } else { None };
    let visible = if ask.visible {
        Some(kind.read_visible(&control.ask(kind.visible()).await?).ok_or(NONSENSE)?)
    } else {
        None
    };
    Ok((control, Answers { ask, at_us, visible, end, definitions }))
}

/// The definition that rows tell of a table of `schema`.
fn definition(schema: &str, rows: &Rows) -> Option<Definition> {
    let rows: Vec<Vec<_>> = rows.cells().map(|row| row.iter().map(Option::as_deref).collect()).collect();
    Definition::of(schema, &rows)
}
