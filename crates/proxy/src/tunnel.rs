//! Layer 4: bytes are copied in both directions and nothing is looked at.
//!
//! Listeners with `protocol = "tcp"` work this way; a session does once a command never ends (a binary log
//! dump). It is also the floor that the benchmark measures everything else against.

use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll};

use crate::backend::{AcquireError, Backend, acquire};
use crate::control::{Control, Signal};
use crate::limits::FILLS_PER_TURN;
use crate::relay::Parked;
use crate::sock::Sock;
use crate::worker::Worker;

/// Connects a client of a layer-4 listener to a server of `hostgroup` and copies until either side closes.
pub(crate) async fn serve(worker: &Worker, control: &Control, mut client: Sock, hostgroup: u32) {
    let open = async |endpoint: &config::Endpoint| {
        Ok(worker.dialer.connect(endpoint, &worker.shared.variables).await?)
    };
    let mut backend = match control.until(Signal::Drain, acquire(worker, hostgroup, open)).await {
        Ok(Ok(backend)) => backend,
        Ok(Err(AcquireError::Proxy(error))) => {
            return tracing::warn!(%error, "a layer-4 client got no server");
        }
        Ok(Err(AcquireError::Server(_))) | Err(_) => return,
    };
    copy(worker, control, &mut client, &mut backend).await;
}

/// Copies until both directions have ended, one is broken, or the worker says stop.
pub(crate) async fn copy(worker: &Worker, control: &Control, client: &mut Sock, backend: &mut Backend) {
    control.set_tunnel();
    let mut up = Direction::default();
    let mut down = Direction::default();
    let both = poll_fn(|cx| {
        let mut scratch = worker.scratch.borrow_mut();
        let up = up.poll(cx, &mut scratch, client, backend.connection_mut());
        let down = down.poll(cx, &mut scratch, backend.connection_mut(), client);
        match (up, down) {
            (Err(_), _) | (_, Err(_)) | (Ok(Flow::Ended), Ok(Flow::Ended)) => Poll::Ready(()),
            _ => Poll::Pending,
        }
    });
    // A signal means that the time is up: there is nothing to say at layer 4.
    let _ = control.until(Signal::Stop, both).await;
}

/// One direction of a tunnel.
#[derive(Debug, Default)]
struct Direction {
    parked: Parked,
    ended: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Flow {
    Open,
    Ended,
}

impl Direction {
    /// Copies what there is; leaves wakers wherever it has to wait.
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        scratch: &mut [u8],
        from: &mut Sock,
        to: &mut Sock,
    ) -> io::Result<Flow> {
        for _ in 0..FILLS_PER_TURN {
            if self.ended {
                return Ok(Flow::Ended);
            }
            if !self.parked.is_empty() && self.parked.poll_flush(cx, to)?.is_pending() {
                return Ok(Flow::Open);
            }
            match from.poll_read(cx, scratch)? {
                Poll::Pending => return Ok(Flow::Open),
                Poll::Ready(0) => {
                    to.shutdown_write()?;
                    self.ended = true;
                }
                Poll::Ready(n) => self.parked.send(cx, to, scratch.get(..n).unwrap_or_default())?,
            }
        }
        // There may be more: let others run first, then come back.
        cx.waker().wake_by_ref();
        Ok(Flow::Open)
    }
}
