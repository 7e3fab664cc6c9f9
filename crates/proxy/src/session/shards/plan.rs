//! Where a statement goes: what the planner says of its text, with what is known of its tables.

use std::sync::Arc;

use route::StatementPlan;
use shard::Layout;
use shard::plan::{Asked, Branch, Plan, Refusal, Request};
use sql::Dialect;
use sql::parse::{Settings, Tree};
use sql::shape::Effects;
use sql::{Modes, StatementKind};

use super::Place;
use super::command::Command;
use super::many::Scattered;
use super::values::Own;
use crate::ending::Ending;
use crate::error::ClientError;
use crate::session::Session;

/// Bytes of a statement's part that an error shows.
const PART_BYTES_MAX: usize = 80;

/// What is to be done with a statement.
#[derive(Debug)]
pub(super) enum Way {
    /// It runs at home.
    Home,
    /// It asks about a statement that has run there.
    At(Place),
    /// It runs at one shard.
    One(Branch),
    /// Several shards run it.
    Many(Scattered),
    /// It is not executed.
    Refused(ClientError),
}

impl Session {
    /// Where the statement of a command goes.
    pub(super) async fn way_of(&mut self, command: &Command) -> Result<Way, Ending> {
        let (text, what) = (&command.text, command.what);
        if let Some(place) = self.place_of_last(what) {
            return Ok(Way::At(place));
        }
        let settings = self.worker.settings();
        let Some(layout) = settings.shards.as_ref() else { return Ok(Way::Home) };
        let Some(read) = self.read_settings().await else { return Ok(Way::Home) };
        let mut tree = self.worker.shards.take_tree();
        let way = match tree.read(text, &read) {
            Ok(_) => {
                self.learn_definitions(&tree, text, layout).await?;
                self.planned(command, &tree, read.modes, layout)
            }
            Err(_) if !names_table(text, layout) => Way::Home,
            Err(refusal) => Way::Refused(unread(text, refusal)),
        };
        self.worker.shards.put_tree(tree);
        Ok(match way {
            Way::Home => way,
            _ => self.refused_by_session(what).map_or(way, Way::Refused),
        })
    }

    fn planned(&self, command: &Command, tree: &Tree, modes: Modes, layout: &Layout) -> Way {
        let Ok(schema) = std::str::from_utf8(self.state.caller.schema()) else { return Way::Home };
        let text = &command.text;
        let values = command.execution.as_ref().map_or(&[][..], |(_, values)| values);
        let parameters: Vec<_> = values.iter().map(Own::value).collect();
        let tables = self.worker.shards.tables();
        let request = Request {
            sql: text,
            tree,
            modes,
            schema,
            layout,
            definitions: &*tables,
            parameters: &parameters,
            asked: Asked::default(),
        };
        match shard::plan::plan(&request) {
            Plan::Home => Way::Home,
            Plan::One(branch) => Way::One(branch),
            Plan::Many(scatter) => Way::Many(scatter.into()),
            Plan::Write(write) => Way::Many(write.into()),
            Plan::Each(branches) => Way::Many(branches.into()),
            Plan::NeedsIds(_) => {
                Way::Refused(ClientError::not_sharded("an id", "sequences are not there yet"))
            }
            Plan::Refused(refusal) => Way::Refused(refused(text, refusal)),
        }
    }

    /// A statement that tells what one with this text is, at the server that it is for; none if it
    /// names no table of the layout.
    pub(super) async fn sample_of(
        &mut self,
        text: &[u8],
    ) -> Result<Result<Option<Branch>, ClientError>, Ending> {
        let settings = self.worker.settings();
        let Some(layout) = settings.shards.as_ref() else { return Ok(Ok(None)) };
        let Some(read) = self.read_settings().await else { return Ok(Ok(None)) };
        let mut tree = self.worker.shards.take_tree();
        let sample = match tree.read(text, &read) {
            Ok(_) => {
                let schema = String::from_utf8_lossy(self.state.caller.schema());
                let tables = self.worker.shards.tables();
                let request = Request {
                    sql: text,
                    tree: &tree,
                    modes: read.modes,
                    schema: &schema,
                    layout,
                    definitions: &*tables,
                    parameters: &[],
                    asked: Asked::default(),
                };
                shard::plan::sample(&request).map_err(|refusal| refused(text, refusal))
            }
            Err(_) if !names_table(text, layout) => Ok(None),
            Err(refusal) => Err(unread(text, refusal)),
        };
        self.worker.shards.put_tree(tree);
        Ok(sample)
    }

