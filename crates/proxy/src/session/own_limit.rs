//! A client that has set its own `wait_timeout`: a timer of the session's own ends it in time, as
//! servers do. The worker's sweep comes once in a second only.

use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use legs::phase::Phase;
use runtime::control::Signal;
use tokio::time::sleep;

use crate::ending::Ending;
use crate::session::cx::Cx;

impl Cx<'_> {
    /// Waits for the next command for as long as the client has said that it may be idle.
    pub(super) async fn read_in_time(&mut self) -> Result<Phase, Ending> {
        let control = Rc::clone(&self.entry.control);
        let mut timer = pin!(sleep(
            control.own_limit.get().map_or(Duration::MAX, |own| Duration::from_secs(own.seconds.into()))
        ));
        let mut is_over = false;
        poll_fn(|cx| {
            if !is_over && timer.as_mut().poll(cx).is_ready() {
                is_over = true;
                control.send(Signal::Timeout);
            }
            self.poll_command(cx)
        })
        .await
    }
}
