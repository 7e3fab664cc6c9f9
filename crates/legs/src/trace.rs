//! What is kept of the last statement for `SHOW POINTSMAN TRACE`: why it went where it went, and
//! where the time went. There is none unless the client has said `SET pointsman_trace = 1`.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use config::Endpoint;
use route::Explanation;
use serde::ser::{Serialize, SerializeMap as _, Serializer};

/// The trace of one session.
#[derive(Debug, Default)]
pub struct Trace(RefCell<Kept>);

/// What is known of the last statement.
#[derive(Debug, Default)]
struct Kept {
    explanation: Option<Explanation>,
    /// The hostgroup and the server that got it, as text.
    sent_to: Option<(u32, String)>,
    /// The times of [`Part::ALL`], as far as they were taken.
    took: [Option<Duration>; Part::ALL.len()],
    /// Since when the part that goes on now does.
    since: Option<Instant>,
}

/// A part of the way of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Waiting for what rules and limits want, and for a server that has room.
    Queue,
    /// Making a connection to it, with the login.
    Connect,
    /// Saying there what the client has set before, and what else must come first.
    Sync,
    /// From the statement to the first byte of its answer.
    Server,
    /// From there to the last byte.
    Relay,
}

impl Part {
    const ALL: [Self; 5] = [Self::Queue, Self::Connect, Self::Sync, Self::Server, Self::Relay];

    const fn name(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Connect => "connect",
            Self::Sync => "sync",
            Self::Server => "server",
            Self::Relay => "relay",
        }
    }

    const fn text(self) -> &'static str {
        match self {
            Self::Queue => "waiting for its turn, and for a server with room",
            Self::Connect => "connecting and logging in",
            Self::Sync => "settings and other things said there first",
            Self::Server => "from the statement to the first byte of the answer",
            Self::Relay => "from there to the last byte",
        }
    }
}

impl Trace {
    /// Another command has come.
    pub fn clear(&self) {
        *self.0.borrow_mut() = Kept::default();
    }

    /// It was decided where it goes.
    pub fn explained(&self, explanation: Option<Explanation>) {
        self.0.borrow_mut().explanation = explanation;
    }

    /// A part took so long, once more.
    pub fn add(&self, part: Part, took: Duration) {
        if let Some(sum) = self.0.borrow_mut().took.get_mut(part as usize) {
            *sum.get_or_insert_default() += took;
        }
    }

    /// The command is on its way to a server, since `now`.
    pub fn sent(&self, hostgroup: u32, server: &Endpoint, now: Instant) {
        let mut kept = self.0.borrow_mut();
        kept.sent_to = Some((hostgroup, server.to_string()));
        kept.since = Some(now);
    }

    /// A part of the answer has come.
    pub fn answers(&self, now: Instant) {
        self.0.borrow_mut().next(Part::Server, now);
    }

    /// The client has all of the answer.
    pub fn answered(&self, now: Instant) {
        self.0.borrow_mut().next(Part::Relay, now);
    }

    /// The rows of [`Explanation::rows`], and behind them those about the way. Nothing if there was
    /// no statement.
    pub fn rows(&self) -> Vec<[String; 3]> {
        let kept = self.0.borrow();
        let mut rows = kept.explanation.as_ref().map(Explanation::rows).unwrap_or_default();
        if let Some((hostgroup, server)) = &kept.sent_to {
            rows.push(["sent to".to_owned(), server.clone(), format!("hostgroup {hostgroup}")]);
        }
        for (part, took) in kept.times() {
            rows.push([part.name().to_owned(), format!("{} us", took.as_micros()), part.text().to_owned()]);
        }
        rows
    }

    /// The object of [`Explanation::json`] with the members `sent_to` and `times_us`; with these
    /// only if there was no statement.
    pub fn json(&self) -> String {
        // Keys are texts, so that nothing can fail.
        serde_json::to_string(&*self.0.borrow()).unwrap_or_default()
    }
}

impl Serialize for Kept {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        if let Some(explanation) = &self.explanation {
            explanation.members(&mut object)?;
        }
        object.serialize_entry("sent_to", &self.sent_to.as_ref().map(|(_, server)| server))?;
        object.serialize_entry("times_us", &Times(self))?;
        object.end()
    }
}

/// The times as an object, in microseconds.
struct Times<'a>(&'a Kept);

impl Serialize for Times<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let us = |took: Duration| u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        serializer.collect_map(self.0.times().map(|(part, took)| (part.name(), us(took))))
    }
}

impl Kept {
    /// `part` ends at `now`, if it has not ended before, and the next one begins.
    fn next(&mut self, part: Part, now: Instant) {
        if let (Some(took @ None), Some(since)) = (self.took.get_mut(part as usize), self.since) {
            *took = Some(now.saturating_duration_since(since));
            self.since = Some(now);
        }
    }

    fn times(&self) -> impl Iterator<Item = (Part, Duration)> {
        Part::ALL.into_iter().zip(self.took).filter_map(|(part, took)| Some((part, took?)))
    }
}
