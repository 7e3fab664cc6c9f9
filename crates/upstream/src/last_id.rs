//! The last insert id of a session that has left its connection: only the server knows it, so that
//! it is asked before the connection changes hands.

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

/// Tells the session that has left this what its server has said of its last key.
pub(crate) fn tell_last_id(left: &Left, reply: &Reply) {
    if let Some((asking, last_id)) = left.asking.as_ref().zip(reply.number()) {
        asking.told(last_id);
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
    tell_last_id(left, &ask(worker, link, capabilities, question).await?);
    Ok(())
}
