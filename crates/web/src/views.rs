//! The views: functions from what was read to JSON.

mod config;
mod digests;
mod errors;
mod head;
mod now;
mod scene;
mod servers;
mod sessions;
mod slow;

pub(crate) use self::config::config;
pub(crate) use self::digests::{Digests, Listed};
pub(crate) use self::errors::Errors;
pub(crate) use self::head::head;
pub(crate) use self::now::now;
pub(crate) use self::scene::Scene;
pub(crate) use self::servers::servers;
pub(crate) use self::sessions::{COLUMNS as SESSION_COLUMNS, chosen as chosen_sessions, sessions, sorted};
pub(crate) use self::slow::{Slow, unwatched};
