//! The end of a connection to a server: `COM_QUIT`.

use std::task::{Context, Poll, Waker};

use wire::command::Kind;
use wire::frame::HEADER_LEN;

use crate::{Backend, Connection};

/// A goodbye, `COM_QUIT`, as it is sent to a server. Without it the server would count and log an
/// aborted connection; it does not answer it.
pub const QUIT: [u8; HEADER_LEN + 1] = [1, 0, 0, 0, Kind::Quit as u8];

/// Ends a connection. What a full socket does not take of the goodbye now is not worth waiting for.
pub fn part(mut backend: Backend) {
    backend.connection_mut().part();
}

impl Connection {
    /// Ends it, as [`part`] does.
    pub fn part(&mut self) {
        let _: Poll<_> = self.sock_mut().poll_write(&mut Context::from_waker(Waker::noop()), &QUIT);
    }

    /// Ends it once the goodbye was sent. Whether the server hears it changes nothing.
    pub async fn quit(mut self) {
        let _ = self.sock_mut().write_all(&QUIT).await;
    }
}
