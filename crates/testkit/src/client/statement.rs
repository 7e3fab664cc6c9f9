//! Prepared statements.

use tokio::io::{AsyncRead, AsyncWrite};
use wire::codec::put_lenenc_bytes;
use wire::command::Kind;
use wire::{Codec as _, StatusFlags, packet};

use super::{Client, ClientError, Column, QueryResult, result};

/// `MYSQL_TYPE_NULL`.
const TYPE_NULL: u8 = 6;
/// `MYSQL_TYPE_LONGLONG`.
const TYPE_LONGLONG: u8 = 8;
/// `MYSQL_TYPE_VAR_STRING`.
const TYPE_VAR_STRING: u8 = 253;
/// `CURSOR_TYPE_READ_ONLY` of `COM_STMT_EXECUTE`.
const CURSOR_READ_ONLY: u8 = 1;

/// A statement that the server has prepared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// The server's number for it.
    pub id: u32,
    /// Number of `?` in it.
    pub params: u16,
    /// The columns of its result.
    pub columns: Vec<Column>,
}

/// A parameter of a prepared statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// NULL.
    Null,
    /// A signed integer.
    Int(i64),
    /// Text or bytes.
    Bytes(Vec<u8>),
    /// Text or bytes that went ahead with [`Client::send_long_data`].
    Sent,
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Bytes(value.as_bytes().to_vec())
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Client<S> {
    /// Prepares a statement.
    ///
    /// # Errors
    /// As [`Client::query`].
    pub async fn prepare(&mut self, sql: &str) -> Result<Statement, ClientError> {
        self.send_command(Kind::StmtPrepare, sql.as_bytes()).await?;
        let capabilities = self.capabilities();
        let payload = self.packets.read().await?;
        if payload.first() == Some(&packet::Err::HEADER) {
            return Err(ClientError::from_packet(&payload, capabilities));
        }
        let ok = packet::PrepareOk::decode(&payload, capabilities)?;
        if ok.params > 0 {
            result::read_columns(&mut self.packets, ok.params.into()).await?;
            result::read_eof(&mut self.packets).await?;
        }
        let mut columns = Vec::new();
        if ok.columns > 0 {
            columns = result::read_columns(&mut self.packets, ok.columns.into()).await?;
            result::read_eof(&mut self.packets).await?;
        }
        Ok(Statement { id: ok.statement_id, params: ok.params, columns })
    }

    /// Runs a prepared statement; rows are kept as binary packets.
    ///
    /// # Errors
    /// As [`Client::query`].
    pub async fn execute(
        &mut self,
        statement: &Statement,
        params: &[Value],
    ) -> Result<QueryResult, ClientError> {
        self.send_command(Kind::StmtExecute, &execute_body(statement, params, 0)).await?;
        self.read_result().await
    }

    /// Sends what runs a prepared statement, and reads nothing.
    ///
    /// # Errors
    /// When the connection is broken.
    pub async fn send_execute(&mut self, statement: &Statement, params: &[Value]) -> Result<(), ClientError> {
        Ok(self.send_command(Kind::StmtExecute, &execute_body(statement, params, 0)).await?)
    }

    /// Runs a prepared statement with a cursor: its rows come with [`fetch`](Self::fetch).
    ///
    /// # Errors
    /// As [`Client::query`].
    pub async fn open_cursor(
        &mut self,
        statement: &Statement,
        params: &[Value],
    ) -> Result<QueryResult, ClientError> {
        self.send_command(Kind::StmtExecute, &execute_body(statement, params, CURSOR_READ_ONLY)).await?;
        self.read_result().await
    }

    /// The next `count` rows of a cursor; [`StatusFlags::LAST_ROW_SENT`] in the result's status
    /// says that there are no more.
    ///
    /// # Errors
    /// As [`Client::query`].
    pub async fn fetch(&mut self, statement: &Statement, count: u32) -> Result<QueryResult, ClientError> {
        let body = [statement.id.to_le_bytes(), count.to_le_bytes()].concat();
        self.send_command(Kind::StmtFetch, &body).await?;
        let mut result = QueryResult::default();
        result::read_rows(&mut self.packets, &mut result).await?;
        self.status = result.status;
        debug_assert!(!self.status.contains(StatusFlags::MORE_RESULTS), "a fetch has one result");
        Ok(result)
    }

    /// Sends a part of a long parameter; the server does not answer.
    ///
    /// # Errors
    /// When the connection is broken.
    pub async fn send_long_data(
        &mut self,
        statement: &Statement,
        param: u16,
        data: &[u8],
    ) -> Result<(), ClientError> {
        let body = [&statement.id.to_le_bytes()[..], &param.to_le_bytes(), data].concat();
        Ok(self.send_command(Kind::SendLongData, &body).await?)
    }

    /// Forgets a statement; the server does not answer.
    ///
    /// # Errors
    /// When the connection is broken.
    pub async fn close(&mut self, statement: Statement) -> Result<(), ClientError> {
        Ok(self.send_command(Kind::StmtClose, &statement.id.to_le_bytes()).await?)
    }
}

/// The body of `COM_STMT_EXECUTE`, always with types. Source: `COM_STMT_EXECUTE` in MySQL's
/// documentation.
fn execute_body(statement: &Statement, params: &[Value], flags: u8) -> Vec<u8> {
    let mut body = statement.id.to_le_bytes().to_vec();
    body.push(flags);
    body.extend_from_slice(&1_u32.to_le_bytes()); // iteration count
    if params.is_empty() {
        return body;
    }
    let mut nulls = vec![0_u8; params.len().div_ceil(8)];
    let mut types = Vec::new();
    let mut values = Vec::new();
    for (index, param) in params.iter().enumerate() {
        let kind = match param {
            Value::Null => {
                nulls[index / 8] |= 1 << (index % 8);
                TYPE_NULL
            }
            Value::Int(value) => {
                values.extend_from_slice(&value.to_le_bytes());
                TYPE_LONGLONG
            }
            Value::Bytes(value) => {
                put_lenenc_bytes(&mut values, value);
                TYPE_VAR_STRING
            }
            Value::Sent => TYPE_VAR_STRING,
        };
        types.extend_from_slice(&[kind, 0]);
    }
    body.extend_from_slice(&nulls);
    body.push(1); // types follow
    body.extend_from_slice(&types);
    body.extend_from_slice(&values);
    body
}
