//! What a `SET` has set that is not written in it: `SET sql_mode = @before`. Its server is asked
//! right behind, while the client has its answer already, and what it tells can be said elsewhere.
//! Until then, and if it cannot be asked, the session keeps its connection. In a transaction, and
//! while the client may ask for warnings, it is asked later.

use legs::entry::BookEntry;
use legs::facts::asking::ask_text_besides;
use legs::facts::orders::note_own_limit;
use legs::leg::Leg;
use upstream::Reply;
use wire::{Capabilities, Codec as _, packet};

use crate::ending::Ending;
use crate::state::{Setting, set};

/// The types of numbers in definitions of columns: `MYSQL_TYPE_TINY` to `MYSQL_TYPE_DOUBLE`,
/// `_LONGLONG`, `_INT24`, `_YEAR`, `_NEWDECIMAL`.
const NUMBERS: [u8; 9] = [1, 2, 3, 4, 5, 8, 9, 13, 246];

/// Values of a variable that are kept have fewer bytes.
const VALUE_BYTES_END: usize = 0xfb;

/// Asks the server what the session has set there.
pub(super) async fn ask_what_is_set(entry: &BookEntry, leg: &mut Leg) -> Result<(), Ending> {
    let Some(link) = leg.links.connection() else { return Ok(()) };
    let names: Vec<Box<str>> = link.state().pins.unknown_values().map(Box::from).collect();
    let columns: Vec<String> = names.iter().map(|name| set::question(name)).collect();
    let reply = ask_text_besides(entry, leg, format!("SELECT {}", columns.join(", ")).as_bytes()).await?;
    leg.links.hide_last_result(&mut leg.state);
    let settings = reply.map(|reply| told(&reply, &names, leg.state.identity.capabilities));
    if let Some(link) = leg.links.state_mut() {
        leg.state.note_told(settings.unwrap_or_default(), link);
    }
    note_own_limit(entry, leg);
    Ok(())
}

/// The settings that the answer to a question for these variables tells.
fn told(reply: &Reply, names: &[Box<str>], caps: Capabilities) -> Vec<Setting> {
    let definitions = reply.rows().into_iter().flat_map(|rows| rows.definitions());
    let mut settings = Vec::new();
    for ((name, column), value) in names.iter().zip(definitions).zip(reply.only_cells()) {
        // Longer values are not brought elsewhere.
        let is_short = value.is_none_or(|value| value.len() < VALUE_BYTES_END);
        let Some(column) = packet::Column::decode(column, caps).ok().filter(|_| is_short) else { break };
        settings.extend(set::of_told(name, value, NUMBERS.contains(&column.kind)));
    }
    settings
}
