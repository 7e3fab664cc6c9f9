//! A way to a server on which questions of the proxy and the server's log can be held back.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use e2e::WAIT_MAX;

/// `COM_BINLOG_DUMP`, behind the header of the first packet of a command.
const DUMP: [u8; 2] = [0, 0x12];

/// How often it is looked whether a question has come.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// Bytes that are passed on at once.
const CHUNK: usize = 64 * 1024;

/// What is held back, and what is known of it.
#[derive(Debug, Default)]
struct State {
    /// A question with this text, of the account that follows the log.
    question: Option<&'static str>,
    /// Such a question has come.
    is_asked: bool,
    /// What the log tells.
    is_log_held: bool,
}

/// The state, and that it has changed.
#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_while(&self, is_so: impl FnMut(&mut State) -> bool) {
        let waited = self.changed.wait_timeout_while(self.state(), WAIT_MAX, is_so);
        let (state, late) = waited.unwrap_or_else(PoisonError::into_inner);
        drop(state);
        assert!(!late.timed_out(), "nothing happens at the gate");
    }
}

/// Takes connections at a port of its own. It ends with the process.
#[derive(Debug)]
pub(crate) struct Gate {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl Gate {
    /// Starts one in front of this server, for the account `watch`.
    pub(crate) fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::<Shared>::default();
        let gate = Self { address, shared: Arc::clone(&shared) };
        std::thread::spawn(move || {
            for proxy in listener.incoming().map_while(Result::ok) {
                connect(server, proxy, &shared).unwrap_or_else(|error| panic!("{server}: {error}"));
            }
        });
        gate
    }

    pub(crate) const fn port(&self) -> u16 {
        self.address.port()
    }

    /// Holds the next question with this text back, and all with it.
    pub(crate) fn hold_question(&self, text: &'static str) {
        let mut state = self.shared.state();
        (state.question, state.is_asked) = (Some(text), false);
    }

    /// Waits until it has come.
    pub(crate) async fn wait_for_question(&self) {
        let deadline = tokio::time::Instant::now() + WAIT_MAX;
        while !self.shared.state().is_asked {
            assert!(tokio::time::Instant::now() < deadline, "it is not asked");
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
    }

    /// Passes questions on.
    pub(crate) fn pass_question(&self) {
        self.shared.state().question = None;
        self.shared.changed.notify_all();
    }

    /// Holds back what the log tells, or passes it on.
    pub(crate) fn hold_log(&self, is_held: bool) {
        self.shared.state().is_log_held = is_held;
        self.shared.changed.notify_all();
    }
}

/// Connects a proxy with the server.
fn connect(server: SocketAddr, proxy: TcpStream, shared: &Arc<Shared>) -> io::Result<()> {
    let server = TcpStream::connect(server)?;
    proxy.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from_proxy, to_server) = (proxy.try_clone()?, server.try_clone()?);
    let is_log = Arc::new(AtomicBool::new(false));
    let (asks, tells) = (Arc::clone(shared), Arc::clone(shared));
    let is_logged = Arc::clone(&is_log);
    std::thread::spawn(move || {
        let mut is_watch = false;
        pass(&from_proxy, &to_server, |bytes| {
            let has = |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
            is_watch |= has("watch\0");
            if bytes.get(3..5) == Some(&DUMP) {
                is_logged.store(true, Ordering::SeqCst);
            }
            let mut state = asks.state();
            if is_watch && state.question.is_some_and(has) {
                state.is_asked = true;
                drop(state);
                asks.wait_while(|state| state.question.is_some());
            }
        });
    });
    std::thread::spawn(move || {
        pass(&server, &proxy, |_| {
            if is_log.load(Ordering::SeqCst) {
                tells.wait_while(|state| state.is_log_held);
            }
        });
    });
    Ok(())
}

/// Passes bytes on, each time behind `wait`, until an end has gone.
fn pass(mut from: &TcpStream, mut to: &TcpStream, mut wait: impl FnMut(&[u8])) {
    let mut buffer = vec![0; CHUNK];
    while let Ok(n @ 1..) = from.read(&mut buffer) {
        let bytes = &buffer[..n];
        wait(bytes);
        if to.write_all(bytes).is_err() {
            break;
        }
    }
    // One that has ended before does not matter.
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}
