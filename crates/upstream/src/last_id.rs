//! The last insert id of a session that has left its connection: only the server knows it, so that
//! it is asked before the connection changes hands.

use session::state::results::Asking;
use wire::Capabilities;
use wire::reply::Answer;

use crate::Worker;
use crate::idle_state::Left;
use crate::purpose::Purpose;
use crate::{Connection, InternalQuery, Reply, ask, query};

/// What is to be asked for the session that has left this.
pub(crate) fn last_id(left: &Left, capabilities: Capabilities) -> Option<(Purpose, InternalQuery)> {
    // At MariaDB the function would take away what `sql_auto_is_null` goes by.
    let question = || (Purpose::LastId, (query(capabilities, "SELECT @@last_insert_id"), Answer::Result));
    (!left.is_free()).then(question)
}

/// Tells the session that has left its connection what the server has said of its last key.
pub(crate) fn tell_last_id(asking: Option<&Asking>, reply: &Reply) {
    if let Some((asking, last_id)) = asking.zip(reply.number()) {
        asking.told(last_id);
    }
}

/// What is known of `LAST_INSERT_ID()` behind a setup command with this reply, if that was known
/// `before`. The session that asks for it is told, and asks no more.
pub(crate) fn last_id_behind(
    before: Option<u64>,
    purpose: Purpose,
    reply: &Reply,
    asking: &mut Option<Asking>,
) -> Option<u64> {
    match purpose {
        Purpose::LastId => {
            tell_last_id(asking.take().as_ref(), reply);
            reply.number()
        }
        Purpose::Reset => Some(0),
        // Only the server knows which key a statement of `init_connect` has generated.
        Purpose::Initial if reply.has_key() => None,
        _ => before,
    }
}

/// Asks for what the session that has left this may still want to know, and tells it.
pub(crate) async fn ask_results(
    worker: &Worker,
    link: &mut Connection,
    capabilities: Capabilities,
    left: &Left,
) -> Result<(), &'static str> {
    let Some((_, question)) = last_id(left, capabilities) else { return Ok(()) };
    tell_last_id(left.asking.as_ref(), &ask(worker, link, capabilities, question).await?);
    Ok(())
}
