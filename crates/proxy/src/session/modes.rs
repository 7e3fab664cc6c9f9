//! Preparing a text that means something else by now: it is prepared in the schema, the character sets and the SQL mode of its time, and what
//! is set now is set again behind that.
//!
//! Where texts are about to mean something else, statements that are not at the connection in use are prepared there at once
//! ([`Session::prepare_missing`]). But that takes away warnings that the client may still ask for. Then the modes are asked for instead,
//! which leaves warnings as they are, and the statements are prepared when they are executed.

use std::rc::Rc;

use wire::codec::Reader;
use wire::command::Kind;
use wire::frame::HEADER_LEN;
use wire::reply::Answer;

use super::Session;
use super::last_result::NOWHERE;
use super::prepare::NotPrepared;
use crate::backend::{Asked, only_row};
use crate::ending::Ending;
use crate::error::Gone;
use crate::state::Pin;

/// Asks for all that decides what a text means, but for the schema. The character set of results does not: of a statement that is
/// prepared it changes nothing but what is said of its columns.
const QUESTION: &[u8] = b"SELECT @@sql_mode, @@character_set_client, @@collation_connection";

/// The same variables, in that order.
const VARIABLES: [&str; 3] = ["sql_mode", "character_set_client", "collation_connection"];

/// What texts mean at a time.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Modes {
    /// The statement that sets it.
    set: Box<[u8]>,
    /// Empty if it was none: then texts that could be prepared mean the same in all of them.
    schema: Box<[u8]>,
}

/// The statement that sets the variables to what is in this row of text; `None` if it makes no sense.
fn set_of(row: &[u8]) -> Option<Box<[u8]>> {
    let (mut rest, mut assignments) = (row, Vec::new());
    for name in VARIABLES {
        let mut reader = Reader::new(rest);
        let value = std::str::from_utf8(reader.lenenc_bytes("value").ok()?).ok()?;
        rest = rest.get(rest.len() - reader.left()..)?;
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b',');
        if !value.bytes().all(is_plain) {
            return None;
        }
        assignments.push(format!("{name} = '{value}'"));
    }
    Some(format!("SET {}", assignments.join(", ")).into_bytes().into())
}

impl Session {
    /// Has the statements that are not at the backend in use keep the modes in which they were prepared, if the client may ask it for
    /// warnings. False if they are to be prepared there at once.
    pub(super) async fn keep_modes(&mut self) -> Result<bool, Ending> {
        let hostgroup = self.course.hostgroup;
        let holds = |pin| self.course.pins.holds(pin, hostgroup);
        // The question takes away what it found.
        if !holds(Pin::Warnings) || holds(Pin::FoundRows) {
            return Ok(false);
        }
        let Ok(Some(modes)) = self.ask_modes().await? else { return Ok(false) };
        let modes = Rc::new(modes);
        let Some(all) = &mut self.course.prepared else { return Ok(false) };
        for id in all.missing_at(hostgroup).collect::<Vec<_>>() {
            all.keep_modes(id, Rc::clone(&modes));
        }
        Ok(true)
    }

    /// What texts mean at the backend in use; nothing if that could not be set again.
    async fn ask_modes(&mut self) -> Result<Result<Option<Modes>, NotPrepared>, Ending> {
        if self.course.pins.holds(Pin::Schema, self.course.hostgroup) {
            return Ok(Ok(None));
        }
        let schema = Box::from(self.course.caller.schema());
        let question = (self.query(QUESTION), Answer::Result);
        let answered = self.errand(&[question]).await?;
        // It hides how many rows the statement before had.
        self.note_ran();
        (self.course.ran_on, self.course.found_on) = (NOWHERE, NOWHERE);
        Ok(match answered {
            Err(error) => Err(NotPrepared::Lost(error)),
            Ok(replies) => {
                let row = replies.first().filter(|reply| reply.error().is_none()).and_then(only_row);
                Ok(row.and_then(set_of).map(|set| Modes { set, schema }))
            }
        })
    }

    /// Prepares a statement in these modes at the backend in use; the number that it has there, or why it has none.
    pub(super) async fn prepare_in(
        &mut self,
        modes: &Modes,
        id: u32,
    ) -> Result<Result<u32, NotPrepared>, Ending> {
        let now = match self.ask_modes().await? {
            Err(why) => return Ok(Err(why)),
            Ok(None) => return Ok(Err(NotPrepared::Cannot)),
            Ok(Some(now)) => now,
        };
        let Some((prepare, is_told)) = self.preparation(id) else { return Ok(Err(NotPrepared::Cannot)) };
        let (there, back) = (self.steps(&now, modes), self.steps(modes, &now));
        let place = there.len();
        let mut replies = match self.errand(&[there, vec![prepare], back].concat()).await? {
            Ok(replies) => replies,
            Err(error) => return Ok(Err(NotPrepared::Lost(error))),
        };
        let is_refused = |reply: &crate::backend::Reply| reply.error().is_some();
        if replies.iter().skip(place + 1).any(is_refused) {
            // Nobody knows what texts mean there.
            let error = self.lose_backend_for(Gone::Closed)?;
            return Ok(Err(error.map_or(NotPrepared::Cannot, NotPrepared::Lost)));
        }
        let refusal = replies.iter().take(place).find(|reply| is_refused(reply));
        let refusal = refusal.map(|reply| reply.bytes.get(HEADER_LEN..).unwrap_or_default().to_vec());
        if place >= replies.len() {
            return Ok(Err(NotPrepared::Cannot));
        }
        let prepared = self.note_placed(id, replies.swap_remove(place), is_told).await?;
        let Some(refusal) = refusal else { return Ok(prepared) };
        self.close_here(id).await?;
        Ok(Err(NotPrepared::Refused(refusal)))
    }

    /// What has to be said to get from one of them to the other.
    fn steps(&self, from: &Modes, to: &Modes) -> Vec<Asked> {
        let mut steps = Vec::new();
        // No command leaves all schemas.
        if from.schema != to.schema && !from.schema.is_empty() && !to.schema.is_empty() {
            steps.push(([&[Kind::InitDb as u8][..], &to.schema].concat(), Answer::Single));
        }
        if from.set != to.set {
            steps.push((self.query(&to.set), Answer::Result));
        }
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_modes_becomes_what_sets_them() {
        let of = |values: &[&str]| {
            let mut row = Vec::new();
            for value in values {
                row.push(u8::try_from(value.len()).unwrap());
                row.extend_from_slice(value.as_bytes());
            }
            String::from_utf8(set_of(&row)?.into()).ok()
        };
        let set = "SET sql_mode = 'ANSI,NO_ZERO_DATE', character_set_client = 'utf8mb4', collation_connection = 'utf8mb4_bin'";
        assert_eq!(of(&["ANSI,NO_ZERO_DATE", "utf8mb4", "utf8mb4_bin"]).as_deref(), Some(set));
        assert_eq!(of(&["it's", "a", "b"]), None);
        assert_eq!(of(&["a", "b"]), None);
    }
}
