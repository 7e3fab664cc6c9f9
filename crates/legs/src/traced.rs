//! What a span has of a command, noted when the command begins. Nothing where no statement is
//! traced.

use command::Command;
use observe::running::Traced;
use otlp::Parent;
use route::Source;
use runtime::decided::Decided;
use runtime::prepared::Prepared;
use runtime::worker::Worker;
use wire::command::Kind;

use crate::state::SessionState;

/// The same of a command that is sent with the one before it.
#[inline]
pub(crate) fn also_traced(
    worker: &Worker,
    state: &SessionState,
    command: Command<'_>,
    decided: &Decided,
) -> Option<Box<Traced>> {
    worker.is_tracing.get().then(|| Box::new(traced(worker, state, command, Some(decided))))
}

#[cold]
pub(crate) fn traced(
    worker: &Worker,
    state: &SessionState,
    command: Command<'_>,
    decided: Option<&Decided>,
) -> Traced {
    let rule = match decided.and_then(|decided| decided.orders.as_ref()?.verdict.source) {
        Some(Source::Rule(id)) => Some(id),
        _ => None,
    };
    let text = state.shown(worker, command);
    Traced {
        parent: state.parent(command),
        rule,
        waiting_since: None,
        shows_digest: !state.reading().shows_literals(text),
    }
}

impl SessionState {
    /// The parent in the attributes of a command. A long one may not have all of them yet.
    fn parent(&self, command: Command<'_>) -> Option<Parent> {
        let params = self.named(command).map(Prepared::params);
        let params = params.or((command.kind == Kind::Query).then_some(0))?;
        Parent::parse(command.attribute(Parent::ATTRIBUTE, params)?)
    }
}
