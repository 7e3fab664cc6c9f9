//! Commands that are sent before the answers to those before are read.

use std::io;

use testkit::client::{Client, ClientError, QueryResult, ServerError, Statement as Prepared};
use wire::command::Kind;
use wire::{Capabilities, Codec as _, packet};

use super::execution::{Execution, LAST};
use super::statement::{Statement, bind, parse};
use super::tape::Taped;

/// One command.
#[derive(Debug, Clone)]
pub(super) enum Command {
    Text(String),
    Prepare(String),
    Execute(Execution),
    /// Executes what was prepared last by the number that MariaDB has for it.
    ExecuteLast(Execution),
    ResetStatement(String),
    Ping,
}

/// What a command was answered.
pub(super) enum Got {
    Result(QueryResult),
    Prepared(Prepared),
}

/// A statement that a client has prepared.
#[derive(Debug)]
pub(super) struct Handle {
    pub(super) prepared: Prepared,
    /// Types that the last execution told.
    pub(super) types: Option<Vec<u8>>,
}

impl Handle {
    pub(super) const fn new(prepared: Prepared) -> Self {
        Self { prepared, types: None }
    }

    /// The body of an execution, without types if they were told and it `may_omit` them.
    pub(super) fn body(&mut self, execution: &Execution, may_omit: bool, with_cursor: bool) -> Vec<u8> {
        let types = Some(execution.types());
        let with_types = !may_omit || self.types != types;
        self.types = types;
        execution.body(self.prepared.id, with_types, with_cursor)
    }
}

impl Command {
    /// The statement that it carries out.
    pub(super) fn statement(&self) -> Option<Statement> {
        match self {
            Self::Text(text) => parse(text),
            Self::Execute(execution) | Self::ExecuteLast(execution) => {
                bind(&execution.text, &execution.literals())
            }
            Self::Prepare(_) | Self::ResetStatement(_) | Self::Ping => None,
        }
    }

    /// The text of a statement that has to be prepared before.
    pub(super) fn needs(&self) -> Option<&str> {
        match self {
            Self::Execute(Execution { text, .. }) | Self::ResetStatement(text) => Some(text),
            _ => None,
        }
    }

    pub(super) const fn is_binary(&self) -> bool {
        matches!(self, Self::Execute(_) | Self::ExecuteLast(_))
    }

    /// Sends it; `handle` is of the statement that it [needs](Self::needs).
    pub(super) async fn send(
        &self,
        client: &mut Client<Taped>,
        handle: Option<&mut Handle>,
        may_omit: bool,
    ) -> io::Result<()> {
        let (kind, body) = match (self, handle) {
            (Self::Text(text), _) => (Kind::Query, text.clone().into_bytes()),
            (Self::Prepare(text), _) => (Kind::StmtPrepare, text.clone().into_bytes()),
            (Self::Execute(execution), Some(handle)) => {
                (Kind::StmtExecute, handle.body(execution, may_omit, false))
            }
            (Self::ExecuteLast(execution), _) => (Kind::StmtExecute, execution.body(LAST, true, false)),
            (Self::ResetStatement(_), Some(handle)) => {
                (Kind::StmtReset, handle.prepared.id.to_le_bytes().to_vec())
            }
            _ => (Kind::Ping, Vec::new()),
        };
        client.send_command(kind, &body).await
    }

    /// Reads its answer.
    pub(super) async fn read(&self, client: &mut Client<Taped>) -> Result<Got, ClientError> {
        // Each answer counts its packets anew.
        client.packets().expect_seq(1);
        match self {
            Self::Prepare(text) => read_prepared(client, text).await.map(Got::Prepared),
            _ => client.read_result().await.map(Got::Result),
        }
    }
}

/// Reads the answer to a `COM_STMT_PREPARE`.
async fn read_prepared(client: &mut Client<Taped>, text: &str) -> Result<Prepared, ClientError> {
    let capabilities = client.capabilities();
    let first = definition(client).await?;
    let ok = packet::PrepareOk::decode(&first, capabilities)?;
    let has_eof = !capabilities.contains(Capabilities::DEPRECATE_EOF);
    for count in [ok.params, ok.columns].into_iter().filter(|count| *count > 0) {
        for _ in 0..u32::from(count) + u32::from(has_eof) {
            definition(client).await?;
        }
    }
    if ok.params != super::handles::params(text) {
        return Err(ClientError::Unexpected("another number of parameters"));
    }
    Ok(Prepared { id: ok.statement_id, params: ok.params, columns: Vec::new() })
}

/// Reads a packet that may be an error.
async fn definition(client: &mut Client<Taped>) -> Result<Vec<u8>, ClientError> {
    let payload = client.packets().read().await?;
    if payload.first() != Some(&packet::Err::HEADER) {
        return Ok(payload);
    }
    let error = packet::Err::decode(&payload, client.capabilities())?;
    Err(ServerError {
        code: error.code,
        sql_state: String::from_utf8_lossy(&error.sql_state.unwrap_or(*b"HY000")).into_owned(),
        message: String::from_utf8_lossy(error.message).into_owned(),
    }
    .into())
}
