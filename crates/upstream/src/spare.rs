//! An idle connection becomes that of a session that looks for one.

use crate::Worker;
use crate::acquire::{Found, note_got};
use crate::entry::Entry;
use crate::idle_state::Asker;
use crate::lend::{Lent, lend_at_once};
use crate::place::Place;

/// Gives `asker` an idle connection, if it is as the session needs it. If more has to be done
/// first, or it is of no use, the place comes back.
pub fn take_at_once(
    worker: &Worker,
    hostgroup: u32,
    entry: Box<Entry>,
    asker: &Asker<'_>,
) -> Result<Found, Place> {
    match lend_at_once(worker, entry, asker) {
        Ok(Lent::Ready(backend)) => {
            note_got(worker, hostgroup, Some(asker));
            Ok(Found { backend, is_lent: true })
        }
        Ok(_) => Err(Place::Useless),
        Err(entry) => Err(Place::Spare(entry)),
    }
}
