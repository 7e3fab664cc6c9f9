//! Greeting, login and the conversation about the password.

use aws_lc_rs::rsa::{OAEP_SHA1_MGF1SHA1, OaepPublicEncryptingKey, PublicEncryptingKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::io::{AsyncRead, AsyncWrite};
use wire::auth::as_client::{self, ClientLogin, ClientStep};
use wire::auth::{LONG_NONCE_LEN, NONCE_LEN, Secret, Transport};
use wire::codec::{put_lenenc_bytes, put_nul_bytes};
use wire::command::Kind;
use wire::compress::{Method, Peer};
use wire::{Capabilities, Codec as _, StatusFlags, packet};

use super::{ClientError, Options, Target};
use crate::packets::Packets;

/// `max_packet` in the login, in bytes.
const PACKET_LEN_MAX: u32 = 1 << 30;

/// Not random: it protects tests only.
const CLIENT_NONCE: [u8; LONG_NONCE_LEN] = [7; LONG_NONCE_LEN];

/// What a server's greeting says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerInfo {
    /// The version, with MariaDB's `5.5.5-` in front if it was there.
    pub version: String,
    /// The connection's number.
    pub connection_id: u32,
    /// The random bytes for the password's proof.
    pub nonce: [u8; NONCE_LEN],
    /// What the server can do.
    pub capabilities: Capabilities,
    /// The server's default collation.
    pub collation: u8,
    /// The first status flags.
    pub status: StatusFlags,
    /// The method that the server suggests.
    pub auth_plugin: String,
}

/// Reads the greeting, or the error that comes instead of it.
pub(crate) async fn read_greeting<S: AsyncRead + AsyncWrite + Unpin>(
    packets: &mut Packets<S>,
) -> Result<ServerInfo, ClientError> {
    let payload = packets.read().await?;
    if payload.first() == Some(&packet::Err::HEADER) {
        return Err(ClientError::from_packet(&payload, Capabilities::empty()));
    }
    let greeting = packet::Greeting::decode(&payload, Capabilities::all())?;
    Ok(ServerInfo {
        version: String::from_utf8_lossy(greeting.server_version).into_owned(),
        connection_id: greeting.connection_id,
        nonce: greeting.nonce,
        capabilities: greeting.capabilities,
        collation: greeting.collation,
        status: greeting.status,
        auth_plugin: String::from_utf8_lossy(greeting.auth_plugin).into_owned(),
    })
}

/// Answers the greeting and goes on until the server has accepted; returns the status flags of its
/// OK.
pub(crate) async fn login<S: AsyncRead + AsyncWrite + Unpin>(
    packets: &mut Packets<S>,
    server: &ServerInfo,
    options: &Options,
) -> Result<StatusFlags, ClientError> {
    let plugin = options.auth_plugin.as_ref().unwrap_or(&server.auth_plugin).as_bytes();
    let (login, answer) =
        as_client::begin(&secret(options), plugin, server.nonce, transport(&options.target), CLIENT_NONCE);
    send_login(packets, server, options, &answer).await?;
    let status = converse(packets, login).await?;
    if let Ok(Some(method)) = Method::agreed(packets.capabilities(), options.zstd_level()) {
        packets.compress(Peer::Server, method)?;
    }
    Ok(status)
}

/// Sends the login packet with this answer to the greeting's nonce, and sets what both sides agreed
/// on.
pub(crate) async fn send_login<S: AsyncRead + AsyncWrite + Unpin>(
    packets: &mut Packets<S>,
    server: &ServerInfo,
    options: &Options,
    auth_answer: &[u8],
) -> Result<(), ClientError> {
    let plugin = options.auth_plugin.as_ref().unwrap_or(&server.auth_plugin);
    let attributes = attributes(options);
    let mut capabilities = options.wanted() & server.capabilities;
    capabilities.set(Capabilities::CONNECT_WITH_DB, options.schema.is_some());
    packets.set_capabilities(capabilities);
    packets
        .write_packet(&packet::Login {
            capabilities,
            max_packet: PACKET_LEN_MAX,
            collation: options.collation.to_le_bytes()[0],
            username: options.user.as_bytes(),
            auth_answer,
            schema: options.schema.as_deref().map(str::as_bytes),
            auth_plugin: capabilities.contains(Capabilities::PLUGIN_AUTH).then_some(plugin.as_bytes()),
            attributes: capabilities.contains(Capabilities::CONNECT_ATTRS).then_some(&attributes),
            zstd_level: options
                .zstd_level()
                .filter(|_| capabilities.contains(Capabilities::ZSTD_COMPRESSION)),
        })
        .await?;
    Ok(())
}

