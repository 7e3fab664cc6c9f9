//! What runs a command: parts of a session, for as long as that takes.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use super::client::Client;
use super::entry::BookEntry;
use super::io::Io;
use super::leg::Leg;
use crate::control::Control;
use crate::sock::Input;

/// The client, where its session runs, and what the session has at the place where its command
/// runs: at home, or at a shard.
#[derive(Debug)]
pub(super) struct Cx<'a> {
    pub(super) entry: &'a BookEntry,
    pub(super) io: &'a mut Io,
    pub(super) leg: &'a mut Leg,
}

impl Cx<'_> {
    /// The command in the backlog is the flight's, for as long as the leg does something for it.
    pub(super) fn lend_command(&mut self) {
        self.leg.flight.begin().front = std::mem::take(&mut self.io.backlog);
    }

    /// It is in the backlog again.
    pub(super) fn take_command_back(&mut self) {
        self.io.backlog = std::mem::take(&mut self.leg.flight.begin().front);
    }
}

/// Does something for a command. While it waits, the client is looked at: it may leave.
pub(super) async fn watched<T>(
    control: &Control,
    client: &mut Client,
    mut work: Pin<&mut impl Future<Output = T>>,
) -> T {
    poll_fn(|cx| {
        loop {
            let done = work.as_mut().poll(cx);
            if done.is_ready() || !control.watch.is_asked() {
                return done;
            }
            control.watch.answer(client.poll_input(cx) == Poll::Ready(Input::End));
        }
    })
    .await
}
