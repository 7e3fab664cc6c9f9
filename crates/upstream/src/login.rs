//! Logging in to a server on behalf of a client.
//!
//! The server sees the client's own user, charset, attributes and capabilities, so that what it
//! answers is what the client would have got from it directly.

use std::io;

use net::exchange::Exchange;
use net::keys;
use net::random;
use net::sock::Sock;
use net::sock::tls::HandshakeError;
use observe::counts::Counter;
use session::identity::Identity;
use session::tier;
use session::users::{Options, User};
use sql::Dialect;
use wire::auth::{Credential, Secret, as_client};
use wire::compress::{Method, Peer};
use wire::{Capabilities, Codec as _, command, packet};

use crate::Worker;
use crate::connection::Greeted;
use crate::{Connection, OpenError, Target};

/// Capabilities that change what the server sends or how it reads statements: a client that has
/// chosen one of these cannot be served by a server without it.
const MUST_MATCH: Capabilities = Capabilities::FOUND_ROWS
    .union(Capabilities::NO_SCHEMA)
    .union(Capabilities::IGNORE_SPACE)
    .union(Capabilities::PROTOCOL_41)
    .union(Capabilities::TRANSACTIONS)
    .union(Capabilities::MULTI_STATEMENTS)
    .union(Capabilities::MULTI_RESULTS)
    .union(Capabilities::PS_MULTI_RESULTS)
    .union(Capabilities::SESSION_TRACK)
    .union(Capabilities::DEPRECATE_EOF)
    .union(Capabilities::OPTIONAL_RESULTSET_METADATA)
    .union(Capabilities::QUERY_ATTRIBUTES)
    .union(Capabilities::MARIADB_STMT_BULK_OPERATIONS)
    .union(Capabilities::MARIADB_EXTENDED_METADATA)
    .union(Capabilities::MARIADB_CACHE_METADATA)
    .union(Capabilities::MARIADB_BULK_UNIT_RESULTS);

/// Capabilities of the login itself, which are the proxy's own on this side.
const OWN: Capabilities = Capabilities::LONG_PASSWORD
    .union(Capabilities::SECURE_CONNECTION)
    .union(Capabilities::PLUGIN_AUTH)
    .union(Capabilities::PLUGIN_AUTH_LENENC)
    // A server that wants a second factor says so then, instead of refusing without a reason.
    .union(Capabilities::MULTI_FACTOR_AUTH);

/// `ER_ACCESS_DENIED_ERROR`: not this password, if it is not the host or the account.
const ACCESS_DENIED: u16 = 1045;

/// The collation of a login whose own one does not fit into it, until it is changed:
/// `utf8mb4_general_ci`.
const FALLBACK_COLLATION: u8 = 45;

/// Logs in to `target`, the server at the other end of `sock`, as `identity`. Returns the server's
/// id of the connection, and what another login over it needs.
pub(crate) async fn log_in(
    worker: &Worker,
    target: &Target,
    sock: &mut Sock,
    identity: &Identity,
) -> Result<(u32, Greeted), OpenError> {
    let user = &identity.account.user;
    if !user.has(Options::FOR_SERVERS) {
        let name = String::from_utf8_lossy(&user.name);
        return Err(OpenError::Login(format!("user '{name}' has no row with backend = 1 in mysql_users")));
    }
    let mut exchange = Exchange::new(&worker.net, sock);
    let payload = exchange.receive().await?;
    if payload.first() == Some(&packet::Err::HEADER) {
        return Err(refused(&payload, Capabilities::PROTOCOL_41));
    }
    let greeting = packet::Greeting::decode(&payload, Capabilities::empty()).map_err(malformed)?;
    worker.shared.servers.learn(&target.endpoint, &greeting);
    let mut capabilities = agree(identity, greeting.capabilities, target)?;
    capabilities.set(Capabilities::SSL, target.use_ssl);
    if target.use_ssl {
        if !greeting.capabilities.contains(Capabilities::SSL) {
            return Err(OpenError::Login("it offers no TLS, but use_ssl = 1 in mysql_servers".to_owned()));
        }
        start_tls(worker, target, &mut exchange, identity, capabilities).await?;
    }
    let (transport, secret) = (exchange.transport(), user.secret_for_servers(&identity.account.secret));
    let plugin = as_client::first_method(&secret, greeting.auth_plugin, transport);
    let begin = || as_client::begin(&secret, plugin, greeting.nonce, transport, random::bytes());
    let (login, answer) = begin();
    let attributes = identity.announced();
    let packet = login_packet(identity, capabilities, attributes.as_deref(), plugin, &answer);
    exchange.send(&packet.encode(capabilities)).await?;
    let mut tells_ages = converse(&mut exchange, login, user, &secret, capabilities).await?;
    finish(exchange)?;
    if let Ok(Some(method)) = Method::agreed(capabilities, packet.zstd_level) {
        sock.compress(&worker.net.compression, Peer::Server, method, Vec::new());
    }
    if let Some(change_user) = collation_changer(&packet, identity) {
        worker.counts.note(Counter::ServerChangeUser);
        let mut exchange = Exchange::new(&worker.net, sock);
        let (login, answer) = begin();
        exchange
            .send(&command::ChangeUser { auth_answer: &answer, ..change_user }.encode(capabilities))
            .await?;
        tells_ages |= converse(&mut exchange, login, user, &secret, capabilities).await?;
        finish(exchange)?;
    }
    if !user.is_of_monitor() {
        worker.shared.servers.note_login(&target.endpoint, user, &secret);
    }
    let greeted = Greeted {
        capabilities,
        plugin: greeting.auth_plugin.into(),
        nonce: greeting.nonce,
        dialect: Dialect::of(greeting.server_version),
        tells_ages,
    };
    Ok((greeting.connection_id, greeted))
}

