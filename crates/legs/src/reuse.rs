//! Statements that other sessions have left prepared at a connection. A session that executes one
//! of the same text executes theirs without preparing its own, and its execution may be sent
//! together with those of other such sessions.

use std::rc::Rc;

use command::{Command, add_types};
use runtime::prepared::Prepared;
use session::places::Came;
use session::state::typed::Typed;
use sql::shape::Effects;
use upstream::Execution;

use crate::links::Links;
use crate::state::SessionState;

impl SessionState {
    /// An execution as any connection may get it where its statement is, but for the number that
    /// this has there; nothing if it needs more than that.
    pub(crate) fn execution(&self, command: Command<'_>) -> Option<(Rc<[u8]>, Execution)> {
        let prepared = self.named(command)?;
        // No values that were sent before, no cursor, no word about the statement before.
        let needs_more = !prepared.unsent.is_empty()
            || prepared.is_at_home()
            || prepared.what.plan.effects.intersects(Effects::READS_LAST)
            || command.opens_cursor();
        if !command.is_whole() || needs_more || prepared.what.change.is_some() {
            return None;
        }
        let (caps, count) = (command.caps, prepared.params());
        let params = command.params(count)?;
        let mut packet = command.packet().to_vec();
        if count > 0 && params.types_without_attributes(count, caps).is_none() {
            let (types, at) = prepared.types().filter(|_| params.count == usize::from(count))?;
            if !self.reads_as_at(at) || !add_types(&mut packet, params.values.len(), types) {
                return None;
            }
        }
        let now = Typed::of(prepared.types_of(&params, caps));
        Some((packet.into(), execution(prepared, prepared.typed().clone(), now)?))
    }
}

impl Links {
    /// Whether another session has left a statement of the same text at the backend in use: it is
    /// this session's from now on. It is about to be executed with these values.
    pub(crate) fn reuse(&mut self, prepared: &Prepared, now: &Typed) -> bool {
        let Some(execution) = execution(prepared, prepared.typed(), now) else { return false };
        let Some(link) = self.connection_mut() else { return false };
        let Some(found) = link.take_statement(&execution, prepared.entry()) else { return false };
        link.state_mut().places.add(prepared.serial, found, Came::Reused);
        true
    }
}

/// An execution with these values, by a session that has executed the statement with those so far;
/// nothing if the statement must not outlive its session.
fn execution<T>(prepared: &Prepared, typed: T, now: T) -> Option<Execution<T>> {
    let (params, columns) = (prepared.params(), prepared.columns());
    Some(Execution { origin: prepared.origin()?, params, columns, typed, now })
}
