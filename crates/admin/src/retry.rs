//! When a listener that cannot be had is tried again.
//!
//! A port may be in use for a while only: by the process that this one replaces, which serves its
//! last clients, or by a program that was started just now, which holds a copy of every socket
//! until it has begun.

use std::io;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::limits::{LISTEN_AGAIN, LISTEN_NOW_PAUSE, LISTEN_NOW_TRIES};
use crate::settings::Settings;

/// Why a listener looks again at the variables that name its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wake {
    /// They have changed.
    Changed,
    /// A listener was missing, and [`LISTEN_AGAIN`] has passed.
    Again,
    /// The admin engine has ended: they cannot change any more.
    Over,
}

/// Waits for `settings` to change, and no longer than [`LISTEN_AGAIN`] where a listener is
/// `missing`.
pub(crate) async fn wake(settings: &mut watch::Receiver<Arc<Settings>>, missing: bool) -> Wake {
    let changed = if missing {
        match timeout(LISTEN_AGAIN, settings.changed()).await {
            Ok(changed) => changed,
            Err(_) => return Wake::Again,
        }
    } else {
        settings.changed().await
    };
    changed.map_or(Wake::Over, |()| Wake::Changed)
}

/// Does `bind` until its address is free, [`LISTEN_NOW_TRIES`] times at most.
///
/// # Errors
///
/// As the last `bind`.
pub(crate) async fn while_in_use(mut bind: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    let mut outcome = bind();
    for _ in 1..LISTEN_NOW_TRIES {
        if !matches!(&outcome, Err(error) if error.kind() == io::ErrorKind::AddrInUse) {
            break;
        }
        sleep(LISTEN_NOW_PAUSE).await;
        outcome = bind();
    }
    outcome
}
