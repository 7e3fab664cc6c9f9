//! Why a server's log is not followed any more.

use upstream::OpenError;

use super::seen::GAP_MAX_US;

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

    /// Whether a log that is not read since `gap_us` is not read on where it was. What was known of
    /// it then has an end: no answer is stored while a transaction is not known to be visible.
    pub(super) const fn forgets(&self, gap_us: u64) -> bool {
        matches!(self, Self::Useless(_) | Self::Doubtful(_)) || gap_us > GAP_MAX_US
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_cannot_be_read_from_a_place_is_forgotten() {
        assert!(Lost::of_error(FATAL, "purged").forgets(0));
        let killed = Lost::of_error(1927, "Connection was killed");
        assert_eq!(
            (killed.to_string(), killed.forgets(0)),
            ("error 1927: Connection was killed".into(), false)
        );
    }

    #[test]
    fn c20_a_server_that_does_not_let_in_any_more_is_forgotten_in_time() {
        let statement = "COM_REGISTER_SLAVE".to_owned();
        let refused = Lost::Refused { statement, error: "Access denied".to_owned() };
        assert!(!refused.forgets(GAP_MAX_US) && refused.forgets(GAP_MAX_US + 1));
    }
}
