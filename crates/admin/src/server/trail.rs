//! What the audit log is told of one client of the admin port.

use std::net::SocketAddr;
use std::sync::Arc;

use net::clock::unix_us;
use observe::micros;
use observe::plane::DataPlane;
use querylog::{AuditEvent, AuditRecord, Port};
use tokio::time::Instant;

use super::connection::Peer;
use super::shared::Shared;

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
        self.note(if again { AuditEvent::ChangeUserOk } else { AuditEvent::ConnectOk }, user.as_bytes(), "");
    }

    /// The client was refused as this user, and told why.
    pub(super) fn note_refusal(&self, user: &[u8], again: bool, why: &str) {
        let user = String::from_utf8_lossy(user);
        let event = if again { AuditEvent::ChangeUserErr } else { AuditEvent::ConnectErr };
        self.note(event, user.as_bytes(), why);
    }

    /// The client says goodbye.
    pub(super) fn note_quit(&self) {
        self.note(AuditEvent::Quit, self.user.as_bytes(), "");
    }

    fn note(&self, event: fn(Port) -> AuditEvent, user: &[u8], why: &str) {
        let event = event(Port::Admin);
        self.plane.audit(AuditRecord {
            user: user.into(),
            client: self.client.map(|client| client.to_string()).unwrap_or_default().into(),
            tls: self.tls,
            extra: why.into(),
            lifetime_us: matches!(event, AuditEvent::Close(_)).then(|| micros(self.began.elapsed())),
            ..AuditRecord::of(event, unix_us(), self.id)
        });
    }
}

impl Drop for Trail {
    fn drop(&mut self) {
        self.note(AuditEvent::Close, self.user.as_bytes(), "");
    }
}
