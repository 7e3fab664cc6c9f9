//! What a login gives a session, as far as a reset of the connection, or another login over it,
//! does not give it again.
//!
//! | | MariaDB: a reset | MariaDB: `COM_CHANGE_USER` | MySQL: a reset |
//! |---|---|---|---|
//! | `IGNORE_SPACE` of the client's capabilities | lost | lost | kept |
//! | `wait_timeout` of interactive clients | lost | lost | kept |
//! | the account's `MAX_STATEMENT_TIME` | lost | kept | there is none |
//! | the character set of the login | kept since 10.5 at the latest | kept | lost |
//! | the limit of `max_allowed_packet` | the old one | the old one | the old one |
//!
//! Measured at MariaDB 10.11 and MySQL 9.7. A server may give another character set than the login
//! asks for (`skip-character-set-client-handshake`): where a reset keeps it, nothing is said of it.

use sql::Dialect;
use tokio::time::Instant;
use wire::Capabilities;
use wire::packet::Cells;

use crate::limits::{ACCOUNT_LIMITS_AGE_MAX, QUIET_LOGINS};
use crate::purpose::Purpose;

/// Capabilities of a client whose effects `COM_CHANGE_USER` takes away at MariaDB.
pub const LOST_AT_MARIADB: Capabilities = Capabilities::IGNORE_SPACE.union(Capabilities::INTERACTIVE);

/// Asks, before anything was reset there, which packets the server takes over a connection.
pub(crate) const PACKET_QUESTION: &str = "SELECT @@SESSION.max_allowed_packet";

/// Takes back what stays in force behind a reset, although the variables do not show it.
pub(crate) const TIMEOUTS: &str = "SET SESSION net_write_timeout = DEFAULT, net_read_timeout = DEFAULT";

/// Asks, behind a reset or a login, what servers do at logins.
pub(crate) const fn question(dialect: Option<Dialect>) -> &'static str {
    if is_mariadb(dialect) {
        "SELECT @@init_connect <> '', @@GLOBAL.max_allowed_packet, @@max_statement_time, @@GLOBAL.max_statement_time"
    } else {
        "SELECT @@init_connect <> '', @@GLOBAL.max_allowed_packet"
    }
}

/// What makes a connection anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behind {
    /// `COM_RESET_CONNECTION`.
    Reset,
    /// `COM_CHANGE_USER` to the same user: the server lets the client in, or tells the limits of
    /// the account, which a reset does not bring back.
    Login,
}

/// What is known of the logins over a connection.
#[derive(Debug, Default)]
pub(crate) struct LoginState {
    /// The longest packet that the server takes, in bytes: the connection has it since it was
    /// opened.
    max_packet: Option<u64>,
    /// When the server has taken a reset, and was seen to do nothing at logins that a reset does
    /// not repeat.
    quiet_since: Option<Instant>,
    /// `max_statement_time` of the account, in seconds, and when a login has told it; nothing if
    /// the account has none.
    limit: Option<(Instant, Option<Box<str>>)>,
}

/// Why a connection is of no use to a session that has logged in meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// The server does something at logins, or its answer makes no sense.
    Connection,
    /// The server takes longer or shorter packets over new connections.
    Packets,
}

impl LoginState {
    /// Whether it is known which packets the server takes.
    pub(crate) const fn knows_packets(&self) -> bool {
        self.max_packet.is_some()
    }

    /// Takes note of the answer to [`PACKET_QUESTION`], or to the [`question`] that was asked
    /// `behind` a reset or a login.
    pub(crate) fn note(
        &mut self,
        purpose: Purpose,
        row: &[u8],
        behind: Behind,
        now: Instant,
    ) -> Result<(), Unfit> {
        let mut cells = Cells::of(row).map_while(|cell| cell).fuse();
        if purpose == Purpose::Packets {
            self.max_packet = Some(number(cells.next()).ok_or(Unfit::Connection)?);
            return Ok(());
        }
        if cells.next() == Some(b"1") {
            return Err(Unfit::Connection);
        }
        let max_packet = number(cells.next()).ok_or(Unfit::Connection)?;
        if self.max_packet != Some(max_packet) {
            return Err(Unfit::Packets);
        }
        if behind == Behind::Reset {
            self.quiet_since = Some(now);
        }
        if let (Behind::Login, Some(own), Some(global)) = (behind, cells.next(), cells.next()) {
            let is_number = own.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
            let own = std::str::from_utf8(own).ok().filter(|_| is_number).ok_or(Unfit::Connection)?;
            self.limit = Some((now, (own.as_bytes() != global).then(|| own.into())));
        }
        Ok(())
    }

    /// Whether the server was seen to do nothing at logins, not long ago.
    pub(crate) fn is_quiet(&self, now: Instant) -> bool {
        self.quiet_since.is_some_and(|since| now.saturating_duration_since(since) < QUIET_LOGINS)
    }

    /// Whether a login has told the limits of the account, not long ago.
    pub(crate) fn knows_account(&self, now: Instant) -> bool {
        let told = self.limit.as_ref().map(|(told, _)| now.saturating_duration_since(*told));
        told.is_some_and(|age| age < ACCOUNT_LIMITS_AGE_MAX)
    }

