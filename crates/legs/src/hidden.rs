//! Replies that their clients may not get, because their statements are sent once more.

use std::rc::Rc;

use reply::withhold::Withhold;
use tokio::time::Instant;
use wire::reply::Outcome;

/// A statement that was refused.
#[derive(Debug)]
pub struct Refused {
    /// The command, if it may be sent again.
    pub command: Option<Vec<u8>>,
    /// What the client gets if nothing else comes of it.
    pub answer: Vec<u8>,
    /// The end of that.
    pub outcome: Outcome,
    /// It is a prepared statement that is to be prepared again.
    pub renews: bool,
    /// It was sent together with others, and is sent again alone.
    pub is_alone: bool,
}

impl Refused {
    /// A statement that was sent together with others, and has ended like this: it is sent again
    /// with this command.
    pub fn alone(command: Vec<u8>, outcome: Outcome) -> Self {
        Self { command: Some(command), answer: Vec::new(), outcome, renews: false, is_alone: true }
    }
}

/// A statement that may go out together with others, from when it waits for a connection to the end
/// of its answer.
#[derive(Debug)]
pub struct Batched {
    pub(crate) digest: u64,
    /// The packets of its command, if it may go out together with others.
    pub command: Option<Rc<[u8]>>,
    /// When it was sent, or its turn came.
    pub begun: Option<Instant>,
    /// Its reply, which is withheld if it was sent together with others.
    pub reply: Withhold,
    /// It has ended with an error or warnings.
    pub is_marred: bool,
}
