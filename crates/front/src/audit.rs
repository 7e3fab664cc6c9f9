//! What the audit log is told of clients: who has come, was refused, has chosen a schema, and has
//! left.
//!
//! Nothing here costs anything where there is no audit log, and nothing waits where there is one.

use config::MysqlVariables;
use querylog::{AuditEvent, AuditRecord, Port};
use tokio::time::Instant;
use wire::{Capabilities, Codec as _, packet};

use crate::ending::Ending;
use crate::handle::{ClientHandle, Signal};
use crate::shared::Shared;
use crate::worker::Worker;
use net::clock::unix_us;
use session::error::ClientError;
use wire::Peer;

/// A client that is not logged in, or not as the user that it wants to be.
#[derive(Debug, Clone, Copy)]
pub struct Stranger<'a> {
    /// The id that it was told; 0: none yet.
    pub id: u32,
    /// Where it connects from.
    pub peer: &'a Peer,
    /// The user that it wants to be.
    pub user: &'a [u8],
    /// The schema that it asks for.
    pub schema: &'a [u8],
    /// Whether it uses TLS.
    pub tls: bool,
}

/// A session did something: what is known of it goes into the record.
pub fn note(worker: &Worker, client: &impl ClientHandle, event: AuditEvent) {
    if audits(&worker.upstream.settings().variables) {
        offer(&worker.shared, of_session(client, event));
    }
}

/// A session, or a login that has come to nothing, is over.
pub fn note_end(worker: &Worker, client: &impl ClientHandle, ending: Option<&Ending>) {
    note_close(worker, client, || reason(client, ending));
}

/// A client has not logged in in its time.
pub(crate) fn note_late_login(worker: &Worker, client: &impl ClientHandle) {
    note_close(worker, client, || "it has not logged in in time".to_owned());
}

fn note_close(worker: &Worker, client: &impl ClientHandle, why: impl FnOnce() -> String) {
    if audits(&worker.upstream.settings().variables) {
        let mut record = of_session(client, AuditEvent::Close(Port::Traffic));
        record.extra = why().into();
        let lifetime = client.age(Instant::now()).as_micros();
        record.lifetime_us = Some(u64::try_from(lifetime).unwrap_or(u64::MAX));
        offer(&worker.shared, record);
    }
}

/// A client was refused, and told this.
pub fn note_refusal(
    worker: &Worker,
    event: AuditEvent,
    stranger: &Stranger<'_>,
    told: impl FnOnce() -> Option<String>,
) {
    if audits(&worker.upstream.settings().variables) {
        offer(&worker.shared, of_stranger(event, stranger, told().unwrap_or_default()));
    }
}

/// A client got no place.
pub(crate) fn note_turned_away(shared: &Shared, peer: &Peer, error: Option<&ClientError>) {
    if audits(&shared.upstream.configuration().variables) {
        let stranger = Stranger { id: 0, peer, user: &[], schema: &[], tls: false };
        let told = error.map_or_else(
            || "too many connections from there have failed".to_owned(),
            |error| error.logged().to_string(),
        );
        offer(shared, of_stranger(AuditEvent::ConnectErr(Port::Traffic), &stranger, told));
    }
}

/// Whether clients that come and go are logged.
fn audits(variables: &MysqlVariables) -> bool {
    !variables.auditlog_filename.is_empty()
}

fn offer(shared: &Shared, record: AuditRecord) {
    // One that is dropped is counted.
    shared.logs.audit.offer_audit(Box::new(record));
}

fn of_session(client: &impl ClientHandle, event: AuditEvent) -> AuditRecord {
    let mut record = AuditRecord::of(event, unix_us(), client.id());
    client.about().describe_client(&mut record);
    record
}

fn of_stranger(event: AuditEvent, stranger: &Stranger<'_>, told: String) -> AuditRecord {
    let mut record = AuditRecord::of(event, unix_us(), stranger.id);
    (record.client, record.proxy) = ends(stranger.peer);
    record.user = stranger.user.into();
    record.schema = stranger.schema.into();
    record.tls = stranger.tls;
    record.extra = told.into();
    record
}

/// The client's address and the one that it has connected to, as the log has them; empty for a Unix
/// socket.
pub(crate) fn ends(peer: &Peer) -> (Box<str>, Box<str>) {
    match peer {
        Peer::Tcp(addresses) => {
            let text = |mut address: std::net::SocketAddr| {
                address.set_ip(address.ip().to_canonical());
                address.to_string().into()
            };
            (text(addresses.source()), text(addresses.destination()))
        }
        Peer::Local => Default::default(),
    }
}

/// Why a session has ended; empty if its client said goodbye.
fn reason(client: &impl ClientHandle, ending: Option<&Ending>) -> String {
    let of_signal = match client.signal() {
        Signal::None => None,
        Signal::Drain | Signal::Stop => Some("the proxy ends, or the server is taken out of service"),
        Signal::Kill => Some("it was killed"),
        Signal::Timeout => Some("it has done nothing, or held a transaction, for too long"),
    };
    if client.has_quit() {
        return String::new();
    }
    let told = ending.and_then(Ending::packets).and_then(error_in);
    let otherwise = match ending {
        Some(Ending::ClientLeft) => "the client has gone without a goodbye",
        Some(Ending::Broken(_)) => "a defect of the proxy",
        Some(Ending::Silent) => "an answer was cut, or the client was too slow",
        _ => "",
    };
    told.unwrap_or_else(|| of_signal.unwrap_or(otherwise).to_owned())
}

/// The message of an error packet with its header.
pub fn error_in(packet: &[u8]) -> Option<String> {
    refusal_in(packet.get(wire::frame::HEADER_LEN..)?)
}

/// The message of an error packet without its header.
pub fn refusal_in(payload: &[u8]) -> Option<String> {
    let has_state = payload.get(3) == Some(&b'#');
    let capabilities = if has_state { Capabilities::PROTOCOL_41 } else { Capabilities::empty() };
    let error = packet::Err::decode(payload, capabilities).ok()?;
    Some(format!("{}: {}", error.code, String::from_utf8_lossy(error.message)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_was_told_is_read_from_its_packet() {
        for (capabilities, code) in [(Capabilities::PROTOCOL_41, 1053), (Capabilities::empty(), 1053)] {
            let packet = ClientError::Shutdown.to_packet(1, capabilities);
            let told = error_in(&packet).unwrap();
            assert!(told.starts_with(&format!("{code}: ")), "{told}");
        }
        assert_eq!(error_in(b"\x01\0\0\x01\0"), None);
        assert_eq!(error_in(b"\x01"), None);
    }
}
