//! The login of a client: greeting, login packet, proof, OK.

use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use config::{AuthPlugin, MysqlVariables};
use pool::Share;
use querylog::{AuditEvent, Port};
use tokio::time::Instant;
use wire::auth::{caching_sha2, native};
use wire::compress::{Method, Peer as CompressedPeer};
use wire::frame::put_message;
use wire::{Capabilities, Codec as _, StatusFlags, packet};

use crate::audit::{self, Stranger};
use crate::check::check_login;
use crate::ending::Ending;
use crate::errors::note_refusal;
use crate::limits::LOGIN_REST;
use crate::proof::{Claim, Proven};
use crate::queueing;
use crate::refusals::Reason;
use crate::worker::Worker;
use net::exchange::{Exchange, ReceiveError};
use net::random;
use net::sock::Sock;
use net::sock::tls::{HandshakeError, Role};
use observe::counts::Counter;
use session::door::Door;
use session::error::{ClientError, NoPlace};
use session::identity::{Account, Identity};
use session::tier::{self, Tier};
use session::turn::Turn;
use session::users::User;
use upstream::Backend;
use upstream::servers::Offer;
use wire::Peer;

/// A client that is logged in.
#[derive(Debug)]
pub struct LoggedIn {
    /// Who it is.
    pub identity: Box<Identity>,
    /// Bytes that the client sent behind its login: its first commands.
    pub backlog: Vec<u8>,
    /// Its connection to a server, if it has got one already.
    pub backend: Option<Backend>,
}

/// The messages of one login, in both directions.
#[derive(Debug)]
pub struct Dialogue<'a> {
    pub(crate) worker: &'a Worker,
    /// Messages over the client's socket.
    pub exchange: Exchange<'a>,
    pub(crate) capabilities: Capabilities,
    pub(crate) peer: Peer,
    /// Whether the client has shown anything but an empty password.
    pub(crate) password_given: bool,
}

/// The compressed protocol, with either method.
const COMPRESSION: Capabilities = Capabilities::COMPRESS.union(Capabilities::ZSTD_COMPRESSION);

/// What is not offered where tables are split over servers: columns that are told once, for all
/// executions, and executions with many rows of values.
const UNSHARED: Capabilities = Capabilities::OPTIONAL_RESULTSET_METADATA
    .union(Capabilities::MARIADB_CACHE_METADATA)
    .union(Capabilities::MARIADB_STMT_BULK_OPERATIONS)
    .union(Capabilities::MARIADB_BULK_UNIT_RESULTS);

/// Logs a client in that is told this connection id.
pub(crate) async fn login(
    worker: &Worker,
    connection_id: u32,
    sock: &mut Sock,
    peer: Peer,
    door: Door,
    deadline: Instant,
) -> Result<Box<LoggedIn>, Ending> {
    let (upstream, settings) = (&worker.upstream, worker.upstream.settings());
    let nonce = random::nonce();
    let plugin = match settings.variables.default_authentication_plugin {
        AuthPlugin::MysqlNativePassword => native::NAME,
        AuthPlugin::CachingSha2Password => caching_sha2::NAME,
    };
    let Offer { capabilities: mut offered, version, collation } =
        Box::pin(upstream.shared.servers.offer()).await;
    let tls = upstream.shared.tls.to_client();
    offered.set(Capabilities::SSL, tls.is_some());
    offered.set(COMPRESSION, settings.variables.have_compress);
    if !deprecates_eof(&settings.variables) {
        offered.remove(Capabilities::DEPRECATE_EOF);
    }
    if settings.config().shards.is_some() {
        // Replies come of several servers, and columns are told with each of them.
        offered.remove(UNSHARED);
    }
    let server_version = match settings.variables.server_version.as_bytes() {
        [] => &version,
        configured => configured,
    };
    let greeting = packet::Greeting {
        server_version,
        connection_id,
        nonce,
        capabilities: offered,
        collation,
        status: StatusFlags::AUTOCOMMIT,
        auth_plugin: plugin.as_bytes(),
    };
    let exchange = Exchange::new(&upstream.net, sock);
    let mut dialogue = Dialogue::new(worker, exchange, Capabilities::PROTOCOL_41, peer);
    dialogue.exchange.send(&greeting.encode(offered)).await?;
    let payload = dialogue.receive_login(offered, tls).await?;
    let hello = Hello { connection_id, door, offered, plugin, nonce, deadline };
    // Boxed: who connects and says nothing shall cost little.
    let (mut logged_in, method) = Box::pin(let_in(worker, dialogue, hello, &payload)).await?;
    if let Some(method) = method {
        sock.compress(
            &upstream.net.compression,
            CompressedPeer::Client,
            method,
            std::mem::take(&mut logged_in.backlog),
        );
        if logged_in.identity.reads_two_frames() {
            sock.use_two_frames();
        }
    }
    Ok(logged_in)
}

