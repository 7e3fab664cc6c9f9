//! Connections that are opened before a statement needs them, where a hostgroup wants some
//! (`connection_warming`, `min_idle_connections`).
//!
//! A connection has a user, a character set and abilities of the protocol, so there has to be a
//! client first: they are opened as for the one whose session got one last. One after the other, so
//! that no server has to let many in at once.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use pool::{Ahead, Permit, Server, Share};
use route::Caller;
use session::identity::Identity;
use tokio::time::{Instant, sleep};

use crate::Worker;
use crate::acquire::{Attempt, attempt};
use crate::failures::Why;
use crate::idle_state::Left;
use crate::limits::GUEST_REFUSED;
use crate::whom::Full;
use crate::{OpenError, PoolKey, Target, Times, open_in};

/// For whom connections are opened, by hostgroup.
#[derive(Debug, Default)]
pub(crate) struct Warmth {
    kinds: RefCell<HashMap<u32, Kind>>,
    /// Servers that have refused a user: others may log in before this one is tried there again.
    refused: RefCell<Vec<Refused>>,
}

/// A server that has not let a user in.
#[derive(Debug)]
struct Refused {
    user: Box<[u8]>,
    server: u64,
    when: Instant,
}

/// What connections of a hostgroup are like that are opened ahead.
#[derive(Debug)]
struct Kind {
    guest: Rc<Guest>,
    /// A task is opening some.
    is_busy: bool,
}

/// The client that they log in as.
#[derive(Debug)]
struct Guest {
    identity: Box<Identity>,
    pool_key: Rc<PoolKey>,
    /// A caller without a schema.
    caller: Arc<Caller>,
}

impl Guest {
    fn user(&self) -> &[u8] {
        &self.identity.account.user.name
    }
}

impl Warmth {
    /// Whether this server has refused the guest's user a short time ago: servers lock an account
    /// after too many refused logins.
    fn is_refused_by(&self, server: u64, guest: &Guest) -> bool {
        let mut refused = self.refused.borrow_mut();
        refused.retain(|one| one.when.elapsed() < GUEST_REFUSED);
        refused.iter().any(|one| one.server == server && *one.user == *guest.user())
    }

    fn note_refused(&self, server: u64, guest: &Guest) {
        let refused = Refused { user: guest.user().into(), server, when: Instant::now() };
        self.refused.borrow_mut().push(refused);
    }

    /// A client has got a connection of this hostgroup.
    pub(crate) fn note(&self, worker: &Worker, hostgroup: u32, client: &Identity) {
        if !worker.settings().warms(hostgroup) {
            return;
        }
        let pool_key = PoolKey::new(client);
        let mut kinds = self.kinds.borrow_mut();
        if kinds.get(&hostgroup).is_some_and(|kind| kind.guest.pool_key.hash() == pool_key.hash()) {
            return;
        }
        let identity = client.for_others(worker.shared.connection_id());
        let caller = Arc::new(Caller::new(&identity.account.user.name, b"", "", 0));
        let is_busy = kinds.get(&hostgroup).is_some_and(|kind| kind.is_busy);
        let guest = Guest { identity, pool_key: Rc::new(pool_key), caller };
        kinds.insert(hostgroup, Kind { guest: Rc::new(guest), is_busy });
    }

    /// Opens missing connections, and forgets those for which no hostgroup asks any more.
    pub(crate) fn sweep(&self, worker: &Rc<Worker>) {
        let mut kinds = self.kinds.borrow_mut();
        kinds.retain(|hostgroup, kind| is_wanted(worker, *hostgroup, &kind.guest));
        for (hostgroup, kind) in kinds.iter_mut().filter(|(_, kind)| !kind.is_busy) {
            kind.is_busy = true;
            let (worker, hostgroup, guest) = (Rc::clone(worker), *hostgroup, Rc::clone(&kind.guest));
            tokio::task::spawn_local(async move {
                warm(&worker, hostgroup, &guest).await;
                if let Some(kind) = worker.warmth.kinds.borrow_mut().get_mut(&hostgroup) {
                    kind.is_busy = false;
                }
            });
        }
    }
}

/// Whether the hostgroup has connections opened ahead, and this is still a user as whom that may
/// be.
fn is_wanted(worker: &Worker, hostgroup: u32, guest: &Guest) -> bool {
    let (settings, user) = (worker.settings(), &guest.identity.account.user);
    settings.warms(hostgroup) && Arc::ptr_eq(user, &settings.users.find(&user.name))
}

/// Opens connections until there are enough, as far as they can be opened.
async fn warm(worker: &Rc<Worker>, hostgroup: u32, guest: &Guest) {
    let shared = &worker.shared;
    // Servers to which none can be opened now: the others get theirs all the same.
    let mut failed = Vec::new();
    while is_wanted(worker, hostgroup, guest) && !worker.is_draining() {
        let settings = worker.settings();
        let is_passed_over = |server: &Server<Target>| {
            failed.contains(&server.id())
                || worker.warmth.is_refused_by(server.id(), guest)
                // No other client could use a connection to a server that was told whom it is for.
                || settings.announced.contains(&server.endpoint().endpoint)
        };
        let resting = |server: &Server<Target>| {
            if is_passed_over(server) { u32::MAX } else { worker.kept.resting_at(hostgroup, server.id()) }
        };
        // Before there is a permit: one that is not used was counted as a connection of its second.
        let Some(share) = guest.identity.account.user.backends().take() else { return };
        let account = Some(guest.identity.account.user.account());
        let ahead = Ahead { workers: u32::from(shared.workers), account, resting };
        match shared.pool.open_ahead(hostgroup, &ahead, shared.uptime()) {
            Ok(permit) => {
                let server = permit.server().id();
                if let Err(why) = add(worker, hostgroup, guest, permit, share).await {
                    if is_refusal(&why) {
                        worker.warmth.note_refused(server, guest);
                    }
                    failed.push(server);
                }
            }
            Err(Some(later)) => {
                drop(share);
                sleep(later).await;
            }
            Err(None) => return,
        }
    }
}

/// Whether a server has something against the guest, and may have it the next time.
const fn is_refusal(why: &Why) -> bool {
    matches!(why, Why::Said(OpenError::Refused { .. } | OpenError::Login(_)))
}

/// Opens one, and keeps it for the session that needs it first.
async fn add(
    worker: &Rc<Worker>,
    hostgroup: u32,
    guest: &Guest,
    permit: Permit<Target>,
    share: Share,
) -> Result<(), Why> {
    let Guest { identity, pool_key, caller, .. } = guest;
    let settings = worker.settings();
    let open = async |target: &Target| open_in(worker, hostgroup, target, identity).await;
    let times = Times::of(&settings.variables);
    let how =
        Attempt { deadline: Instant::now() + times.attempt, times, full: Full::TryAgain, has_more: true };
    let mut backend = attempt(worker, permit, how, &open).await.map_err(|failed| failed.why)?;
    let link = backend.connection_mut();
    link.set_share(Some(share));
    link.leave();
    let left = Left {
        caller: Arc::clone(caller),
        settings: Rc::default(),
        was_reset: false,
        asks: false,
        results: Rc::default(),
        asking: None,
    };
    worker.kept.make_idle(worker, hostgroup, pool_key, identity.peer, backend, left);
    Ok(())
}