/// Logs in anew over a connection that has logged in as the same user, with the same capabilities:
/// the server looks at the account, and forgets all that was before. The connection is in `schema`
/// then, which may be empty.
pub(crate) async fn log_in_again(
    worker: &Worker,
    link: &mut Connection,
    identity: &Identity,
    schema: &[u8],
) -> Result<(), OpenError> {
    let Some(greeted) = link.greeted().cloned() else {
        return Err(OpenError::Login("nobody has logged in over this connection".to_owned()));
    };
    let (user, capabilities) = (&identity.account.user, greeted.capabilities);
    let mut exchange = Exchange::new(&worker.net, link.sock_mut());
    let (transport, secret) = (exchange.transport(), user.secret_for_servers(&identity.account.secret));
    let plugin = as_client::first_method(&secret, &greeted.plugin, transport);
    let (login, answer) = as_client::begin(&secret, plugin, greeted.nonce, transport, random::bytes());
    let attributes = identity.announced();
    let packet = command::ChangeUser {
        username: &user.name,
        auth_answer: &answer,
        schema,
        collation: Some(identity.collation),
        auth_plugin: Some(plugin),
        attributes: attributes.as_deref(),
    };
    worker.counts.note(Counter::ServerChangeUser);
    exchange.send(&packet.encode(capabilities)).await?;
    let tells_ages = converse(&mut exchange, login, user, &secret, capabilities).await?;
    finish(exchange)?;
    if tells_ages {
        // What it was told once stays: all logins over a connection announce the same.
        link.set_tells_ages();
    }
    Ok(())
}

/// Ends the login. Bytes behind it that were not asked for are an error.
fn finish(exchange: Exchange<'_>) -> Result<(), OpenError> {
    match exchange.into_unread().len() {
        0 => Ok(()),
        n => Err(OpenError::Login(format!("{n} bytes behind the login that nobody asked for"))),
    }
}

/// The login of the client, as the server gets it.
fn login_packet<'a>(
    identity: &'a Identity,
    capabilities: Capabilities,
    attributes: Option<&'a [u8]>,
    plugin: &'a [u8],
    auth_answer: &'a [u8],
) -> packet::Login<'a> {
    packet::Login {
        capabilities,
        max_packet: identity.max_packet,
        // What does not fit comes behind the login.
        collation: u8::try_from(identity.collation).unwrap_or(FALLBACK_COLLATION),
        username: &identity.account.user.name,
        auth_answer,
        schema: identity.account.schema.as_deref(),
        auth_plugin: Some(plugin),
        attributes: attributes.filter(|_| capabilities.contains(Capabilities::CONNECT_ATTRS)),
        zstd_level: capabilities
            .contains(Capabilities::ZSTD_COMPRESSION)
            .then_some(Method::ZSTD_LEVEL_DEFAULT),
    }
}

/// A collation with an id above 255 does not fit into a login; `COM_CHANGE_USER` to the same user
/// has room for it.
fn collation_changer<'a>(login: &packet::Login<'a>, identity: &Identity) -> Option<command::ChangeUser<'a>> {
    (u16::from(login.collation) != identity.collation).then_some(command::ChangeUser {
        username: login.username,
        auth_answer: b"",
        schema: login.schema.unwrap_or_default(),
        collation: Some(identity.collation),
        auth_plugin: login.auth_plugin,
        attributes: login.attributes,
    })
}

