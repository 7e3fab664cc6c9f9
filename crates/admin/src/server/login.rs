//! The login of an admin: greeting, TLS if asked for, proof, OK. The same for `COM_CHANGE_USER`.

use std::net::IpAddr;
use std::time::Duration;

use net::random;
use tokio::time::timeout;
use wire::auth::{Credential, NONCE_LEN, as_server, native};
use wire::command::ChangeUser;
use wire::{Capabilities, Codec as _, packet};

use super::connection::{Connection, Peer, ReceiveError};
use super::rows::{COLLATION, STATUS};
use super::shared::Shared;
use super::trail::Trail;
use crate::accounts::Account;
use crate::answer::AdminError;
use crate::limits::LOGIN_TIME_MAX;
use crate::tries::Try;
use crate::who::{Rights, Who};

/// What the admin port can do. It has no prepared statements, no compression and one statement at a
/// time.
const OFFERED: Capabilities = Capabilities::PROTOCOL_41
    .union(Capabilities::LONG_PASSWORD)
    .union(Capabilities::FOUND_ROWS)
    .union(Capabilities::LONG_FLAG)
    .union(Capabilities::CONNECT_WITH_DB)
    .union(Capabilities::INTERACTIVE)
    .union(Capabilities::TRANSACTIONS)
    .union(Capabilities::SECURE_CONNECTION)
    .union(Capabilities::PLUGIN_AUTH)
    .union(Capabilities::PLUGIN_AUTH_LENENC)
    .union(Capabilities::CONNECT_ATTRS)
    .union(Capabilities::DEPRECATE_EOF);

/// A client that is logged in.
pub(super) struct LoggedIn {
    pub(super) connection: Connection,
    pub(super) who: Who,
    pub(super) nonce: [u8; NONCE_LEN],
    pub(super) trail: Trail,
}

/// What a client claims: the parts that a login and a change of the user have in common.
struct Claim<'a> {
    user: &'a [u8],
    plugin: Option<&'a [u8]>,
    answer: &'a [u8],
    /// The method that the greeting has offered; `None` for `COM_CHANGE_USER`.
    offered: Option<&'static str>,
}

impl Claim<'_> {
    /// Whether it comes with `COM_CHANGE_USER`.
    const fn is_change(&self) -> bool {
        self.offered.is_none()
    }
}

/// Logs a client in; nothing if it is gone or was told why not.
pub(super) async fn login(shared: &Shared, connection: Connection, trail: Trail) -> Option<LoggedIn> {
    timeout(LOGIN_TIME_MAX, converse(shared, connection, trail)).await.ok().flatten()
}

async fn converse(shared: &Shared, mut connection: Connection, mut trail: Trail) -> Option<LoggedIn> {
    let nonce = random::nonce();
    let settings = shared.settings.borrow().clone();
    let tls = shared.plane.tls();
    let mut offered = OFFERED;
    offered.set(Capabilities::SSL, tls.is_some());
    let greeting = packet::Greeting {
        server_version: settings.server_version.as_bytes(),
        connection_id: trail.id(),
        nonce,
        capabilities: offered,
        collation: COLLATION,
        status: STATUS,
        auth_plugin: native::NAME.as_bytes(),
    };
    connection.ask(&greeting.encode(offered)).await.ok()?;
    let mut payload = receive(&mut connection).await?;
    let asks =
        payload.len() == packet::SslRequest::LEN && packet::SslRequest::decode(&payload, offered).is_ok();
    if let Some(tls) = tls.filter(|_| asks) {
        connection = connection.start_tls(tls).await?;
        trail.note_tls();
        payload = receive(&mut connection).await?;
    }
    let packet = match packet::Login::decode(&payload, offered) {
        Ok(packet) => packet,
        Err(error) => {
            connection.send_off(&bad_handshake(&error)).await;
            return None;
        }
    };
    connection.capabilities = packet.capabilities;
    let claim = Claim {
        user: packet.username,
        plugin: packet.auth_plugin,
        answer: packet.auth_answer,
        offered: Some(native::NAME),
    };
    let who = check(shared, &mut connection, &claim, nonce, &trail).await?;
    trail.note_user(&who.user, false);
    connection.send_ok("").await.ok()?;
    connection.allow_statements(who.rights);
    Some(LoggedIn { connection, who, nonce, trail })
}

/// Logs in anew; nothing if that fails, which ends the connection.
pub(super) async fn change_user(shared: &Shared, client: &mut LoggedIn, payload: &[u8]) -> Option<()> {
    let connection = &mut client.connection;
    let packet = match ChangeUser::decode(payload, connection.capabilities) {
        Ok(packet) => packet,
        Err(error) => {
            connection.send_off(&bad_handshake(&error)).await;
            return None;
        }
    };
    let claim = Claim {
        user: packet.username,
        plugin: packet.auth_plugin,
        answer: packet.auth_answer,
        offered: None,
    };
    let checking = check(shared, connection, &claim, client.nonce, &client.trail);
    client.who = timeout(LOGIN_TIME_MAX, checking).await.ok().flatten()?;
    client.trail.note_user(&client.who.user, true);
    connection.send_ok("").await.ok()?;
    connection.allow_statements(client.who.rights);
    Some(())
}

async fn receive(connection: &mut Connection) -> Option<Vec<u8>> {
    match connection.receive(LOGIN_TIME_MAX).await {
        Ok(payload) => Some(payload),
        Err(ReceiveError::Gone | ReceiveError::Late) => None,
        Err(ReceiveError::Malformed(error)) => {
            connection.send_off(&bad_handshake(&error)).await;
            None
        }
    }
}

