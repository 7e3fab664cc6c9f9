//! A client that a test plays.

use std::future::Future;
use std::ops::{Deref, DerefMut};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::client::TlsStream;
use wire::command::Kind;

use super::{Script, done};
use crate::client::{ClientError, Options, QueryResult, ServerError, ServerInfo, login, result, tls};

/// A client played by a test.
#[derive(Debug)]
pub struct ScriptedClient<S> {
    script: Script<S>,
}

impl<S> Deref for ScriptedClient<S> {
    type Target = Script<S>;

    fn deref(&self) -> &Script<S> {
        &self.script
    }
}

impl<S> DerefMut for ScriptedClient<S> {
    fn deref_mut(&mut self) -> &mut Script<S> {
        &mut self.script
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> ScriptedClient<S> {
    /// A client that has read nothing yet.
    pub fn new(stream: S) -> Self {
        Self { script: Script::new(stream) }
    }

    /// A client that has logged in. The target in `options` is not used.
    pub async fn connect(stream: S, options: &Options) -> Self {
        let mut client = Self::new(stream);
        client.log_in(options).await.unwrap_or_else(|error| panic!("script: login refused: {error}"));
        client
    }

    /// A client that has logged in over TLS.
    pub async fn connect_tls(
        stream: S,
        options: &Options,
        config: std::sync::Arc<rustls::ClientConfig>,
    ) -> ScriptedClient<TlsStream<S>> {
        let mut plain = Self::new(stream);
        let server = plain.read_greeting().await.unwrap_or_else(|error| panic!("script: refused: {error}"));
        let Script { packets, patience } = plain.script;
        let encrypting = tokio::time::timeout(patience, tls::encrypt(packets, &server, options, config));
        let packets = done("speak TLS", encrypting.await);
        let mut client = ScriptedClient { script: Script { packets, patience } };
        let login = login::login(&mut client.script.packets, &server, options);
        done("log in over TLS", tokio::time::timeout(patience, login).await);
        client
    }

    /// Reads the greeting and logs in to the end; returns the server's error if it refuses.
    pub async fn log_in(&mut self, options: &Options) -> Result<ServerInfo, ServerError> {
        let server = self.read_greeting().await?;
        let patience = self.script.patience;
        answer("the end of the login", patience, login::login(&mut self.script.packets, &server, options))
            .await?;
        Ok(server)
    }

    /// Reads the greeting, or the error that the server sends instead.
    pub async fn read_greeting(&mut self) -> Result<ServerInfo, ServerError> {
        let patience = self.script.patience;
        answer("a greeting", patience, login::read_greeting(&mut self.script.packets)).await
    }

    /// Sends a login packet with this answer to the nonce, right or wrong, and reads nothing.
    pub async fn send_login(&mut self, server: &ServerInfo, options: &Options, auth_answer: &[u8]) {
        let patience = self.script.patience;
        let send = login::send_login(&mut self.script.packets, server, options, auth_answer);
        done("send a login", tokio::time::timeout(patience, send).await);
    }

    /// Sends a command and reads nothing.
    pub async fn send_command(&mut self, kind: Kind, body: &[u8]) {
        let payload = [&[kind as u8], body].concat();
        self.send_at(0, &payload).await;
    }

    /// Sends `COM_QUERY` and reads nothing.
    pub async fn send_query(&mut self, sql: &str) {
        self.send_command(Kind::Query, sql.as_bytes()).await;
    }

    /// Sends `COM_QUERY` and reads its first result.
    pub async fn query(&mut self, sql: &str) -> Result<QueryResult, ServerError> {
        self.send_query(sql).await;
        self.read_result().await
    }

    /// Reads one result, or the error in its place.
    pub async fn read_result(&mut self) -> Result<QueryResult, ServerError> {
        let patience = self.script.patience;
        answer("a result", patience, result::read(&mut self.script.packets)).await
    }

    /// Reads one result, which must not be an error.
    pub async fn expect_result(&mut self) -> QueryResult {
        self.read_result().await.unwrap_or_else(|error| panic!("script: expected a result, got {error}"))
    }

    /// Reads an OK packet.
    pub async fn expect_ok(&mut self) -> QueryResult {
        let result = self.expect_result().await;
        assert!(result.columns.is_empty(), "script: expected an OK packet, got rows: {result:?}");
        result
    }

    /// Reads an ERR packet with this code; returns it whole.
    pub async fn expect_err(&mut self, code: u16) -> ServerError {
        match self.read_result().await {
            Err(error) if error.code == code => error,
            other => panic!("script: expected error {code}, got {other:?}"),
        }
    }

    /// Reads a text result, which must have these rows.
    pub async fn expect_rows(&mut self, rows: &[&[Option<&str>]]) -> QueryResult {
        let result = self.expect_result().await;
        let text = result.text().unwrap_or_else(|error| panic!("script: expected text rows: {error}"));
        let got: Vec<Vec<Option<&str>>> =
            text.iter().map(|row| row.iter().map(Option::as_deref).collect()).collect();
        assert!(got == rows, "script: expected the rows {rows:?}, got {got:?}");
        result
    }
}

/// What the server answered in time: a value or its error; panics at everything else.
async fn answer<T>(
    what: &str,
    patience: std::time::Duration,
    future: impl Future<Output = Result<T, ClientError>>,
) -> Result<T, ServerError> {
    let result = match tokio::time::timeout(patience, future).await {
        Ok(Err(ClientError::Server(error))) => return Err(error),
        other => other,
    };
    Ok(done(what, result))
}