/// Answers what the server asks until it accepts, or not; notes what that says about the user's
/// password. Returns whether the server is a proxy that tells the ages of answers.
async fn converse(
    exchange: &mut Exchange<'_>,
    mut login: as_client::ClientLogin,
    user: &User,
    secret: &Secret,
    capabilities: Capabilities,
) -> Result<bool, OpenError> {
    loop {
        let payload = exchange.receive().await?;
        match login.message(&payload, capabilities).map_err(malformed)? {
            as_client::ClientStep::Send(payload) => exchange.send(&payload).await?,
            as_client::ClientStep::Encrypt { public_key_pem, masked } => {
                let cipher = keys::encrypt(&public_key_pem, &masked)
                    .map_err(|error| OpenError::Login(error.to_string()))?;
                let payload = login.encrypted(cipher);
                exchange.send(&payload).await?;
            }
            as_client::ClientStep::Derive => {
                let derive = move || {
                    let payload = login.derive();
                    (login, payload)
                };
                let derived = exchange.net.off_thread(derive).await;
                let (back, payload) = derived.map_err(|error| OpenError::Login(error.to_string()))?;
                login = back;
                exchange.send(&payload).await?;
            }
            as_client::ClientStep::Read => {}
            as_client::ClientStep::Done => return Ok(tier::is_welcome(&payload, capabilities)),
            as_client::ClientStep::Refused => {
                let error = refused(&payload, capabilities);
                if matches!(error, OpenError::Refused { code: ACCESS_DENIED, .. }) {
                    user.forget(secret);
                }
                return Err(error);
            }
            as_client::ClientStep::Unsupported(what) => return Err(unsupported(&what, user)),
        }
    }
}

/// Asks `target` for TLS and speaks it from here on.
async fn start_tls(
    worker: &Worker,
    target: &Target,
    exchange: &mut Exchange<'_>,
    identity: &Identity,
    capabilities: Capabilities,
) -> Result<(), OpenError> {
    let user = &identity.account.user.name;
    let role = worker.shared.tls.to_server(&target.endpoint, user).map_err(OpenError::Login)?;
    let collation = u8::try_from(identity.collation).unwrap_or(FALLBACK_COLLATION);
    let request = packet::SslRequest { capabilities, max_packet: identity.max_packet, collation };
    exchange.send(&request.encode(capabilities)).await?;
    match exchange.start_tls(role).await {
        Ok(()) => Ok(()),
        Err(HandshakeError::Closed) => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
        Err(error) => {
            if let HandshakeError::Failed { alert, .. } = &error {
                // Only a courtesy.
                let _ = exchange.sock.write_all(alert).await;
            }
            Err(OpenError::Login(error.to_string()))
        }
    }
}

/// Says what the server wants in vain; if it is the password, the user's clients will be asked for
/// it.
fn unsupported(what: &as_client::Unsupported, user: &User) -> OpenError {
    if !what.wants_password {
        return OpenError::Login(what.to_string());
    }
    if matches!(user.credential, Credential::Native(_)) {
        user.want_password();
    }
    OpenError::Login(format!("{what}; connect again: the next login will ask for the password itself"))
}

/// What to announce to a server that offers `offered`.
fn agree(identity: &Identity, offered: Capabilities, target: &Target) -> Result<Capabilities, OpenError> {
    let missing = (identity.capabilities & MUST_MATCH).difference(offered);
    if !missing.is_empty() {
        let names: Vec<_> = missing.iter_names().map(|(name, _)| name).collect();
        return Err(OpenError::Login(format!(
            "the client uses capabilities that this server does not have: {}",
            names.join(", ")
        )));
    }
    let mut wanted = identity.server_capabilities() | OWN;
    wanted.set(Capabilities::CONNECT_ATTRS, identity.announced().is_some());
    let mut capabilities = wanted & offered | compression(target, offered);
    capabilities.set(Capabilities::CONNECT_WITH_DB, identity.account.schema.is_some());
    Ok(capabilities)
}

/// The method of compression for a server that offers `offered`, as a capability: zlib if it has
/// it, as servers choose.
fn compression(target: &Target, offered: Capabilities) -> Capabilities {
    if !target.compression {
        return Capabilities::empty();
    }
    if offered.contains(Capabilities::COMPRESS) {
        return Capabilities::COMPRESS;
    }
    if !offered.contains(Capabilities::ZSTD_COMPRESSION) && target.note_uncompressed() {
        tracing::warn!(server = %target, "a server with compression = 1 does not offer it; its connections are not compressed");
    }
    offered & Capabilities::ZSTD_COMPRESSION
}

fn malformed(error: wire::WireError) -> OpenError {
    OpenError::Login(error.to_string())
}

/// The server's own words. In place of its greeting it may leave out the SQLSTATE; the client gets
/// one.
fn refused(payload: &[u8], capabilities: Capabilities) -> OpenError {
    match packet::Err::decode(payload, capabilities) {
        Ok(error) => {
            let with_state = packet::Err { sql_state: error.sql_state.or(Some(*b"HY000")), ..error };
            let (code, message) = (error.code, error.message.to_vec());
            OpenError::Refused { code, message, payload: with_state.encode(Capabilities::PROTOCOL_41) }
        }
        Err(error) => malformed(error),
    }
}
