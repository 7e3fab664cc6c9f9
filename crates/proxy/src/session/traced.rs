//! What a span has of a command, noted when the command begins. Nothing where no statement is
//! traced.

use otlp::Parent;
use route::Source;
use tokio::time::Instant;
use wire::command::{Attribute, Kind, Query, StmtExecute};
use wire::{Capabilities, Codec as _};

use super::Session;
use super::decided::Decided;
use super::execute::id;
use observe::running::Traced;

impl Session {
    /// Takes note of a command that begins to run.
    #[inline]
    pub(super) fn note_traced(&self, kind: Kind, payload: &[u8], decided: Option<&Decided>) {
        if self.worker.is_tracing() {
            self.control.running.trace(self.traced(kind, payload, decided));
        }
    }

    /// The same of a command that is sent with the one before it.
    #[inline]
    pub(super) fn also_traced(&self, kind: Kind, payload: &[u8], decided: &Decided) -> Option<Box<Traced>> {
        self.worker.is_tracing().then(|| Box::new(self.traced(kind, payload, Some(decided))))
    }

    /// Takes note of a command that waits for a connection since then.
    #[inline]
    pub(super) fn note_traced_wait(&self, kind: Kind, payload: &[u8], since: Instant) {
        if self.worker.is_tracing() {
            let waiting = Traced { waiting_since: Some(since), ..self.traced(kind, payload, None) };
            self.control.running.trace(waiting);
        }
    }

    #[cold]
    fn traced(&self, kind: Kind, payload: &[u8], decided: Option<&Decided>) -> Traced {
        let rule = match decided.and_then(|decided| decided.orders.as_ref()?.verdict.source) {
            Some(Source::Rule(id)) => Some(id),
            _ => None,
        };
        Traced { parent: self.parent(kind, payload), rule, waiting_since: None }
    }

    /// The parent in the attributes of a command. A long one may not have all of them yet.
    fn parent(&self, kind: Kind, payload: &[u8]) -> Option<Parent> {
        let caps = self.capabilities();
        if !caps.contains(Capabilities::QUERY_ATTRIBUTES) {
            return None;
        }
        match kind {
            Kind::Query => parent_in(Query::decode(payload, caps).ok()?.attributes.iter()),
            Kind::StmtExecute => {
                let all = self.state.prepared.as_ref()?;
                let id = id(payload)?;
                // Sent, it has the number that the server knows.
                let id = all.client_id_of(id, self.state.link.hostgroup).unwrap_or(id);
                let params = all.get(id)?.params();
                parent_in(StmtExecute::decode(payload, caps).ok()?.attributes(params, caps))
            }
            _ => None,
        }
    }
}

/// The parent in one of these attributes.
fn parent_in<'a>(mut attributes: impl Iterator<Item = Attribute<'a>>) -> Option<Parent> {
    let attribute = attributes.find(|attribute| attribute.name == Parent::ATTRIBUTE)?;
    // A text has its length in front, in one byte if it is short.
    Parent::parse(attribute.value?.get(1..)?)
}
