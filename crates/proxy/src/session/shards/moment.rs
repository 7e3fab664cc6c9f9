//! One time for a change at several servers, which have clocks of their own.
//!
//! Statements ask for it by `NOW()` and the like, and columns by their defaults. Servers take the
//! variable `timestamp` for it. It is set behind the beginning of a transaction or behind a
//! savepoint, so that the connection is the one of the change, and taken back before their end.

use std::time::{Duration, SystemTime};

use legs::facts::asking::ask_text;
use legs::shards::role::Inner;

use crate::error::ClientError;
use crate::session::shards::done::Halt;

/// Takes the time of a change back.
const ENDS: &str = "SET timestamp = DEFAULT";

/// The time of a change, since 1970.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment(Duration);

impl Moment {
    /// Now.
    pub(super) fn now() -> Self {
        Self(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default())
    }

    /// Lets the server of an inner session take this for the time.
    pub(super) async fn begin(self, inner: &mut Inner) -> Result<(), Halt> {
        let Self(since) = self;
        say(inner, &format!("SET timestamp = {}.{:06}", since.as_secs(), since.subsec_micros())).await
    }

    /// Lets the server go by its own clock again.
    pub(super) async fn end(self, inner: &mut Inner) -> Result<(), Halt> {
        say(inner, ENDS).await
    }
}

/// Has a server hear a statement over the connection in use. It is none of the session's settings:
/// those are the client's.
async fn say(inner: &mut Inner, text: &str) -> Result<(), Halt> {
    let leg = &mut *inner.leg;
    if leg.links.in_use.is_none() {
        let part = "a change at several servers";
        return Err(ClientError::not_sharded(part, "its time cannot be set").into());
    }
    leg.links.hide_last_result(&mut leg.state);
    let reply = ask_text(&inner.entry, leg, text.as_bytes()).await;
    leg.flight.end_try();
    Halt::of_reply(&reply?.bytes)
}
