//! What becomes of a session's connections to servers when its client has said goodbye.

use std::future::poll_fn;
use std::task::Poll;

use upstream::QUIT;

use super::cx::Cx;

impl Cx<'_> {
    /// The client has said goodbye: what nothing binds to it is for others, the rest ends.
    pub(super) async fn leave_servers(&mut self) {
        // Nothing that it has sent behind it counts.
        self.io.backlog.clear();
        self.make_idle();
        // What a full socket does not take now is not worth waiting for.
        if self.leg.links.in_use.is_some() {
            let _ = poll_fn(|cx| Poll::Ready(self.leg.links.send(cx, &QUIT))).await;
        }
        self.leg.links.part_with_others();
    }
}
