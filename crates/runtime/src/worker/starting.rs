//! Starting a worker.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use slab::Slab;
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::Instant;

use super::{Inbox, Message, Registered, Worker};
use crate::cached::Cached;
use crate::catalog::Catalog;
use crate::clock::unix_s;
use crate::followed::Followed;
use crate::holders::Asked;
use crate::holders::ask::Sessions;
use crate::interning::Interned;
use crate::limits::{KILLS_MAX, PREPARED_BYTES_OF_ALL_MAX};
use crate::log_limit::Logged;
use crate::mirror::Mirrors;
use crate::random::Dice;
use crate::relations::Relations;
use crate::routing::Routing;
use crate::shared::Shared;
use crate::texts::Texts;
use front::Arrival;
use observe::running::Shown;
use upstream::descriptors::Purpose;
use upstream::ledger::Ledger;
use upstream::{Dialer, Local};

/// Starts a worker thread; it ends when all senders of its inbox are gone or it has drained.
/// `serving` makes, on that thread, what makes the tasks of its clients.
pub fn spawn<S, F>(
    index: u16,
    shared: Arc<Shared>,
    serving: impl FnOnce() -> S + Send + 'static,
) -> std::io::Result<(Inbox, std::thread::JoinHandle<()>)>
where
    S: Fn(Registered, Arrival) -> F,
    F: Future<Output = ()> + 'static,
{
    let (sender, receiver) = mpsc::unbounded_channel();
    let sessions = Arc::new(AtomicUsize::new(0));
    let weak = sender.downgrade();
    let inbox = Inbox::new(sender, Arc::clone(&sessions));
    let runtime = move || Builder::new_current_thread().enable_all().build_local(LocalOptions::default());
    let (ready, outcome) = std::sync::mpsc::sync_channel(1);
    let thread = std::thread::Builder::new().name(format!("worker-{index}")).spawn(move || {
        let runtime = match runtime() {
            Ok(runtime) => runtime,
            Err(error) => return drop(ready.send(Err(error))),
        };
        let (dice, dialer) = (Dice::new(), Dialer::Network(Purpose::Server));
        let worker = runtime.block_on(async { Worker::new((index, dice, dialer), shared, sessions, weak) });
        let _ = ready.send(Ok(()));
        runtime.block_on(worker.run(receiver, serving()));
    })?;
    match outcome.recv() {
        Ok(outcome) => outcome.map(|()| (inbox, thread)),
        Err(_) => Err(std::io::Error::other("the worker thread ended before it was ready")),
    }
}

impl Worker {
    /// The worker with this number.
    pub fn new(
        (index, dice, dialer): (u16, Dice, Dialer),
        shared: Arc<Shared>,
        sessions: Arc<AtomicUsize>,
        inbox: mpsc::WeakUnboundedSender<Message>,
    ) -> Rc<Self> {
        let snapshot = shared.snapshot();
        let net = net::Local::new(Some(shared.front.keys.clone()));
        shared.siblings.add(inbox.clone());
        let share = PREPARED_BYTES_OF_ALL_MAX / usize::from(shared.upstream.workers.max(1));
        let ledger = Ledger::new(shared.statement_hash.clone());
        let worker = Rc::new_cyclic(|worker| {
            let (configuration, holders) =
                (Arc::clone(&snapshot.upstream), Box::new(Sessions(worker.clone())));
            let upstream = Arc::clone(&shared.upstream);
            let upstream = upstream::Worker::new(upstream, configuration, net, dice, dialer, holders);
            let upstream = Rc::new(upstream);
            Self {
                routing: RefCell::new(Routing::new(&snapshot.routes)),
                settings: RefCell::new(Rc::new(Local(snapshot))),
                front: front::Worker::new(Arc::clone(&shared.front), Rc::clone(&upstream)),
                shared,
                net: Rc::clone(&upstream.net),
                index,
                counts: Rc::clone(&upstream.counts),
                followed: Followed::default(),
                shown: Shown::default(),
                dice: Rc::clone(&upstream.dice),
                returns: Cell::new(0),
                samplers: Default::default(),
                logged: Logged::default(),
                is_tracing: Cell::default(),
                has_shards: Cell::default(),
                shards: Catalog::default(),
                unix_s: Cell::new(unix_s()),
                controls: RefCell::new(Slab::new()),
                sessions,
                drain: Cell::new(None),
                cut_off: Cell::new(false),
                due: Cell::new(Instant::now()),
                inbox,
                kills: Semaphore::new(KILLS_MAX),
                mirrors: Mirrors::default(),
                held: Asked::default(),
                texts: Texts::new(share),
                ledger,
                interned: Interned::default(),
                relations: Relations::default(),
                cached: Cached::default(),
                upstream,
            }
        });
        worker.configure_digests();
        worker.configure_commands();
        worker
    }
}
