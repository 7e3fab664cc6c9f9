//! Counting errors that the proxy makes itself.

use std::net::IpAddr;
use std::sync::Arc;

use net::clock::unix_s;
use observe::counts::errors::{Key, Maker};
use observe::counts::{Counter, Counts};
use observe::limits::ERROR_MESSAGE_BYTES_MAX;
use observe::rows::NO_HOSTGROUP;
use session::error::ClientError;

/// Counts an error with which a login ends, of a user that has proven to be it or of none.
#[cold]
pub(crate) fn note_refusal(
    counts: &Counts,
    client: Option<IpAddr>,
    user: Option<&Arc<[u8]>>,
    error: &ClientError,
) {
    let maker = Maker::Proxy(NO_HOSTGROUP);
    let user = user.map_or_else(|| Arc::from([]), Arc::clone);
    note(counts, Key { maker, user, client, schema: None, code: error.code() }, error);
}

/// Counts an error that the proxy has made, with its text.
pub fn note(counts: &Counts, key: Key, error: &ClientError) {
    counts.note(Counter::OwnErrors);
    let text = error.to_string();
    let text = text.as_bytes().get(..ERROR_MESSAGE_BYTES_MAX).unwrap_or(text.as_bytes());
    counts.errors.borrow_mut().note(key, text, unix_s());
}