/// Whether results may end with an OK packet. Both sides of a session agree on it alike, so it
/// takes both.
const fn deprecates_eof(variables: &MysqlVariables) -> bool {
    variables.enable_client_deprecate_eof && variables.enable_server_deprecate_eof
}

/// What a client was told before it has said who it is, and where it has come in.
struct Hello {
    connection_id: u32,
    door: Door,
    offered: Capabilities,
    plugin: &'static str,
    nonce: [u8; 20],
    /// When its login has to be over.
    deadline: Instant,
}

/// Lets a client in that has sent this login, if it is one of those who may. What it has sent
/// behind that is in its backlog; from here on it speaks the compressed protocol if there is a
/// method.
async fn let_in(
    worker: &Worker,
    mut dialogue: Dialogue<'_>,
    hello: Hello,
    payload: &[u8],
) -> Result<(Box<LoggedIn>, Option<Method>), Ending> {
    let packet =
        packet::Login::decode(payload, hello.offered).map_err(|error| dialogue.refuse_bytes(&error))?;
    dialogue.capabilities = packet.capabilities;
    let (id, peer, tls) = (hello.connection_id, dialogue.peer, dialogue.exchange.sock.is_encrypted());
    let (user, schema) = (packet.username, packet.schema.unwrap_or_default());
    let entered = Box::pin(enter(worker, dialogue, hello, packet)).await;
    if let Err(ending) = &entered {
        let stranger = Stranger { id, peer: &peer, user, schema, tls };
        let told = || ending.packets().and_then(audit::error_in);
        audit::note_refusal(worker, AuditEvent::ConnectErr(Port::Traffic), &stranger, told);
    }
    entered
}

/// The same for a login that could be read.
async fn enter(
    worker: &Worker,
    mut dialogue: Dialogue<'_>,
    hello: Hello,
    packet: packet::Login<'_>,
) -> Result<(Box<LoggedIn>, Option<Method>), Ending> {
    let method = Method::agreed(packet.capabilities, packet.zstd_level)
        .map_err(|level| dialogue.refuse(&ClientError::CompressionLevel(level)))?;
    let claim = Claim {
        username: packet.username,
        plugin: packet.auth_plugin,
        answer: packet.auth_answer,
        offered: Some(hello.plugin),
    };
    let proven = Box::pin(dialogue.check(claim, hello.nonce)).await?;
    let place = dialogue.place_in_line(&proven.user, hello.deadline).await?;
    let account = dialogue.admit(proven, packet.schema, place)?;
    let mut identity = Box::new(Identity {
        connection_id: hello.connection_id,
        peer: dialogue.peer,
        door: hello.door,
        // What there is of it on the other side is not the client's choice.
        capabilities: packet.capabilities.difference(Capabilities::SSL | COMPRESSION),
        tracking: worker.tracking(),
        collation: packet.collation.into(),
        max_packet: packet.max_packet,
        attributes: None,
        tier: Tier::Client,
        tls: dialogue.exchange.sock.tls_names().map(Box::new),
        nonce: hello.nonce,
        account,
        place: None,
        turn: Rc::new(Turn::new(worker.upstream.shared.uptime())),
    });
    identity.set_attributes(packet.attributes.map(Box::from));
    let checked = Box::pin(check_login(worker, &identity)).await;
    let backend = checked.map_err(|refusal| dialogue.pass_refusal(&refusal))?;
    dialogue.send_ok(identity.tier).await?;
    let backlog = dialogue.exchange.into_unread();
    Ok((Box::new(LoggedIn { identity, backlog, backend }), method))
}

impl<'a> Dialogue<'a> {
    /// A dialogue with a client that has these capabilities.
    pub const fn new(
        worker: &'a Worker,
        exchange: Exchange<'a>,
        capabilities: Capabilities,
        peer: Peer,
    ) -> Self {
        Self { worker, exchange, capabilities, peer, password_given: false }
    }

    /// The client's login; before it TLS, if that is offered and the client asks for it.
    async fn receive_login(&mut self, offered: Capabilities, tls: Option<Role>) -> Result<Vec<u8>, Ending> {
        let payload = self.receive().await?;
        let asks =
            payload.len() == packet::SslRequest::LEN && packet::SslRequest::decode(&payload, offered).is_ok();
        let Some(tls) = tls.filter(|_| asks) else { return Ok(payload) };
        match Box::pin(self.exchange.start_tls(tls)).await {
            Ok(()) => self.receive().await,
            Err(error) => {
                tracing::info!(peer = %self.peer, %error, "a client gets no TLS");
                match error {
                    HandshakeError::Failed { alert, .. } => {
                        Err(Ending::Say { packets: alert.into_boxed_slice(), linger: true })
                    }
                    _ => Err(Ending::ClientLeft),
                }
            }
        }
    }

