//! Statements that take longer than they may: they are killed at their server. The client hears why
//! ([`errors`](reply::errors)).
//!
//! What a rule or a hint allows is kept to the millisecond, by a timer beside the answer. What
//! `mysql-default_query_timeout` allows the worker looks after once in a second, so that other
//! statements need no timer.

use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;

use tokio::time::{Instant, sleep_until};

use crate::ending::Ending;
use crate::session::cx::Cx;

impl Cx<'_> {
    /// Relays answers as [`relay_answers`](Self::relay_answers) does; if they are not there by
    /// `deadline` the statement is killed.
    pub(super) async fn relay_until(&mut self, deadline: Instant, seq: u8) -> Result<(), Ending> {
        let (worker, control) = (Rc::clone(&self.entry.worker), Rc::clone(&self.entry.control));
        let mut timer = pin!(sleep_until(deadline));
        let mut is_over = false;
        let mut relaying = pin!(self.relay_answers(seq));
        poll_fn(|cx| {
            if !is_over && timer.as_mut().poll(cx).is_ready() {
                is_over = true;
                control.end_overdue(Instant::now(), worker.settings().variables.default_query_timeout);
            }
            relaying.as_mut().poll(cx)
        })
        .await
    }
}
