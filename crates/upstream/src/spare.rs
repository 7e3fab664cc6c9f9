//! An idle connection becomes that of a session that looks for one.

use std::rc::Rc;
use std::sync::Arc;

use tokio::time::Instant;

use crate::OpenError;
use crate::Worker;
use crate::acquire::{Blame, Found, note_failure, note_got, while_of_use};
use crate::entry::Entry;
use crate::failures::{ACCOUNT_FULL, AcquireError, Failed, Why, no_answer};
use crate::idle_state::Asker;
use crate::lend::{Lent, lend, lend_at_once};
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

/// What has come of an idle connection.
pub(crate) enum Spare {
    /// It is the asker's.
    Lent(Found),
    /// It is of no use.
    Useless,
    /// Its server has not answered, or not let the client in.
    Failed(Failed),
}

/// Makes an idle connection that of `asker`.
pub(crate) async fn lend_spare(
    worker: &Rc<Worker>,
    entry: Box<Entry>,
    asker: &Asker<'_>,
    deadline: Instant,
) -> Result<Spare, AcquireError> {
    let server = Arc::clone(entry.backend.server());
    let limit = worker.settings().variables.connect_timeout_server;
    let lent = match lend_at_once(worker, entry, asker) {
        Ok(lent) => Ok(lent),
        // Boxed: most need no answer, and all that wait for a connection carry this.
        Err(entry) => {
            let lending = lend(worker, entry, asker, deadline);
            Box::pin(while_of_use(worker, &server, lending)).await
        }
    };
    let why = match lent {
        Ok(Lent::Ready(backend)) => return Ok(Spare::Lent(Found { backend, is_lent: true })),
        Ok(Lent::Useless) | Err(_) => return Ok(Spare::Useless),
        // At a change of user servers count the connection twice. It has ended with that, and there
        // is room for another one.
        Ok(Lent::NotAdmitted(OpenError::Refused { code, .. })) if ACCOUNT_FULL.contains(&code) => {
            return Ok(Spare::Useless);
        }
        Ok(Lent::Refused(payload)) => return Err(AcquireError::Server(payload)),
        Ok(Lent::NotAdmitted(error)) => Why::Said(error),
        Ok(Lent::Late) => {
            note_failure(worker, &server, Some(Blame::Silence), &no_answer(limit));
            Why::Late(limit)
        }
    };
    Ok(Spare::Failed(Failed { target: server.endpoint().clone(), why }))
}