    /// How texts of the session are read.
    async fn read_settings(&self) -> Option<Settings> {
        let catalog = &self.worker.shards;
        if catalog.dialect().is_none() {
            let version = self.worker.shared.server_version().await;
            catalog.set_dialect(Dialect::of(&version));
        }
        let has = |mode: &[u8]| {
            let is_mode = |(key, text): (&str, &[u8])| {
                key.starts_with("sql_mode")
                    && text.windows(mode.len()).any(|part| part.eq_ignore_ascii_case(mode))
            };
            self.state.settings().any(is_mode)
        };
        let reading = self.state.reading();
        let modes = Modes {
            ansi_quotes: has(b"ANSI"),
            no_backslash_escapes: reading.no_backslash_escapes,
            ..Modes::default()
        };
        let (pipes_as_concat, high_not_precedence) =
            (has(b"PIPES_AS_CONCAT") || has(b"ANSI"), has(b"HIGH_NOT_PRECEDENCE"));
        Some(Settings { modes, dialect: catalog.dialect()?, pipes_as_concat, high_not_precedence })
    }

    /// Where the statement has run that this one asks about, if it asks about one.
    fn place_of_last(&mut self, what: StatementPlan) -> Option<Place> {
        let shards = self.role.shards();
        let place = if what.effects.intersects(Effects::READS_LAST) || what.kind == StatementKind::Diagnostics
        {
            shards.last
        } else if what.effects.intersects(Effects::READS_LAST_INSERT_ID) && !what.tables {
            shards.last_id
        } else {
            return None;
        };
        (place != Place::Home).then_some(place)
    }

    /// Why a statement cannot run at a shard in the state that the session is in.
    fn refused_by_session(&self, what: StatementPlan) -> Option<ClientError> {
        let refused = |part: &str, reason: &str| Some(ClientError::not_sharded(part, reason));
        let state = &self.state;
        if let Some(pin) = state.pins.locked_on().and_then(|_| state.pin()) {
            return refused(
                "a statement at a shard",
                &format!("the session is bound to its server: {}", pin.name()),
            );
        }
        if what.several {
            return refused("several statements in one text", "each may belong to another server");
        }
        if what.effects.intersects(Effects::SETS_USER_VARIABLES) {
            return refused("a user variable that is set", "it would be set at one server only");
        }
        if what.effects.intersects(Effects::READS_USER_VARIABLES)
            && state.pins.has_any(&[crate::state::Pin::UserVariable])
        {
            return refused("a user variable", "its value is known to the server that has set it only");
        }
        if what.effects.intersects(Effects::NAMED_LOCKS) {
            return refused("a lock by name", "it would be taken at one server only");
        }
        None
    }
}

/// Whether a text has the name of a sharded table as a part of it.
fn names_table(text: &[u8], layout: &Arc<Layout>) -> bool {
    layout.tables().iter().any(|table| {
        let name = table.name.as_bytes();
        text.windows(name.len()).any(|part| part.eq_ignore_ascii_case(name))
    })
}

fn unread(text: &[u8], refusal: sql::parse::Refusal) -> ClientError {
    ClientError::not_sharded(&part(text.get(refusal.at..).unwrap_or_default()), &refusal.to_string())
}

fn refused(text: &[u8], refusal: Refusal) -> ClientError {
    ClientError::not_sharded(&part(refusal.span.of(text)), refusal.cause.text())
}

/// A part of a statement for an error.
fn part(text: &[u8]) -> String {
    let shown = text.get(..PART_BYTES_MAX).unwrap_or(text);
    let more = if shown.len() < text.len() { "..." } else { "" };
    format!("{}{more}", String::from_utf8_lossy(shown))
}
