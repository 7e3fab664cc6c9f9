//! What a client asks for in the first comment of a statement, or in an attribute of it.

/// The keys of `/* key=value;... */` as values; what is not given is `None`. They beat the rules.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Hints {
    /// `hostgroup`.
    pub hostgroup: Option<u32>,
    /// `cache_ttl`, in milliseconds.
    pub cache_ttl_ms: Option<u64>,
    /// `query_delay`, in milliseconds.
    pub delay_ms: Option<u64>,
    /// `query_retries`.
    pub retries: Option<u32>,
    /// `query_timeout`, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// `mirror`: the hostgroup that a copy goes to.
    pub mirror: Option<u32>,
    /// `max_lag_ms`: most lag of the server, in milliseconds.
    pub max_lag_ms: Option<u64>,
    /// `min_epoch_ms`: the time whose writes the server must have, in milliseconds since 1970.
    pub min_epoch_ms: Option<u64>,
    /// `min_gtid`: what the server must have executed.
    pub min_gtid: Option<String>,
    /// `create_new_connection=1`.
    pub create_new_connection: bool,
    /// `access_mode`: `read_write`, `read_only` or `auto`. Not one of ProxySQL's; MySQL Router has it as an attribute.
    pub access_mode: Option<Access>,
}

/// Which side of a replication pair a client wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// The writer.
    ReadWrite,
    /// A reader.
    ReadOnly,
    /// As the split decides.
    Auto,
}

impl Hints {
    /// Greatest value of `max_lag_ms`.
    const LAG_MS_MAX: u64 = 600_000;

    /// The lag that the server may have in milliseconds, at the time `now_ms` since 1970.
    pub(crate) fn lag_ms(&self, now_ms: u64) -> Option<u64> {
        let epoch = self.min_epoch_ms.map(|epoch| now_ms.saturating_sub(epoch));
        epoch.or(self.max_lag_ms).filter(|lag| *lag <= Self::LAG_MS_MAX)
    }
}

impl Access {
    /// The value of `access_mode`.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "read_write" => Some(Self::ReadWrite),
            "read_only" => Some(Self::ReadOnly),
            "auto" => Some(Self::Auto),
            _ => None,
        }
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReadWrite => "read_write",
            Self::ReadOnly => "read_only",
            Self::Auto => "auto",
        }
    }
}
