//! Ends of sessions that are in a state which cannot be.

use std::rc::Rc;

use observe::broken::Broken;
use session::identity::Identity;

use crate::ending::Ending;
use upstream::Backend;

/// The end of a session that is in a state which cannot be.
#[track_caller]
pub fn broken(what: &'static str) -> Ending {
    Ending::Broken(Broken::new(what))
}

/// An identity, to be changed, that nothing else holds.
#[track_caller]
pub fn own_mut(identity: &mut Rc<Identity>) -> Result<&mut Identity, Ending> {
    Rc::get_mut(identity).ok_or_else(|| broken("an identity that is changed is held twice"))
}

/// The connection that a command in progress has.
#[track_caller]
pub fn in_use(connection: Option<&Backend>) -> Result<&Backend, Ending> {
    match connection {
        Some(connection) => Ok(connection),
        None => Err(no_connection()),
    }
}

/// The same, to be changed.
#[track_caller]
pub fn in_use_mut(connection: &mut Option<Backend>) -> Result<&mut Backend, Ending> {
    match connection {
        Some(connection) => Ok(connection),
        None => Err(no_connection()),
    }
}

/// The end of a session of which a command in progress has no connection.
#[track_caller]
pub fn no_connection() -> Ending {
    broken("a command in progress has no connection")
}