/// `COM_CHANGE_USER` and what follows; returns the status flags of the OK.
pub(crate) async fn change_user<S: AsyncRead + AsyncWrite + Unpin>(
    packets: &mut Packets<S>,
    server: &ServerInfo,
    options: &Options,
) -> Result<StatusFlags, ClientError> {
    let capabilities = packets.capabilities();
    let plugin = options.auth_plugin.as_ref().unwrap_or(&server.auth_plugin).as_bytes();
    let (login, answer) =
        as_client::begin(&secret(options), plugin, server.nonce, transport(&options.target), CLIENT_NONCE);
    let mut payload = vec![Kind::ChangeUser as u8];
    put_nul_bytes(&mut payload, options.user.as_bytes());
    payload.push(u8::try_from(answer.len()).unwrap_or(u8::MAX));
    payload.extend_from_slice(&answer);
    put_nul_bytes(&mut payload, options.schema.as_deref().unwrap_or_default().as_bytes());
    payload.extend_from_slice(&options.collation.to_le_bytes());
    if capabilities.contains(Capabilities::PLUGIN_AUTH) {
        put_nul_bytes(&mut payload, plugin);
    }
    if capabilities.contains(Capabilities::CONNECT_ATTRS) {
        put_lenenc_bytes(&mut payload, &attributes(options));
    }
    packets.expect_seq(0);
    packets.write(&payload).await?;
    converse(packets, login).await
}

async fn converse<S: AsyncRead + AsyncWrite + Unpin>(
    packets: &mut Packets<S>,
    mut login: ClientLogin,
) -> Result<StatusFlags, ClientError> {
    let capabilities = packets.capabilities();
    loop {
        let payload = packets.read().await?;
        match login.message(&payload, capabilities)? {
            ClientStep::Send(answer) => packets.write(&answer).await?,
            ClientStep::Encrypt { public_key_pem, masked } => {
                let answer = login.encrypted(encrypt(&public_key_pem, &masked)?);
                packets.write(&answer).await?;
            }
            ClientStep::Derive => packets.write(&login.derive()).await?,
            ClientStep::Read => {}
            ClientStep::Done => return Ok(packet::Ok::decode(&payload, capabilities)?.status),
            ClientStep::Refused => return Err(ClientError::from_packet(&payload, capabilities)),
            ClientStep::Unsupported(what) => return Err(ClientError::Login(what.to_string())),
        }
    }
}

/// RSA-OAEP with SHA-1, as MySQL defines the full exchange of `caching_sha2_password`: what a
/// client sends that was told to encrypt its password by [`ClientStep::Encrypt`].
///
/// # Errors
/// [`ClientError::Login`] when this is no public key.
pub fn encrypt(public_key_pem: &[u8], plain: &[u8]) -> Result<Vec<u8>, ClientError> {
    let bad_key = || ClientError::Login("the server's public key is not usable".to_owned());
    let body: Vec<u8> = public_key_pem
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.starts_with(b"-----"))
        .flat_map(|line| line.trim_ascii().iter().copied())
        .collect();
    let der = STANDARD.decode(body).map_err(|_| bad_key())?;
    let key = PublicEncryptingKey::from_der(&der).map_err(|_| bad_key())?;
    let key = OaepPublicEncryptingKey::new(key).map_err(|_| bad_key())?;
    let mut cipher = vec![0; key.ciphertext_size()];
    key.encrypt(&OAEP_SHA1_MGF1SHA1, plain, &mut cipher, None).map_err(|_| bad_key())?;
    Ok(cipher)
}

fn secret(options: &Options) -> Secret {
    match options.password.as_bytes() {
        [] => Secret::Empty,
        password => Secret::Clear(password.to_vec()),
    }
}

const fn transport(target: &Target) -> Transport {
    match target {
        Target::Tcp(_) => Transport::Plain,
        Target::Unix(_) => Transport::Local,
    }
}

fn attributes(options: &Options) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in &options.attributes {
        put_lenenc_bytes(&mut out, name.as_bytes());
        put_lenenc_bytes(&mut out, value.as_bytes());
    }
    out
}
