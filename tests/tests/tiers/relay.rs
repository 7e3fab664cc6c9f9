//! A port that stays the same while what is behind it is started anew elsewhere. The first binary
//! log that passes it may come late.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep_until};

/// `COM_BINLOG_DUMP` and `COM_BINLOG_DUMP_GTID`.
const DUMPS: [u8; 2] = [0x12, 0x1e];

/// Passes connections on. It ends with the runtime.
#[derive(Debug)]
pub(crate) struct Relay {
    port: u16,
    target: Arc<Mutex<SocketAddr>>,
}

/// Bytes, and when they are passed on.
type Later = (Instant, Vec<u8>);

impl Relay {
    /// Starts one in front of this target.
    pub(crate) async fn start(target: SocketAddr) -> Self {
        Self::with_late_log(target, Duration::ZERO).await
    }

    /// The same; the first binary log comes so late.
    pub(crate) async fn with_late_log(target: SocketAddr, late: Duration) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let target = Arc::new(Mutex::new(target));
        let (now, has_log) = (Arc::clone(&target), Arc::new(AtomicBool::new(false)));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let target = *now.lock().unwrap_or_else(PoisonError::into_inner);
                tokio::spawn(pass(client, target, late, Arc::clone(&has_log)));
            }
        });
        Self { port, target }
    }

    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// New connections go there.
    pub(crate) fn lead_to(&self, target: SocketAddr) {
        *self.target.lock().unwrap_or_else(PoisonError::into_inner) = target;
    }
}

/// Passes a connection on; what comes behind the first command for a log comes late.
async fn pass(client: TcpStream, target: SocketAddr, late: Duration, has_log: Arc<AtomicBool>) {
    let Ok(server) = TcpStream::connect(target).await else { return };
    client.set_nodelay(true).unwrap();
    server.set_nodelay(true).unwrap();
    let ((mut from_client, to_client), (from_server, mut to_server)) =
        (client.into_split(), server.into_split());
    let is_late = Arc::new(AtomicBool::new(false));
    let (later, due) = unbounded_channel();
    tokio::spawn(delay(from_server, later, late, Arc::clone(&is_late)));
    tokio::spawn(deliver(due, to_client));
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = match from_client.read(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(n) => &buffer[..n],
        };
        if matches!(read, [_, _, _, 0, command, ..] if DUMPS.contains(command))
            && !has_log.swap(true, Ordering::Relaxed)
        {
            is_late.store(true, Ordering::Relaxed);
        }
        if to_server.write_all(read).await.is_err() {
            return;
        }
    }
}

async fn delay(
    mut from: OwnedReadHalf,
    to: UnboundedSender<Later>,
    late: Duration,
    is_late: Arc<AtomicBool>,
) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(n @ 1..) = from.read(&mut buffer).await {
        let late = if is_late.load(Ordering::Relaxed) { late } else { Duration::ZERO };
        if to.send((Instant::now() + late, buffer[..n].to_vec())).is_err() {
            return;
        }
    }
}

async fn deliver(mut from: UnboundedReceiver<Later>, mut to: OwnedWriteHalf) {
    while let Some((at, bytes)) = from.recv().await {
        sleep_until(at).await;
        if to.write_all(&bytes).await.is_err() {
            return;
        }
    }
}
