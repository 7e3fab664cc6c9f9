//! What becomes of a session's connections to servers when its client has said goodbye.

use std::future::poll_fn;
use std::task::Poll;

use upstream::QUIT;

use crate::session::entry::BookEntry;
use crate::session::idle::make_idle;
use crate::session::io::Io;
use crate::session::leg::Leg;

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
