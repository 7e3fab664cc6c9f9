//! How a session ends: what its client and its servers are told before it, and what becomes of its
//! connections when the client has said goodbye.

use std::future::poll_fn;
use std::task::Poll;

use legs::entry::BookEntry;
use legs::facts::endings::last_words;
use legs::facts::leases::leave_nothing_running;
use legs::idle::make_idle;
use legs::io::Io;
use legs::leg::Leg;
use upstream::QUIT;

use crate::ending::Ending;
use crate::session::own::refuse_too_large;

/// The client has said goodbye: what nothing binds to it is for others, the rest ends.
pub(super) async fn leave_servers(entry: &BookEntry, io: &mut Io, leg: &mut Leg) {
    // Nothing that it has sent behind it counts.
    io.backlog.clear();
    make_idle(entry, io, leg);
    // What a full socket does not take now is not worth waiting for.
    if leg.links.in_use.is_some() {
        let _ = poll_fn(|cx| Poll::Ready(leg.links.send(cx, &QUIT))).await;
    }
    leg.links.part_with_others();
}

/// What an ending comes to, once the client and the server have been told what they are to be
/// told before it.
pub(super) async fn end_of(entry: &BookEntry, io: &mut Io, leg: &mut Leg, ending: Ending) -> Ending {
    match ending {
        Ending::TooLarge(command) => Box::pin(refuse_too_large(entry, io, leg, command)).await,
        Ending::BackendSpoke { answer_seq } => Box::pin(last_words(entry, leg, answer_seq)).await,
        Ending::ClientLeft => {
            leave_nothing_running(entry, leg);
            Ending::ClientLeft
        }
        ending => ending,
    }
}