/// Checks a claim, asking the client for more where its method needs it; nothing if it was refused.
async fn check(
    shared: &Shared,
    connection: &mut Connection,
    claim: &Claim<'_>,
    nonce: [u8; NONCE_LEN],
    trail: &Trail,
) -> Option<Who> {
    let settings = shared.settings.borrow().clone();
    let attempt = match Try::begin(shared.engine.tries(), connection.peer.counted_as()).await {
        Ok(attempt) => attempt,
        Err(left) => {
            let error = too_many(left);
            trail.note_refusal(claim.user, claim.is_change(), &error.message);
            connection.send_off(&error).await;
            return None;
        }
    };
    let known = settings.accounts.find(claim.user);
    let account = settings.accounts.usable(claim.user, connection.peer.is_local());
    let given = !matches!(claim.answer, [] | [0]);
    if prove(connection, account, claim, nonce).await? {
        attempt.succeeded();
        // Proven, so there is one.
        return Some(who(account?, connection.peer));
    }
    drop(attempt);
    // Not many: who has the password wrong too often is not asked for it any more.
    tracing::warn!(peer = %connection.peer, user = %claim.user.escape_ascii(), "a login to the admin port was refused");
    let error = access_denied(claim.user, connection.peer, given);
    let only_local = known.filter(|_| account.is_none()).map(|known| local_only(&known.user));
    trail.note_refusal(claim.user, claim.is_change(), only_local.as_deref().unwrap_or(&error.message));
    connection.send_off(&error).await;
    None
}

/// Whether the client is the one of `account`; nothing if it is gone. Unknown users are asked like
/// known ones.
async fn prove(
    connection: &mut Connection,
    account: Option<&Account>,
    claim: &Claim<'_>,
    nonce: [u8; NONCE_LEN],
) -> Option<bool> {
    let decoy = Credential::Clear(random::bytes::<NONCE_LEN>().to_vec());
    let terms = as_server::Terms {
        credential: account.map_or(&decoy, |account| &account.credential),
        additional: None,
        digest: None,
        wants_password: false,
        nonce,
        long_nonce: random::bytes(),
        transport: connection.transport(),
        offered: claim.offered,
    };
    let (mut login, mut step) = as_server::begin(&terms, claim.plugin, claim.answer);
    loop {
        match step {
            as_server::ServerStep::Send(payload) => {
                connection.ask(&payload).await.ok()?;
                let answer = receive(connection).await?;
                // A hash takes thousands of rounds, during which this thread would serve no client.
                let judged =
                    tokio::task::spawn_blocking(move || login.message(&answer).map(|step| (login, step)));
                match judged.await.ok()? {
                    Ok(next) => (login, step) = next,
                    Err(error) => {
                        connection.send_off(&bad_handshake(&error)).await;
                        return None;
                    }
                }
            }
            as_server::ServerStep::Accept(accepted) => {
                if let Some(first) = accepted.send_first {
                    connection.ask(&first).await.ok()?;
                }
                return Some(account.is_some());
            }
            // Only a stored hash of `caching_sha2_password` asks for the password unencrypted:
            // there is TLS for that.
            as_server::ServerStep::SendPublicKey
            | as_server::ServerStep::Decrypt(_)
            | as_server::ServerStep::Refuse
            | as_server::ServerStep::RefuseUnprotected => return Some(false),
        }
    }
}

fn who(account: &Account, peer: Peer) -> Who {
    let address: Option<IpAddr> = match peer {
        Peer::Tcp(address) => Some(address.ip()),
        Peer::Local => None,
    };
    Who { user: account.user.clone(), rights: account.rights, address }
}

fn bad_handshake(error: &wire::WireError) -> AdminError {
    AdminError { code: 1043, state: *b"08S01", message: format!("Bad handshake: {error}") }
}

/// Why a login was refused, for the audit log alone.
fn local_only(user: &str) -> String {
    format!("User '{user}' can only connect locally")
}

/// What is said before the password is looked at.
fn too_many(left: Duration) -> AdminError {
    let seconds = left.as_secs().saturating_add(1);
    AdminError {
        code: 1129,
        state: *b"HY000",
        message: format!("Too many logins, or too many wrong ones: try again in {seconds} s"),
    }
}

fn access_denied(user: &[u8], peer: Peer, password_given: bool) -> AdminError {
    let user = String::from_utf8_lossy(user);
    let using = if password_given { "YES" } else { "NO" };
    AdminError {
        code: 1045,
        state: *b"28000",
        message: format!(
            "ProxySQL Error: Access denied for user '{user}'@'{peer}' (using password: {using})"
        ),
    }
}

impl Connection {
    /// Sends an OK packet with this message.
    pub(super) async fn send_ok(&mut self, info: &str) -> std::io::Result<()> {
        let packet = packet::Ok { info: info.as_bytes(), ..packet::Ok::plain(STATUS) };
        let payload = packet.encode(self.capabilities);
        let mut out = Vec::new();
        wire::frame::put_message(&mut out, self.next_seq(), &payload);
        self.send(&out).await
    }
}

/// Whether an account with these rights may give orders.
pub(super) const fn session_type(rights: Rights) -> &'static str {
    match rights {
        Rights::Admin => "PROXYSQL_SESSION_ADMIN",
        Rights::Stats => "PROXYSQL_SESSION_STATS",
    }
}