    fn max_statement_time(&self) -> Option<&str> {
        self.limit.as_ref()?.1.as_deref()
    }
}

/// A statement that gives back what `behind` has taken of what a login with these `capabilities`
/// and this `collation` gives.
pub(crate) fn correction(
    dialect: Option<Dialect>,
    (capabilities, collation): (Capabilities, u16),
    state: Option<&LoginState>,
    behind: Behind,
) -> Option<String> {
    let resets = behind == Behind::Reset;
    let mut parts = Vec::new();
    if capabilities.contains(Capabilities::IGNORE_SPACE) && (resets || is_mariadb(dialect)) {
        parts.push("sql_mode = CONCAT(@@sql_mode, ',IGNORE_SPACE')".to_owned());
    }
    if capabilities.contains(Capabilities::INTERACTIVE) && is_mariadb(dialect) {
        parts.push("wait_timeout = @@GLOBAL.interactive_timeout".to_owned());
    }
    if let Some(seconds) = state.and_then(LoginState::max_statement_time).filter(|_| resets) {
        parts.push(format!("max_statement_time = {seconds}"));
    }
    if resets && !dialect.is_some_and(Dialect::resets_to_charset_of_login) {
        // Servers take the number that a login has.
        parts.push(format!(
            "character_set_client = {collation}, character_set_results = {collation}, collation_connection = {collation}"
        ));
    }
    (!parts.is_empty()).then(|| format!("SET {}", parts.join(", ")))
}

const fn is_mariadb(dialect: Option<Dialect>) -> bool {
    matches!(dialect, Some(dialect) if dialect.is_mariadb())
}

fn number(cell: Option<&[u8]>) -> Option<u64> {
    std::str::from_utf8(cell?).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARIADB: &[u8] = b"5.5.5-10.11.6-MariaDB";

    fn row(cells: &[&str]) -> Vec<u8> {
        cells
            .iter()
            .flat_map(|cell| [&[u8::try_from(cell.len()).unwrap()], cell.as_bytes()].concat())
            .collect()
    }

    fn known(behind: Behind, cells: &[&str]) -> Result<LoginState, Unfit> {
        let mut state = LoginState::default();
        state.note(Purpose::Packets, &row(&["1000"]), behind, Instant::now())?;
        state.note(Purpose::Question, &row(cells), behind, Instant::now())?;
        Ok(state)
    }

    #[test]
    fn the_limit_of_an_account_is_said_behind_resets() {
        let now = Instant::now();
        let state = known(Behind::Login, &["0", "1000", "2.500000", "0.000000"]).unwrap();
        assert!(state.knows_account(now) && !state.knows_account(now + ACCOUNT_LIMITS_AGE_MAX * 2));
        assert!(!state.is_quiet(now), "it has taken no reset yet");
        let said = |dialect, capabilities, behind| {
            correction(Dialect::of(dialect), (capabilities, 45), Some(&state), behind)
        };
        let none = Capabilities::empty();
        assert_eq!(said(MARIADB, none, Behind::Reset).as_deref(), Some("SET max_statement_time = 2.500000"));
        assert_eq!(said(MARIADB, none, Behind::Login), None);
        let lost = said(MARIADB, LOST_AT_MARIADB, Behind::Login).unwrap();
        assert!(lost.contains("IGNORE_SPACE") && lost.contains("interactive_timeout"), "{lost}");
        assert_eq!(said(b"9.7.0", LOST_AT_MARIADB, Behind::Login), None);
        let usual = known(Behind::Login, &["0", "1000", "0.000000", "0.000000"]).unwrap();
        assert_eq!(correction(Dialect::of(MARIADB), (none, 45), Some(&usual), Behind::Reset), None);
    }

    #[test]
    fn a_character_set_is_said_where_a_reset_takes_it_away() {
        let said = |version: &[u8]| {
            correction(Dialect::of(version), (Capabilities::empty(), 45), None, Behind::Reset)
        };
        assert_eq!(said(MARIADB), None);
        for version in [&b"9.7.0"[..], b"5.5.5-10.2.4-MariaDB", b"who knows"] {
            assert!(said(version).is_some_and(|text| text.contains("character_set_client = 45")));
        }
    }

    #[test]
    fn a_connection_that_is_not_like_a_new_one_is_of_no_use() {
        for (cells, unfit) in [
            (&["1", "1000"][..], Unfit::Connection),
            (&["0", "2000"], Unfit::Packets),
            (&["0", "many"], Unfit::Connection),
            (&["0", "1000", "1, x = 2", "0.0"], Unfit::Connection),
            (&[], Unfit::Connection),
        ] {
            assert_eq!(known(Behind::Login, cells).unwrap_err(), unfit, "{cells:?}");
        }
        assert!(known(Behind::Reset, &["0", "1000"]).unwrap().is_quiet(Instant::now()));
        assert!(
            LoginState::default().note(Purpose::Packets, b"\xfb", Behind::Reset, Instant::now()).is_err()
        );
    }
}
