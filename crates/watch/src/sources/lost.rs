//! Why a server's log is not followed any more.

use upstream::OpenError;

/// Why a server's log is not followed any more.
#[derive(Debug, thiserror::Error)]
pub(super) enum Lost {
    /// There is no connection.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The server refuses a statement.
    #[error("`{statement}`: {error}")]
    Refused {
        /// The statement.
        statement: String,
        /// The server's words.
        error: String,
    },
    /// The connection or the stream has ended. The log may be read on over other ones.
    #[error("{0}")]
    Cut(String),
    /// The server answers, and its log is of no use.
    #[error("{0}")]
    Useless(&'static str),
    /// The stream tells that events are missing, or tells what is not understood.
    #[error("{0}")]
    Doubtful(String),
}

/// `ER_MASTER_FATAL_ERROR_READING_BINLOG`: the log cannot be read from the place that was asked
/// for. Most often the server has purged it.
const FATAL: u16 = 1236;

impl Lost {
    /// The server has ended the stream with an error.
    pub(super) fn of_error(code: u16, message: &str) -> Self {
        let text = format!("error {code}: {message}");
        if code == FATAL { Self::Doubtful(text) } else { Self::Cut(text) }
    }

    /// Whether the log cannot be read on where it was.
    pub(super) const fn forgets(&self) -> bool {
        matches!(self, Self::Useless(_) | Self::Doubtful(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_cannot_be_read_from_a_place_is_forgotten() {
        assert!(Lost::of_error(FATAL, "purged").forgets());
        let killed = Lost::of_error(1927, "Connection was killed");
        assert_eq!(
            (killed.to_string(), killed.forgets()),
            ("error 1927: Connection was killed".into(), false)
        );
    }
}
