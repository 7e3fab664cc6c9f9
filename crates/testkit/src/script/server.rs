//! A server that a test plays.

use std::ops::{Deref, DerefMut};

use tokio::io::{AsyncRead, AsyncWrite};
use wire::auth::NONCE_LEN;
use wire::command::Kind;
use wire::compress::{Method, Peer};
use wire::{Capabilities, Codec as _, StatusFlags, packet};

use super::{Script, is_end, show};

/// `utf8mb4_general_ci`.
const UTF8MB4: u16 = 45;

/// What a scripted server announces unless told otherwise: all that MariaDB 10.11 does, without TLS
/// and compression.
pub const CAPABILITIES: Capabilities = crate::client::CAPABILITIES
    .union(Capabilities::FOUND_ROWS)
    .union(Capabilities::CONNECT_WITH_DB)
    .union(Capabilities::NO_SCHEMA)
    .union(Capabilities::ODBC)
    .union(Capabilities::IGNORE_SPACE)
    .union(Capabilities::INTERACTIVE)
    .union(Capabilities::IGNORE_SIGPIPE)
    .union(Capabilities::EXPIRED_PASSWORDS);

/// The nonce of a scripted server: 20 bytes without a zero, the same in every run.
pub const NONCE: [u8; NONCE_LEN] = *b"0123456789abcdefghij";

/// What a login packet held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginSeen {
    /// What both sides agreed on.
    pub capabilities: Capabilities,
    /// `max_packet`, in bytes.
    pub max_packet: u32,
    /// The collation's number.
    pub collation: u8,
    /// Who.
    pub username: String,
    /// The answer to the nonce.
    pub auth_answer: Vec<u8>,
    /// The first schema, if one was named.
    pub schema: Option<String>,
    /// The method of `auth_answer`, if one was named.
    pub auth_plugin: Option<String>,
    /// The connection attributes' bytes, if there were any.
    pub attributes: Option<Vec<u8>>,
    /// The level of zstd, if it was chosen.
    pub zstd_level: Option<u8>,
}

/// A server played by a test. Answers carry [`status`](Self::status).
#[derive(Debug)]
pub struct ScriptedServer<S> {
    script: Script<S>,
    announced: Capabilities,
    /// The status flags of all answers; autocommit at first.
    pub status: StatusFlags,
}

impl<S> Deref for ScriptedServer<S> {
    type Target = Script<S>;

    fn deref(&self) -> &Script<S> {
        &self.script
    }
}

