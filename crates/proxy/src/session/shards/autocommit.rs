//! Whether a `SET` of `autocommit` ends a transaction.

use legs::entry::BookEntry;
use legs::leg::Leg;
use legs::without_writer::COMPLETION_TYPE;

use crate::session::facts::routing::judge;
use crate::state::without_writer::{Bracket, bracket};

/// What may stand in front of the variable's name.
const SCOPES: [&str; 5] = ["@@session.", "@@local.", "@@", "session ", "local "];

/// What switches it off.
const OFF: [&str; 3] = ["0", "off", "false"];

/// Whether a `SET` that may change `autocommit` leaves an open transaction as it is: servers commit
/// only if it was off and is switched on.
pub(super) fn keeps_transaction(text: &[u8], is_on: bool) -> bool {
    is_on || switches_off(text).is_some()
}

/// Nothing if the statement may do anything but switch it off.
fn switches_off(text: &[u8]) -> Option<()> {
    let text = std::str::from_utf8(text).ok()?.to_ascii_lowercase();
    let text = text.trim().trim_end_matches(';');
    let rest = text.strip_prefix("set")?.strip_prefix(char::is_whitespace)?.trim_start();
    let name = SCOPES.iter().find_map(|scope| rest.strip_prefix(scope)).unwrap_or(rest);
    let value = name.trim_start().strip_prefix("autocommit")?.trim_start();
    let value = value.strip_prefix(":=").or_else(|| value.strip_prefix('='))?.trim();
    OFF.contains(&value).then_some(())
}

/// Whether the `BEGIN` with this text may be answered here, and be said in front of the first
/// statement that its transaction has at a server: nothing is bound to a server, no rule is
/// about it, and all of the transaction goes where it would go.
pub(super) fn may_begin_later(entry: &BookEntry, leg: &Leg, text: &[u8]) -> bool {
    let account = &*leg.state.account;
    let session = leg.session();
    let is_bound = session.transaction.is_some() || session.locked_on.is_some() || session.hold.is_some();
    let is_plain = bracket(text) == Some(Bracket::Begin)
        && account.transaction_persistent
        && account.listener.is_none()
        && leg.state.here == account.default_hostgroup
        && !leg.state.settings().any(|(name, _)| name == COMPLETION_TYPE);
    if is_bound || !is_plain {
        return false;
    }
    let decided = judge(entry, leg, (text, true), None, false);
    decided.target() == Some(account.default_hostgroup) && decided.orders.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_switches_it_on_commits() {
        for text in ["SET autocommit = 0", "set  @@session.autocommit:=OFF;", "SET SESSION autocommit=false "]
        {
            assert!(keeps_transaction(text.as_bytes(), false), "{text}");
        }
        for text in [
            "SET autocommit = 1",
            "SET autocommit = 0, autocommit = 1",
            "SET autocommit = @a",
            "DROP TABLE t",
        ] {
            assert!(!keeps_transaction(text.as_bytes(), false), "{text}");
            assert!(keeps_transaction(text.as_bytes(), true), "{text}");
        }
    }
}
