//! What is known of a statement that is over.

use crate::Logs;
use crate::limits::RECORD_BYTES;

/// One statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The logs that it goes to.
    pub logs: Logs,
    /// What the client has sent.
    pub event: Event,
    /// The connection id that the client was told.
    pub thread_id: u32,
    /// The client's user.
    pub user: Box<[u8]>,
    /// The schema of the session; empty if there is none.
    pub schema: Box<[u8]>,
    /// The client's address with its port; empty on a Unix socket.
    pub client: Box<str>,
    /// Where it went; nothing if the proxy itself has answered.
    pub target: Option<Target>,
    /// When its answer was over, in microseconds of Unix time.
    pub end_us: u64,
    /// Microseconds that it took.
    pub took_us: u64,
    /// The hash of its digest text; `None` if digests are off.
    pub digest: Option<u64>,
    /// How it ended.
    pub outcome: Outcome,
    /// The GTID of the transaction that it has committed, if its server was asked for that.
    pub gtid: Option<Box<str>>,
    /// Its text, which may be cut.
    pub text: Box<[u8]>,
    /// Bytes that the text had before it was cut.
    pub text_len: u64,
}

/// A kind of statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// `COM_QUERY`.
    Query,
    /// `COM_STMT_EXECUTE`, with the id of the statement that the client knows.
    Execute(u32),
    /// `COM_STMT_PREPARE`, with the id that the client got.
    Prepare(u32),
}

/// A server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Its hostgroup.
    pub hostgroup: u32,
    /// Its address with its port.
    pub server: Box<str>,
}

/// How a statement ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Rows that it changed, if it ended with an OK packet.
    pub rows_affected: Option<u64>,
    /// The first key that it made; 0 if there is none.
    pub last_insert_id: u64,
    /// Rows of its results, if it had any.
    pub rows_sent: Option<u64>,
    /// The number of the error; 0 if there was none.
    pub error: u16,
}

impl Event {
    /// ProxySQL's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Query => "COM_QUERY",
            Self::Execute(_) => "COM_STMT_EXECUTE",
            Self::Prepare(_) => "COM_STMT_PREPARE",
        }
    }

    /// ProxySQL's number.
    pub const fn number(self) -> u8 {
        match self {
            Self::Query => 0,
            Self::Execute(_) => 16,
            Self::Prepare(_) => 17,
        }
    }

    /// The id of the prepared statement.
    pub const fn statement(self) -> Option<u32> {
        match self {
            Self::Query => None,
            Self::Execute(id) | Self::Prepare(id) => Some(id),
        }
    }
}

impl Record {
    /// A query of which nothing but its text and its logs is known: the first connection's, which
    /// took 1 microsecond.
    pub fn of(text: &[u8], logs: Logs) -> Self {
        Self {
            logs,
            event: Event::Query,
            thread_id: 1,
            user: [].into(),
            schema: [].into(),
            client: "".into(),
            target: None,
            end_us: 1,
            took_us: 1,
            digest: None,
            outcome: Outcome::default(),
            gtid: None,
            text: text.into(),
            text_len: text.len() as u64,
        }
    }

    /// When it began, in microseconds of Unix time.
    pub const fn start_us(&self) -> u64 {
        self.end_us.saturating_sub(self.took_us)
    }

    /// Whether some of its text is missing.
    pub const fn is_cut(&self) -> bool {
        self.text_len > self.text.len() as u64
    }

    /// Bytes of memory that it takes, roughly.
    pub(crate) fn weight(&self) -> usize {
        let gtid = self.gtid.as_ref().map_or(0, |gtid| gtid.len());
        RECORD_BYTES + self.user.len() + self.schema.len() + self.client.len() + gtid + self.text.len()
    }
}
