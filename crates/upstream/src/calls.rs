//! What connections to servers need of those who use them: the calls upwards.

use std::fmt::{Debug, Display};
use std::pin::Pin;
use std::sync::Arc;

use config::Endpoint;
use pool::Quota;

/// The monitor, as far as it is told what is found of servers by connecting to them.
pub trait Doubts: Debug + Send + Sync {
    /// Connecting to this server of a hostgroup has failed so often that it is shunned.
    fn shunned(&self, hostgroup: u32, server: &Endpoint, why: &dyn Display);
}

/// The workers of the proxy, as they reach each other: for the rare moment when one needs what
/// another one could do without. None of the calls waits.
pub trait Siblings: Debug + Send + Sync {
    /// A session waits for a server of this hostgroup: each worker ends an idle connection there.
    fn make_room(&self, hostgroup: u32);

    /// A session waits for one of these connections of its user: each worker ends an idle one.
    fn make_room_among(&self, quota: &Arc<Quota>);

    /// Servers are of no use any more: the sessions of each worker look whether they have
    /// connections to them.
    fn recall(&self);
}

/// The sessions of all workers.
pub trait Holders: Debug {
    /// Says which sessions have the connections of a hostgroup, and what for; an empty text if
    /// none has one.
    fn of(&self, hostgroup: u32) -> Pin<Box<dyn Future<Output = String> + '_>>;
}

/// Avoids servers that a session takes only if there is no other.
pub trait Avoid: Debug {
    /// Whether this is such a server.
    fn avoids(&self, server: &Endpoint) -> bool;
}
