//! Connections to the readers of servers' binary logs (`mysql_servers.gtid_port`), each listened to
//! by a task of the monitor's thread.

use std::collections::{HashMap, HashSet};
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use config::{Endpoint, ServerStatus};
use monitor::{FeedError, LINE_BYTES_MAX};
use net::names::Blamed;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use upstream::{Configuration, Worker};

use crate::Watching;
use crate::executed::Executed;

/// Bytes that are read at once.
const READ_BYTES: usize = 16 * 1024;

/// A server, and where its reader is.
type Reader = (Endpoint, Endpoint);

/// Why a reader is not listened to any more.
#[derive(Debug, thiserror::Error)]
enum Lost {
    #[error("no connection within {} ms", .0.as_millis())]
    Late(Duration),
    #[error(transparent)]
    Broken(#[from] std::io::Error),
    #[error("it has closed the connection")]
    Closed,
    #[error("it said {0}")]
    Nonsense(#[from] FeedError),
    #[error("it said what is no text")]
    NotText,
    #[error("it said a line of more than {LINE_BYTES_MAX} bytes")]
    TooLong,
}

/// A task that ends with what holds it.
struct Listening(JoinHandle<()>);

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Listens to the readers that the configuration names, until there is nothing to be watched any
/// more.
pub(crate) async fn follow(worker: Rc<Worker>, watching: Arc<Watching>) {
    let mut news = watching.news.subscribe();
    let mut listening: HashMap<Reader, Listening> = HashMap::new();
    loop {
        if news.borrow_and_update().is_over {
            return;
        }
        let wanted = wanted(&worker.shared.configuration());
        listening.retain(|reader, _| wanted.contains(reader));
        watching.executed.keep(&wanted.iter().map(|(server, _)| server.clone()).collect());
        for reader in wanted {
            listening.entry(reader).or_insert_with_key(|reader| {
                let listen = listen(Rc::clone(&worker), Arc::clone(&watching), reader.clone());
                Listening(tokio::task::spawn_local(listen))
            });
        }
        if news.changed().await.is_err() {
            return;
        }
    }
}

/// The readers of all servers that have one. Of several for one server the first counts.
fn wanted(configuration: &Configuration) -> HashSet<Reader> {
    let mut servers = HashSet::new();
    let rows = configuration.config().servers.iter().filter(|row| row.status != ServerStatus::OfflineHard);
    rows.filter_map(|row| {
        let reader = row.gtid_reader()?;
        servers.insert(row.endpoint()).then(|| (row.endpoint(), reader))
    })
    .collect()
}

/// Listens to one reader for ever.
async fn listen(worker: Rc<Worker>, watching: Arc<Watching>, (server, reader): Reader) {
    let executed = &watching.executed;
    let mut complained = false;
    loop {
        executed.begin(&server, None);
        let mut has_received = false;
        let Err(lost) = hear(&worker, executed, &server, &reader, &mut has_received).await;
        executed.begin(&server, None);
        if has_received || !complained {
            complained = true;
            tracing::warn!(%server, %reader, %lost, "the reader of a server's GTIDs is lost; it is tried again");
        }
        sleep(worker.shared.configuration().variables.binlog_reader_connect_retry).await;
    }
}

/// Reads a reader's lines until it is lost. `has_received` becomes true with the first line.
async fn hear(
    worker: &Worker,
    executed: &Executed,
    server: &Endpoint,
    reader: &Endpoint,
    has_received: &mut bool,
) -> Result<std::convert::Infallible, Lost> {
    let settings = worker.settings();
    // The worker of this thread follows configurations only while there is something to be checked.
    let limit = worker.shared.configuration().variables.connect_timeout_server;
    let connecting = worker.dialer.connect(&worker.shared.names, reader, &settings, Blamed::Companion);
    let mut sock = timeout(limit, connecting).await.map_err(|_| Lost::Late(limit))??;
    executed.begin(server, sock.peer_ip());
    let mut bytes = Vec::new();
    loop {
        let begun = bytes.len();
        bytes.resize(begun + READ_BYTES, 0);
        let room = bytes.get_mut(begun..).unwrap_or_default();
        let n = poll_fn(|cx| sock.poll_read(cx, room)).await?;
        bytes.truncate(begun + n);
        if n == 0 {
            return Err(Lost::Closed);
        }
        let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') else {
            if bytes.len() > LINE_BYTES_MAX {
                return Err(Lost::TooLong);
            }
            continue;
        };
        let lines = std::str::from_utf8(bytes.get(..end).unwrap_or_default()).map_err(|_| Lost::NotText)?;
        let lines: Result<Vec<_>, _> =
            lines.lines().filter(|line| !line.is_empty()).map(str::parse).collect();
        executed.hear(server, lines?)?;
        *has_received = true;
        bytes.drain(..=end);
    }
}
