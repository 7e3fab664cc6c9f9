//! What a session consists of, as values: nothing here depends on an answer, so a script is the
//! same for both sides and can be cut short.

use std::collections::{HashMap, HashSet};
use std::fmt;

use wire::Capabilities;
use wire::codec::put_lenenc_bytes;
use wire::command::Kind;

/// Stands for the id of the connection in the text of a statement.
pub(crate) const OWN_ID: &str = "{own id}";
/// The id of a statement that was not prepared.
const NO_STATEMENT: u32 = 0x00ff_ff00;

/// One step of a session.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// A new connection; one that is still there ends without a word.
    Connect(Login),
    /// One command, whose answer is read.
    Say(Command),
    /// Commands that are all sent before an answer is read.
    Ahead(Vec<Command>),
    /// `LOAD DATA LOCAL`, and what is in the file.
    Load(String, Vec<u8>),
    /// `COM_CHANGE_USER`.
    ChangeUser(Login),
    /// The connection ends.
    Leave(Leave),
    /// Another connection of the same account sleeps under this tag, and this one kills it.
    Kill {
        /// In the text of the statement that sleeps.
        tag: String,
        /// Whether the connection is killed as well.
        whole: bool,
    },
}

/// How a connection ends.
#[derive(Debug, Clone)]
pub(crate) enum Leave {
    /// With `COM_QUIT`.
    Quit,
    /// Without a word.
    Silently,
    /// Without a word, while a statement runs.
    Unread(Command),
    /// In the middle of a command.
    Torn,
}

/// Who logs in, and as what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Login {
    /// The account's name.
    pub(crate) account: &'static str,
    /// The password, right or wrong.
    pub(crate) password: &'static str,
    /// The first schema.
    pub(crate) schema: Option<String>,
    /// The collation's id.
    pub(crate) collation: u16,
    /// What the client can.
    pub(crate) capabilities: Capabilities,
}

/// One command. Statements are named by slots, in which the side keeps the id of what was prepared
/// last.
#[derive(Clone)]
pub(crate) enum Command {
    /// `COM_QUERY`.
    Query(String),
    /// Any command without names in it.
    Plain(Kind, Vec<u8>),
    /// `COM_STMT_PREPARE`.
    Prepare(u8, String),
    /// `COM_STMT_EXECUTE`: slot, flags (1: with a cursor), parameters, whether their types are
    /// sent.
    Execute(u8, u8, Vec<Param>, bool),
    /// `COM_STMT_SEND_LONG_DATA`: slot, parameter, bytes.
    LongData(u8, u16, Vec<u8>),
    /// `COM_STMT_FETCH`: slot, rows.
    Fetch(u8, u32),
    /// `COM_STMT_RESET`.
    Reset(u8),
    /// `COM_STMT_CLOSE`.
    Close(u8),
}

/// A parameter of a prepared statement.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Param {
    /// NULL.
    Null,
    /// BIGINT.
    Int(i64),
    /// DOUBLE.
    Double(f64),
    /// A string.
    Text(String),
    /// Sent before, as long data.
    Sent,
}

impl Param {
    /// Its type in the binary protocol.
    pub(crate) const fn kind(&self) -> u8 {
        match self {
            Self::Null => 6,
            Self::Int(_) => 8,
            Self::Double(_) => 5,
            Self::Text(_) => 253,
            Self::Sent => 252,
        }
    }
}

/// What a side knows that is not the same on the other.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// The id of the connection, as the greeting had it.
    pub(crate) own_id: u32,
    /// The ids of prepared statements by slot.
    pub(crate) slots: HashMap<u8, u32>,
    /// Slots whose statement returns the connection's id.
    pub(crate) naming: HashSet<u8>,
}

