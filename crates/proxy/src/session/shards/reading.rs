//! What the reading of a statement over sharded tables depends on.

use std::sync::Arc;

use legs::shards::command::Command;
use legs::state::SessionState;
use runtime::worker::Worker;
use shard::Layout;
use sql::lexer::Charset;
use sql::parse::Settings;
use sql::{Dialect, Modes};

use crate::error::ClientError;
use crate::session::shards::naming::{names_table, of_unknown_charset};

/// How a text of the session is read; nothing if that is not known, and it names no table of the
/// layout.
pub(crate) async fn read_settings(
    worker: &Worker,
    state: &SessionState,
    text: &[u8],
    layout: &Arc<Layout>,
) -> Result<Option<Settings>, ClientError> {
    let Some(charset) = state.charset.of_text(text) else {
        return if names_table(text, layout) { Err(of_unknown_charset()) } else { Ok(None) };
    };
    let catalog = &worker.shards;
    if catalog.dialect().is_none() {
        let version = worker.shared.server_version().await;
        catalog.set_dialect(Dialect::of(&version));
    }
    Ok(catalog.dialect().map(|dialect| read_settings_for(state, dialect, charset)))
}

/// The same for servers that read texts like this.
pub(super) fn read_settings_for(state: &SessionState, dialect: Dialect, charset: Charset) -> Settings {
    let reading = state.reading();
    let modes = Modes {
        ansi_quotes: has_mode(state, b"ANSI"),
        no_backslash_escapes: reading.no_backslash_escapes,
        charset,
    };
    let (pipes_as_concat, high_not_precedence) =
        (has_mode(state, b"PIPES_AS_CONCAT") || modes.ansi_quotes, has_mode(state, b"HIGH_NOT_PRECEDENCE"));
    Settings { modes, dialect, pipes_as_concat, high_not_precedence }
}

/// Whether the session has set a mode.
pub(super) fn has_mode(state: &SessionState, mode: &[u8]) -> bool {
    let has = |text: &[u8]| text.windows(mode.len()).any(|part| part.eq_ignore_ascii_case(mode));
    state.settings().any(|(key, text)| key.starts_with("sql_mode") && has(text))
}

/// `sql_select_limit`, if it is not the largest number.
pub(super) fn select_limit(state: &SessionState) -> Option<u64> {
    let limit = state.settings().find(|(key, _)| *key == "sql_select_limit");
    limit.and_then(|(_, text)| number_of(text)).filter(|limit| *limit < u64::MAX)
}

/// The number that a `SET` ends with.
fn number_of(text: &[u8]) -> Option<u64> {
    let digits = text.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(text.get(text.len() - digits..)?).ok()?.parse().ok()
}

/// The schema in which the names of a command are looked up.
pub(super) fn schema_of<'t>(state: &'t SessionState, command: &'t Command<'_>) -> &'t [u8] {
    command.context.as_ref().map_or(state.caller.schema(), |context| &context.schema)
}

/// Whether a layout is that of now: others may be loaded while servers are asked.
pub(super) fn is_current(worker: &Worker, layout: &Layout) -> bool {
    worker.settings().shards.as_deref().is_some_and(|now| std::ptr::eq(now, layout))
}