impl<S> DerefMut for ScriptedServer<S> {
    fn deref_mut(&mut self) -> &mut Script<S> {
        &mut self.script
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> ScriptedServer<S> {
    /// A server that has sent nothing yet.
    pub fn new(stream: S) -> Self {
        Self { script: Script::new(stream), announced: CAPABILITIES, status: StatusFlags::AUTOCOMMIT }
    }

    /// A server that greets and accepts the first login, whatever the password.
    pub async fn accept(stream: S) -> (Self, LoginSeen) {
        let mut server = Self::new(stream);
        server.greet().await;
        let login = server.read_login().await;
        server.let_in(&login).await;
        (server, login)
    }

    /// Accepts a login; from then on the compressed protocol is spoken, if that was agreed.
    pub async fn let_in(&mut self, login: &LoginSeen) {
        self.ok().await;
        if let Ok(Some(method)) = Method::agreed(login.capabilities, login.zstd_level) {
            super::done("nothing behind the login", Ok(self.script.packets.compress(Peer::Client, method)));
        }
    }

    /// Sends a greeting of MariaDB 10.11 that suggests `mysql_native_password` with [`NONCE`].
    pub async fn greet(&mut self) {
        self.greet_with(&packet::Greeting {
            server_version: b"5.5.5-10.11.6-MariaDB-scripted",
            connection_id: 7,
            nonce: NONCE,
            capabilities: CAPABILITIES,
            collation: 45,
            status: StatusFlags::AUTOCOMMIT,
            auth_plugin: b"mysql_native_password",
        })
        .await;
    }

    /// Sends this greeting.
    pub async fn greet_with(&mut self, greeting: &packet::Greeting<'_>) {
        self.announced = greeting.capabilities;
        self.script.packets.expect_seq(0);
        self.send_packet(greeting).await;
    }

    /// Reads a login packet; from then on packets are written and read with what both sides agreed
    /// on.
    pub async fn read_login(&mut self) -> LoginSeen {
        let payload = self.read().await;
        let login = packet::Login::decode(&payload, self.announced)
            .unwrap_or_else(|error| panic!("script: expected a login, got {}: {error}", show(&payload)));
        self.script.packets.set_capabilities(login.capabilities);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        LoginSeen {
            capabilities: login.capabilities,
            max_packet: login.max_packet,
            collation: login.collation,
            username: text(login.username),
            auth_answer: login.auth_answer.to_vec(),
            schema: login.schema.map(text),
            auth_plugin: login.auth_plugin.map(text),
            attributes: login.attributes.map(<[u8]>::to_vec),
            zstd_level: login.zstd_level,
        }
    }

    /// Reads a command's whole payload, beginning with the command byte.
    pub async fn read_command(&mut self) -> Vec<u8> {
        self.script.packets.expect_seq(0);
        self.read().await
    }

    /// Reads a command, or `None` if the client leaves instead, with or without `COM_QUIT`.
    pub async fn next_command(&mut self) -> Option<Vec<u8>> {
        self.script.packets.expect_seq(0);
        let patience = self.script.patience;
        match tokio::time::timeout(patience, self.script.packets.read()).await {
            Ok(Ok(command)) if command == [Kind::Quit as u8] => None,
            Ok(Err(error)) if is_end(&error) => None,
            other => Some(super::done("a command", other)),
        }
    }

    /// Reads the next command, which must be this one.
    pub async fn expect_command(&mut self, kind: Kind, body: &[u8]) {
        self.script.packets.expect_seq(0);
        let payload = [&[kind as u8], body].concat();
        self.expect(&payload).await;
    }

    /// Reads the next command, which must be `COM_QUERY` with this text.
    pub async fn expect_query(&mut self, sql: &str) {
        self.expect_command(Kind::Query, sql.as_bytes()).await;
    }

    /// Sends an OK packet.
    pub async fn ok(&mut self) {
        self.ok_with(0, 0).await;
    }

    /// Sends an OK packet with these numbers.
    pub async fn ok_with(&mut self, affected_rows: u64, last_insert_id: u64) {
        let ok = packet::Ok { affected_rows, last_insert_id, ..packet::Ok::plain(self.status) };
        self.send_packet(&ok).await;
    }

    /// Sends an ERR packet.
    pub async fn err(&mut self, code: u16, sql_state: &str, message: &str) {
        let sql_state = sql_state.as_bytes().try_into().ok();
        self.send_packet(&packet::Err { code, sql_state, message: message.as_bytes() }).await;
    }

    /// Sends a text result: columns of strings, and rows; ends it as the client has asked for.
    pub async fn rows(&mut self, columns: &[&str], rows: &[&[Option<&str>]]) {
        self.columns(columns).await;
        for row in rows {
            self.row(row).await;
        }
        self.end_of_rows().await;
    }

    /// Sends the column count, the columns, and the EOF packet after them for clients that want it.
    pub async fn columns(&mut self, columns: &[&str]) {
        self.send_packet(&packet::ColumnCount { count: columns.len() as u64, metadata_follows: None }).await;
        for name in columns {
            self.send_packet(&packet::Column::text(name.as_bytes(), UTF8MB4)).await;
        }
        if !self.capabilities().contains(Capabilities::DEPRECATE_EOF) {
            self.eof().await;
        }
    }

    /// Sends one row of text.
    pub async fn row(&mut self, cells: &[Option<&str>]) {
        let mut payload = Vec::new();
        packet::TextRow::put(&mut payload, cells.iter().copied());
        self.send(&payload).await;
    }

    /// Sends the packet that ends the rows.
    pub async fn end_of_rows(&mut self) {
        let end = packet::end(self.status, self.capabilities());
        self.send(&end).await;
    }

    /// Sends a classic EOF packet.
    pub async fn eof(&mut self) {
        let eof = packet::Eof { warnings: 0, status: self.status };
        self.send_packet(&eof).await;
    }
}