impl Command {
    /// The payload, with the names of one side.
    pub(crate) fn payload(&self, names: &Names) -> Vec<u8> {
        let id = |slot: &u8| names.slots.get(slot).copied().unwrap_or(NO_STATEMENT).to_le_bytes();
        let message = |kind: Kind, parts: &[&[u8]]| [&[kind as u8][..], &parts.concat()].concat();
        match self {
            Self::Query(sql) => {
                message(Kind::Query, &[sql.replace(OWN_ID, &names.own_id.to_string()).as_bytes()])
            }
            Self::Plain(kind, body) => message(*kind, &[body]),
            Self::Prepare(_, sql) => message(Kind::StmtPrepare, &[sql.as_bytes()]),
            Self::Execute(slot, flags, params, typed) => message(
                Kind::StmtExecute,
                &[&id(slot), &[*flags], &1_u32.to_le_bytes(), &values(params, *typed)],
            ),
            Self::LongData(slot, param, data) => {
                message(Kind::SendLongData, &[&id(slot), &param.to_le_bytes(), data])
            }
            Self::Fetch(slot, rows) => message(Kind::StmtFetch, &[&id(slot), &rows.to_le_bytes()]),
            Self::Reset(slot) => message(Kind::StmtReset, &[&id(slot)]),
            Self::Close(slot) => message(Kind::StmtClose, &[&id(slot)]),
        }
    }

    /// Whether it is about a prepared statement, which an error may name.
    pub(crate) const fn names_statement(&self) -> bool {
        matches!(
            self,
            Self::Execute(..) | Self::LongData(..) | Self::Fetch(..) | Self::Reset(_) | Self::Close(_)
        )
    }

    /// Whether the session may be in another schema behind it.
    pub(crate) fn may_change_schema(&self) -> bool {
        match self {
            Self::Query(sql) => sql.to_ascii_lowercase().contains("use "),
            Self::Plain(kind, _) => *kind == Kind::InitDb,
            _ => false,
        }
    }

    /// Whether the connection's id may be in the answer.
    pub(crate) fn is_naming(&self, names: &Names) -> bool {
        match self {
            Self::Query(sql) | Self::Prepare(_, sql) => {
                let sql = sql.to_ascii_lowercase();
                sql.contains("connection_id") || sql.contains("pseudo_thread_id")
            }
            Self::Execute(slot, ..) | Self::Fetch(slot, _) => names.naming.contains(slot),
            _ => false,
        }
    }
}

/// Null bits, types and values. Source: `COM_STMT_EXECUTE` in MySQL's documentation.
fn values(params: &[Param], typed: bool) -> Vec<u8> {
    if params.is_empty() {
        return Vec::new();
    }
    let mut nulls = vec![0_u8; params.len().div_ceil(8)];
    let mut types = Vec::new();
    let mut values = Vec::new();
    for (index, param) in params.iter().enumerate() {
        types.extend_from_slice(&[param.kind(), 0]);
        match param {
            Param::Null => nulls[index / 8] |= 1 << (index % 8),
            Param::Int(value) => values.extend_from_slice(&value.to_le_bytes()),
            Param::Double(value) => values.extend_from_slice(&value.to_le_bytes()),
            Param::Text(value) => put_lenenc_bytes(&mut values, value.as_bytes()),
            Param::Sent => {}
        }
    }
    if !typed {
        types.clear();
    }
    [&nulls[..], &[u8::from(typed)], &types, &values].concat()
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = |bytes: &[u8]| {
            let shown = bytes.get(..300).unwrap_or(bytes).escape_ascii().to_string();
            if bytes.len() > 300 { format!("{shown}... ({} bytes)", bytes.len()) } else { shown }
        };
        match self {
            Self::Query(sql) => write!(f, "{}", short(sql.as_bytes())),
            Self::Plain(kind, body) => write!(f, "{kind:?} {}", short(body)),
            Self::Prepare(slot, sql) => write!(f, "prepare {slot}: {}", short(sql.as_bytes())),
            Self::Execute(slot, flags, params, typed) => {
                let params = short(format!("{params:?}").as_bytes());
                write!(
                    f,
                    "execute {slot} flags {flags} {params} {}",
                    if *typed { "" } else { "without types" }
                )
            }
            Self::LongData(slot, param, data) => write!(f, "long data {slot}/{param}: {} bytes", data.len()),
            Self::Fetch(slot, rows) => write!(f, "fetch {slot}: {rows} rows"),
            Self::Reset(slot) => write!(f, "reset statement {slot}"),
            Self::Close(slot) => write!(f, "close statement {slot}"),
        }
    }
}
