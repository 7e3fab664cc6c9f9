//! What is known of a session from outside of it, as a document for the list of sessions.
//!
//! Names are those of `PROXYSQL INTERNAL SESSION`, which has more: what only the session itself
//! knows is not here, so that thousands of sessions need not be asked.

use tokio::time::Instant;

use super::Control;
use crate::document::Value::List;
use crate::document::{Form, Value, ms, object, plain, text};
use crate::users::Options;
use observe::rows::SessionStats;

impl Control {
    /// The document about the session whose row this is.
    pub fn extended(&self, row: &SessionStats, form: Form, now: Instant) -> String {
        let mut members = vec![
            ("thread", plain(row.worker)),
            ("thread_session_id", plain(row.id)),
            ("age_ms", ms(self.age(now))),
            ("status", text(row.command)),
            ("current_hostgroup", plain(row.hostgroup)),
            ("active_transactions", plain(u8::from(self.is_in_transaction()))),
            ("transaction_time_ms", ms(self.transaction_time(now))),
        ];
        if let Some(user) = self.about.user() {
            members.extend([
                ("default_hostgroup", plain(user.default_hostgroup)),
                ("transaction_persistent", plain(user.has(Options::TRANSACTION_PERSISTENT))),
                ("fast_forward", plain(user.has(Options::FAST_FORWARD))),
            ]);
        }
        members.extend(self.about.client().map(|client| ("client", client)));
        members.push(("backends", List(row.server.iter().map(|server| backend(row, server)).collect())));
        if let Some((pin, time)) = row.pin {
            members.extend([("pinned_by", text(pin)), ("pinned_ms", ms(time))]);
        }
        object(members).print(form)
    }
}

/// The connection to a server.
fn backend(row: &SessionStats, (host, port): &(String, u16)) -> Value {
    let mysql = object([("host", text(host)), ("port", plain(*port))]);
    object([("hostgroup_id", plain(row.hostgroup)), ("conn", object([("mysql", mysql)]))])
}
