//! Ends of sessions that are in a state which cannot be.

use observe::broken::Broken;

use crate::ending::Ending;
use upstream::Backend;

/// The end of a session that is in a state which cannot be.
#[track_caller]
pub(crate) fn broken(what: &'static str) -> Ending {
    Ending::Broken(Broken::new(what))
}

/// The connection that a command in progress has.
#[track_caller]
pub(crate) fn in_use(connection: Option<&Backend>) -> Result<&Backend, Ending> {
    match connection {
        Some(connection) => Ok(connection),
        None => Err(no_connection()),
    }
}

/// The same, to be changed.
#[track_caller]
pub(crate) fn in_use_mut(connection: &mut Option<Backend>) -> Result<&mut Backend, Ending> {
    match connection {
        Some(connection) => Ok(connection),
        None => Err(no_connection()),
    }
}

/// The end of a session of which a command in progress has no connection.
#[track_caller]
pub(crate) fn no_connection() -> Ending {
    broken("a command in progress has no connection")
}
