//! What a client is told whose session ends, or loses a server.

use crate::control::Control;
use crate::counted::note_own_error;
use crate::ending::Ending;
use crate::error::{ClientError, Gone};
use crate::session::state::{Past, SessionState};
use crate::sock::garbled;
use crate::worker::Worker;
use session::link::Loss;
use upstream::Backend;
use upstream::Progress;

/// The session ends in an answer. Between two packets of it the client can be told why; within
/// one, anything said would look like a part of it.
pub(in crate::session) fn told_if(
    worker: &Worker,
    control: &Control,
    state: &SessionState,
    reply: Progress,
    error: &ClientError,
) -> Ending {
    if reply.is_between_packets {
        told(worker, control, state, error, reply.next_seq)
    } else {
        Ending::Silent
    }
}

/// The session ends with this error.
pub(in crate::session) fn told(
    worker: &Worker,
    control: &Control,
    state: &SessionState,
    error: &ClientError,
    seq: u8,
) -> Ending {
    note_own_error(worker, control, error);
    Ending::tell(error, seq, state.identity.capabilities)
}

/// Reading from the client has failed. What is not the protocol it is told, in the place of the
/// answer `seq`.
pub(in crate::session) fn unreadable(
    worker: &Worker,
    control: &Control,
    state: &SessionState,
    error: &std::io::Error,
    seq: u8,
) -> Ending {
    match garbled(error) {
        Some(error) => interrupted(worker, control, state, &ClientError::malformed(error), seq),
        None => Ending::ClientLeft,
    }
}

/// The session ends with this error although the client may be in the middle of sending.
pub(in crate::session) fn interrupted(
    worker: &Worker,
    control: &Control,
    state: &SessionState,
    error: &ClientError,
    seq: u8,
) -> Ending {
    note_own_error(worker, control, error);
    Ending::interrupt(error, seq, state.identity.capabilities)
}

/// A connection that was released is of no use any more.
pub(in crate::session) fn lose_other(
    worker: &Worker,
    control: &Control,
    state: &mut SessionState,
    other: &Backend,
    gone: Gone,
) -> Result<(), Ending> {
    let server = other.server().endpoint();
    match state.loss_of(other) {
        Loss::Nothing => {}
        Loss::Transaction => {
            state.transaction.rolled_back = Some(Box::new(ClientError::transaction_lost(server, gone)));
        }
        Loss::Session(pin) => {
            return Err(told(worker, control, state, &ClientError::session_lost(server, gone, pin), 1));
        }
    }
    state.past.remove(Past::IN_TRANSACTION);
    Ok(())
}
