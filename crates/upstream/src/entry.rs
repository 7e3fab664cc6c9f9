//! An idle connection: whether it is of use, and for which sessions.

use std::rc::Rc;

use observe::broken::Broken;
use observe::counts::report::address;
use observe::rows::FreeConnection;
use tokio::time::{Instant, timeout};
use wire::Peer;
use wire::StatusFlags;

use crate::Backend;
use crate::Worker;
use crate::idle_state::{Left, Wish};
use crate::key::Key;
use crate::last_id::ask_results;
use crate::pool_key::PoolKey;
use crate::quit::part;
use crate::unhealthy;

/// An idle connection.
#[derive(Debug)]
pub struct Entry {
    pub(crate) pool_key: Rc<PoolKey>,
    /// The client whose session made it idle.
    pub(crate) peer: Peer,
    pub(crate) backend: Backend,
    pub(crate) left: Left,
    /// When its server has answered last, or it was seen to be well.
    pub(crate) last_answer: Instant,
}

impl Entry {
    pub(crate) fn key(&self) -> Key {
        Key { pool_key: self.pool_key.hash(), hostgroup: self.backend.server().hostgroup() }
    }

    /// Whether a session waits for a server of its hostgroup, or for a connection of its user.
    pub(crate) fn is_awaited(&self) -> bool {
        let quota = self.backend.connection().quota();
        self.backend.waiting() > 0 || quota.is_some_and(|quota| quota.waiting() > 0)
    }

    /// Whether the configuration still holds that the connection was opened under.
    pub(crate) fn is_valid(&self, worker: &Worker) -> bool {
        let server = self.backend.server();
        let link = self.backend.connection();
        link.version == worker.version()
            && link.packet_limit == server.endpoint().packet_limit()
            && !server.is_off()
            && !server.is_late()
    }

    /// Whether its server has more connections than it may have by now. Only another configuration
    /// brings that about.
    pub(crate) fn is_surplus(&self, worker: &Worker) -> bool {
        self.backend.connection().version != worker.version() && self.backend.server().has_surplus()
    }

    pub(crate) fn row(&self, now: Instant) -> FreeConnection {
        let (server, caller) = (self.backend.server(), &self.left.caller);
        let (host, port) = address(&server.endpoint().endpoint);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        FreeConnection {
            fd: self.backend.connection().sock().fd(),
            hostgroup: server.hostgroup(),
            host,
            port,
            user: text(caller.user()),
            schema: Some(text(caller.schema())).filter(|schema| !schema.is_empty()),
            idle: now.saturating_duration_since(self.last_answer),
        }
    }

    /// Whether a session with this wish may have it. What is passed over for new connections is
    /// so for these, too.
    pub(crate) fn is_good_for(&self, worker: &Worker, wish: &Wish) -> bool {
        let server = self.backend.server();
        // Some servers have been told whom a connection is for.
        let is_announced = || worker.settings().announced.contains(&server.endpoint().endpoint);
        self.is_valid(worker)
            && server.lends(|| worker.shared.uptime_at(self.last_answer))
            && (!wish.in_no_schema || self.left.caller.schema().is_empty())
            && self.pool_key == wish.pool_key
            && (self.peer == wish.peer || !is_announced())
    }

    /// Whether statements of several sessions may go out together over it.
    pub(crate) fn may_take_along(&self) -> bool {
        let link = self.backend.connection();
        let status = link.state().status;
        // Sessions that take ages out do not go along.
        link.may_pipeline()
            && !link.tells_ages()
            && status.contains(StatusFlags::AUTOCOMMIT)
            && !status.contains(StatusFlags::IN_TRANSACTION)
    }

    /// It goes to another session.
    pub(crate) fn leave(&mut self) {
        self.backend.connection().set_resting(false);
        self.left.begin_asking(self.backend.connection().serial());
    }

    /// Whether the server neither has closed the connection nor says anything over it. If it does,
    /// that is logged.
    pub(crate) fn is_well(&mut self, worker: &Worker) -> bool {
        // The session that takes it looks again: no task has to be woken.
        let input = self.backend.connection_mut().input();
        if let Some(input) = input {
            unhealthy::log(worker, &self.backend, input.into());
        }
        input.is_none()
    }

    /// Closes it, because it is in a state that cannot be: `what` says in which.
    #[track_caller]
    pub(crate) fn end_broken(self, worker: &Worker, what: &'static str) {
        drop(self.backend);
        Broken::new(what).note(&worker.counts);
    }

    /// Ends it. What its session may still ask is asked before.
    pub(crate) fn end(mut self, worker: &Rc<Worker>) {
        self.leave();
        if self.left.is_free() {
            return part(self.backend);
        }
        let worker = Rc::clone(worker);
        tokio::task::spawn_local(async move {
            let Self { pool_key, mut backend, left, .. } = self;
            let limit = worker.settings().variables.connect_timeout_server;
            if let Ok(Ok(())) =
                timeout(limit, ask_results(&worker, backend.connection_mut(), pool_key.capabilities(), &left))
                    .await
            {
                part(backend);
            }
        });
    }
}