    /// A place among the user's connections, for which the client waits if it is to; nothing if
    /// that is of no use. `deadline` is when its login has to be over.
    async fn place_in_line(&mut self, user: &User, deadline: Instant) -> Result<Option<Rc<Share>>, Ending> {
        if let Some(share) = user.admit() {
            return Ok(Some(Rc::new(share)));
        }
        let settings = self.worker.upstream.settings();
        let (patience, most) =
            (settings.variables.client_queue_timeout, settings.variables.client_queue_size);
        let Some(line) = queueing::line(user.places(), patience, most, self.worker.upstream.shared.uptime())
        else {
            return Ok(None);
        };
        let latest = deadline.checked_sub(LOGIN_REST).unwrap_or(deadline);
        let mut turn = pin!(queueing::turn(user.places(), line, latest.min(Instant::now() + patience)));
        let share = poll_fn(|cx| match self.exchange.poll_closed(cx) {
            // It has a place among all clients meanwhile.
            Poll::Ready(()) => Poll::Ready(None),
            Poll::Pending => turn.as_mut().poll(cx).map(Some),
        });
        // A client that has left was not refused: it is not noted as a refusal.
        let turn = share.await.ok_or(Ending::ClientLeft)?;
        turn.map(|share| Some(Rc::new(share))).map_err(|why| self.refuse_user(user, why))
    }

    /// The user has all the connections that he may have.
    fn refuse_user(&self, user: &User, why: NoPlace) -> Ending {
        self.worker.upstream.counts.note(Counter::TooManyUserConnections);
        let error = ClientError::too_many_user_connections(&user.name, user.max_connections, why);
        self.note_refusal(&user.name, Reason::TooManyConnections);
        note_refusal(&self.worker.upstream.counts, self.peer.ip(), Some(&user.name), &error);
        Ending::no_place(&error, self.exchange.next_seq(), self.capabilities)
    }

    /// The account of a user who has proven to be one, with a place among the user's connections if
    /// there is one already.
    pub fn admit(
        &self,
        proven: Proven,
        schema: Option<&[u8]>,
        place: Option<Rc<Share>>,
    ) -> Result<Account, Ending> {
        let Proven { user, secret } = proven;
        let slot = place.or_else(|| user.admit().map(Rc::new));
        if slot.is_none() {
            return Err(self.refuse_user(&user, NoPlace::Refused));
        }
        let settings = self.worker.upstream.settings();
        let fallback = &settings.variables.default_schema;
        let schema = schema
            .filter(|schema| !schema.is_empty())
            .or(user.default_schema.as_deref())
            .or(Some(fallback.as_bytes()))
            .filter(|schema| !schema.is_empty())
            .map(Box::from);
        Ok(Account { user, secret, schema, slot })
    }

    /// Says that the client is in; to a proxy, that ages of answers are told.
    pub(crate) async fn send_ok(&mut self, tier: Tier) -> Result<(), Ending> {
        let status = StatusFlags::AUTOCOMMIT;
        Ok(self.exchange.send(&welcome(tier, self.capabilities, status)).await?)
    }

    /// The client's next message.
    pub async fn receive(&mut self) -> Result<Vec<u8>, Ending> {
        self.exchange.receive().await.map_err(|error| match error {
            ReceiveError::Closed => Ending::ClientLeft,
            // The client may be in the middle of sending it.
            ReceiveError::Malformed(error) => Ending::interrupt(
                &ClientError::bad_handshake(&error),
                self.exchange.next_seq(),
                self.capabilities,
            ),
        })
    }

    pub(crate) fn note_refusal(&self, user: &[u8], reason: Reason) {
        self.worker.shared.refusals.note(Instant::now(), &self.peer, user, reason);
    }

    /// The client is told what the server said to it.
    pub(crate) fn pass_refusal(&self, payload: &[u8]) -> Ending {
        let mut packets = Vec::new();
        put_message(&mut packets, self.exchange.next_seq(), payload);
        Ending::Say { packets: packets.into_boxed_slice(), linger: false }
    }

    /// The client is told that its login cannot be read, and why.
    pub fn refuse_bytes(&self, error: &impl std::fmt::Display) -> Ending {
        self.refuse(&ClientError::bad_handshake(error))
    }

    pub(crate) fn refuse(&self, error: &ClientError) -> Ending {
        note_refusal(&self.worker.upstream.counts, self.peer.ip(), None, error);
        Ending::tell(error, self.exchange.next_seq(), self.capabilities)
    }
}

/// The payload of the OK of a login, which tells a proxy that it is told ages of answers.
pub fn welcome(tier: Tier, capabilities: Capabilities, status: StatusFlags) -> Vec<u8> {
    match tier {
        Tier::Told => tier::welcome(status.of_connection()),
        Tier::Client | Tier::Untold => ok(capabilities, status),
    }
}

/// The payload of an OK packet that says nothing but OK and the status of a connection, after an
/// answer with this one.
pub fn ok(capabilities: Capabilities, status: StatusFlags) -> Vec<u8> {
    packet::Ok::plain(status.of_connection()).encode(capabilities)
}
