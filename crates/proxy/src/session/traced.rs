//! What a span has of a command, noted when the command begins. Nothing where no statement is
//! traced.

use otlp::Parent;
use route::Source;
use tokio::time::Instant;
use wire::command::{Attribute, Kind, Query, StmtExecute, statement_id};
use wire::{Capabilities, Codec as _};

use super::Session;
use super::decided::Decided;
use crate::taps::observe::is_question;
use observe::running::Traced;

/// Whose number of a prepared statement an execution has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Numbers {
    /// As the client has sent it.
    Client,
    /// As the server gets it.
    Server,
}

impl Session {
    /// Takes note of a command that is sent.
    #[inline]
    pub(super) fn note_traced(&self, kind: Kind, payload: &[u8], decided: &Decided) {
        if self.worker.is_tracing() {
            self.control.running.trace(self.traced(kind, payload, Numbers::Server, Some(decided)));
        }
    }

    /// The same of a command that no server gets.
    #[inline]
    pub(super) fn note_traced_here(&self, kind: Kind, payload: &[u8], decided: Option<&Decided>) {
        if self.worker.is_tracing() {
            self.control.running.trace(self.traced(kind, payload, Numbers::Client, decided));
        }
    }

    /// The same of a command that is sent with the one before it.
    #[inline]
    pub(super) fn also_traced(&self, kind: Kind, payload: &[u8], decided: &Decided) -> Option<Box<Traced>> {
        self.worker.is_tracing().then(|| Box::new(self.traced(kind, payload, Numbers::Server, Some(decided))))
    }

    /// Takes note of a command that waits for a connection since then. Commands without a span are
    /// left out: some have no reply, and the note would belong to the next command.
    #[inline]
    pub(super) fn note_traced_wait(&self, kind: Kind, payload: &[u8], since: Instant) {
        if self.worker.is_tracing() && is_question(kind) {
            let known = self.traced(kind, payload, Numbers::Client, None);
            let waiting = Traced { waiting_since: Some(since), ..known };
            self.control.running.trace(waiting);
        }
    }

    #[cold]
    fn traced(&self, kind: Kind, payload: &[u8], numbers: Numbers, decided: Option<&Decided>) -> Traced {
        let rule = match decided.and_then(|decided| decided.orders.as_ref()?.verdict.source) {
            Some(Source::Rule(id)) => Some(id),
            _ => None,
        };
        let text = match numbers {
            Numbers::Client => self.shown(kind, payload),
            Numbers::Server => self.shown_sent(kind, payload),
        };
        Traced {
            parent: self.parent(kind, payload, numbers),
            rule,
            waiting_since: None,
            shows_digest: !self.state.reading().shows_literals(text),
        }
    }

    /// The parent in the attributes of a command. A long one may not have all of them yet.
    fn parent(&self, kind: Kind, payload: &[u8], numbers: Numbers) -> Option<Parent> {
        let caps = self.capabilities();
        if !caps.contains(Capabilities::QUERY_ATTRIBUTES) {
            return None;
        }
        match kind {
            Kind::Query => parent_in(Query::decode(payload, caps).ok()?.attributes.iter()),
            Kind::StmtExecute => {
                let all = self.state.prepared.as_ref()?;
                let id = statement_id(payload)?;
                let id = match numbers {
                    Numbers::Client => id,
                    Numbers::Server => all.client_id_of(id, self.links.state()).unwrap_or(id),
                };
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
