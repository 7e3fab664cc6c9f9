//! What others are told of a session: its row in lists of sessions, and what it needs its
//! connection for.

use std::time::Duration;

use tokio::time::Instant;
use wire::command::Kind;

use super::{Activity, Control};
use crate::holders::Holder;
use crate::state::Pin;
use observe::rows::SessionStats;

impl Control {
    /// The session as a row of a list, at `now`.
    pub fn row(&self, worker: u16, now: Instant) -> SessionStats {
        let running = self.running.show();
        let (command, since) = self.doing(running.as_ref().map(|(kind, since, _)| (*kind, *since)), now);
        let mut row = SessionStats {
            worker,
            id: self.id,
            user: String::new(),
            schema: None,
            client: None,
            hostgroup: 0,
            local: None,
            server: None,
            command,
            time: now.saturating_duration_since(since),
            statement: running.and_then(|(_, _, text)| text),
            pin: self.pinned(now).map(|(pin, time)| (pin.name(), time)),
            transaction: self.transaction_since.get().map(|since| now.saturating_duration_since(since)),
            extended: None,
        };
        self.about.fill(&mut row);
        row
    }

    /// What the session does, in ProxySQL's words, and its pin if it waits for its client.
    pub fn state(&self, now: Instant) -> (&'static str, Option<&'static str>) {
        let running = self.running.kind().zip(self.running.since());
        (self.doing(running, now).0, self.pin.get().map(Pin::name))
    }

    /// The same, where a command of this kind is `running` since then, and since when.
    fn doing(&self, running: Option<(Kind, Instant)>, now: Instant) -> (&'static str, Instant) {
        match (self.activity.get(), running) {
            (Activity::Login, _) => ("Connecting client", self.created),
            (Activity::Tunnel(_), _) => ("Fast forward", self.created),
            (_, Some((_, since))) if self.delayed.get() => ("Delay", since),
            (_, Some((_, since))) if self.about.hostgroup().is_none() => ("Connect", since),
            (_, Some((kind, since))) => (command(kind), since),
            (Activity::Idle(since) | Activity::Slow(since), None) => ("Sleep", since),
            (Activity::Busy, None) => ("Query", now),
        }
    }

    /// What the session needs its connection to this hostgroup for, if it has one, and for how
    /// long. Where connections are `shared`, one that waits for its client without a pin needs
    /// none. What only itself knows of other hostgroups that it was in before is not told.
    pub fn holds(&self, hostgroup: u32, shared: bool, now: Instant) -> Option<Holder> {
        let user = self.about.user_with_server_in(hostgroup)?;
        let since = |since: Instant| now.saturating_duration_since(since);
        let running = || self.running.since().map(|begun| ("statement", since(begun)));
        let pinned = || self.pinned(now).map(|(pin, time)| (pin.name(), time));
        let transaction = || self.transaction_since.get().map(|begun| ("transaction", since(begun)));
        let whole = || match self.activity.get() {
            Activity::Idle(_) | Activity::Slow(_) if shared => None,
            Activity::Idle(idle) | Activity::Slow(idle) => Some(("session", since(idle))),
            Activity::Login | Activity::Busy | Activity::Tunnel(_) => Some(("session", self.age(now))),
        };
        let (reason, time) = pinned().or_else(transaction).or_else(running).or_else(whole)?;
        Some(Holder { session: self.id, user, reason, time })
    }

    /// What binds the session to its connection, and for how long it has.
    fn pinned(&self, now: Instant) -> Option<(Pin, Duration)> {
        let since = Duration::from_millis(self.pinned_ms.get().into());
        self.pin.get().map(|pin| (pin, self.age(now).saturating_sub(since)))
    }
}

/// What ProxySQL's list of sessions calls a session that runs such a command.
const fn command(kind: Kind) -> &'static str {
    match kind {
        Kind::StmtPrepare => "Prepare",
        Kind::StmtExecute | Kind::StmtBulkExecute => "Execute",
        Kind::InitDb => "InitDB",
        Kind::ResetConnection => "Resetting connection",
        _ => "Query",
    }
}
