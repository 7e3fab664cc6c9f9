//! What the audit log is told of one client of the admin port.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::time::Instant;

use super::connection::Peer;
use super::shared::Shared;
use crate::plane::{AdminDid, AdminEvent, DataPlane};

/// One client's way through the port. Dropped, it says that the connection has ended.
pub(super) struct Trail {
    plane: Arc<dyn DataPlane>,
    id: u32,
    client: Option<SocketAddr>,
    began: Instant,
    user: String,
    tls: bool,
}

impl Trail {
    /// Of a client that has connected and gets this id.
    pub(super) fn new(shared: &Shared, id: u32, peer: Peer) -> Self {
        let client = match peer {
            Peer::Tcp(address) => Some(address),
            Peer::Local => None,
        };
        let plane = Arc::clone(&shared.plane);
        Self { plane, id, client, began: Instant::now(), user: String::new(), tls: false }
    }

    /// The connection's id.
    pub(super) const fn id(&self) -> u32 {
        self.id
    }

    /// The client uses TLS from now on.
    pub(super) const fn note_tls(&mut self) {
        self.tls = true;
    }

    /// The client is in as this user; `again` if it was in before as another one.
    pub(super) fn note_user(&mut self, user: &str, again: bool) {
        user.clone_into(&mut self.user);
        self.note(if again { AdminDid::ChangeUser } else { AdminDid::Connect }, String::new());
    }

    /// The client was refused as this user, and told why.
    pub(super) fn note_refusal(&self, user: &[u8], again: bool, why: String) {
        let did = if again { AdminDid::FailToChangeUser } else { AdminDid::FailToConnect };
        let user = String::from_utf8_lossy(user).into_owned();
        self.plane.audit(&AdminEvent { user, ..self.event(did, why) });
    }

    /// The client says goodbye.
    pub(super) fn note_quit(&self) {
        self.note(AdminDid::Quit, String::new());
    }

    fn note(&self, did: AdminDid, why: String) {
        self.plane.audit(&self.event(did, why));
    }

    fn event(&self, did: AdminDid, why: String) -> AdminEvent {
        let Self { id, client, tls, .. } = *self;
        AdminEvent { did, id, user: self.user.clone(), client, tls, age: self.began.elapsed(), why }
    }
}

impl Drop for Trail {
    fn drop(&mut self) {
        self.note(AdminDid::Leave, String::new());
    }
}
