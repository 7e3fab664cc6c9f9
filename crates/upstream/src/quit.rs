//! The end of a connection to a server: `COM_QUIT`.

use std::task::{Context, Poll, Waker};

use wire::command::Kind;
use wire::frame::HEADER_LEN;

use crate::Backend;

/// A goodbye, `COM_QUIT`, as it is sent to a server. Without it the server would count and log an
/// aborted connection; it does not answer it.
pub const QUIT: [u8; HEADER_LEN + 1] = [1, 0, 0, 0, Kind::Quit as u8];

/// Ends a connection. Without a goodbye the server would count and log an aborted one; what a full
/// socket does not take of it now is not worth waiting for.
pub fn part(mut backend: Backend) {
    let _: Poll<_> =
        backend.connection_mut().sock_mut().poll_write(&mut Context::from_waker(Waker::noop()), &QUIT);
}
