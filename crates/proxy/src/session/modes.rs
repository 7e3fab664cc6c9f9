//! Preparing a text that means something else by now: it is prepared in the schema, the character
//! sets and the SQL mode of its time, and what is set now is set again behind that.
//!
//! Where texts are about to mean something else, statements that are not at the connection in use
//! are prepared there at once ([`Session::prepare_missing`]). But that takes away warnings that the
//! client may still ask for. Then the modes are asked for instead, which leaves warnings as they
//! are at MariaDB, and the statements are prepared when they are executed. At MySQL it does not;
//! but there a `SET` or `USE` takes them away as well, if not a `COM_INIT_DB`.

use std::rc::Rc;

use route::Effects;
use wire::Codec as _;
use wire::codec::Reader;
use wire::command::{Kind, StmtExecute};
use wire::frame::HEADER_LEN;
use wire::reply::Answer;

use super::Session;
use super::course::Behind;
use super::course::prepared::Prepared;
use super::prepare::NotPrepared;
use crate::backend::{InternalQuery, Reply};
use crate::ending::Ending;
use crate::error::ClientError;
use crate::error::Gone;
use crate::state::{Mark, Pin};

/// Asks for all that decides what a text means. The character set of results does not: of a
/// statement that is prepared it changes nothing but what is said of its columns.
const QUESTION: &[u8] = b"SELECT @@sql_mode, @@character_set_client, @@collation_connection, DATABASE()";

/// The same, and what it takes away: how many rows the statement before has found, if only the
/// server knows that.
const QUESTION_AND_ROWS: &[u8] =
    b"SELECT @@sql_mode, @@character_set_client, @@collation_connection, DATABASE(), FOUND_ROWS()";

/// The same variables, in that order.
const VARIABLES: [&str; 3] = ["sql_mode", "character_set_client", "collation_connection"];

/// What stands for a value that is none in a row of text.
const NULL: u8 = 0xfb;

/// What statements do that may tell the schema in which they were prepared, be it none:
/// `DATABASE()`.
pub(super) const TELLS_SCHEMA: Effects = Effects::SERVER.with(Effects::UNKNOWN);

/// What texts mean at a time.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Modes {
    /// The statement that sets it.
    set: Box<[u8]>,
    /// Empty if it was none: then texts that could be prepared mean the same in all of them.
    schema: Box<[u8]>,
}

impl Modes {
    /// The statement that sets the character sets, and nothing else.
    fn charsets(&self) -> Vec<u8> {
        let set = String::from_utf8_lossy(&self.set);
        let at = set.find(VARIABLES[1]).unwrap_or_default();
        format!("SET {}", set.get(at..).unwrap_or_default()).into_bytes()
    }

    /// Whether it was none.
    pub(super) fn is_in_no_schema(&self) -> bool {
        self.schema.is_empty()
    }
}

/// The modes that are in this row of text; `schema` is what is known of theirs. `None` if they make
/// no sense, or could not be set again.
fn modes_of(row: &[u8], schema: Option<&[u8]>) -> Option<Modes> {
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
    let set = format!("SET {}", assignments.join(", ")).into_bytes().into();
    let told = || Reader::new(rest).lenenc_bytes("schema").ok().filter(|schema| is_told_as_it_is(schema));
    let schema = match schema {
        Some(schema) => schema,
        None if rest.first() == Some(&NULL) => &[],
        None => told()?,
    };
    Some(Modes { set, schema: schema.into() })
}

/// The number of rows that is at the end of this row of text, behind the modes.
fn found_in(row: &[u8]) -> Option<u64> {
    let place = row.iter().rposition(|byte| !byte.is_ascii_digit())? + 1;
    std::str::from_utf8(row.get(place..)?).ok()?.parse().ok()
}

/// Whether a name that was told in the character set of results is the same in that of commands.
fn is_told_as_it_is(name: &[u8]) -> bool {
    // What cannot be told in a character set is a question mark there.
    name.iter().all(|byte| byte.is_ascii_graphic() && *byte != b'?')
}

impl Session {
    /// Whether the statements that are not at the backend in use should keep their modes: the
    /// client may ask it for warnings, which to prepare them there would take away. At MySQL to ask
    /// for modes does so, too, as does a `SET`; and there are more variables there by which
    /// [statements go](crate::state::setting::RESOLVED).
    pub(super) fn prefers_modes(&self) -> bool {
        self.course.pins.holds(Pin::Warnings, self.course.hostgroup)
            && self.backend.as_ref().is_some_and(|backend| backend.connection().is_mariadb())
    }

    /// Has the statements that are not at the backend in use keep the modes in which they were
    /// prepared. False if they are to be prepared there at once; `leaves` says that the command may
    /// take the session into a schema, and nothing leads out of all of them.
    pub(super) async fn keep_modes(&mut self, leaves: bool) -> Result<Result<bool, ClientError>, Ending> {
        let hostgroup = self.course.hostgroup;
        let modes = match self.ask_modes().await? {
            Ok(Some(modes)) => modes,
            Err(NotPrepared::Lost(error)) => return Ok(Err(error)),
            _ => return Ok(Ok(false)),
        };
        let Some(all) = &mut self.course.prepared else { return Ok(Ok(false)) };
        let missing: Vec<_> = all.missing_at(hostgroup).collect();
        let tells = |id: &u32| all.get(*id).is_some_and(Prepared::tells_schema);
        if leaves && modes.is_in_no_schema() && missing.iter().any(tells) {
            return Ok(Ok(false));
        }
        let modes = Rc::new(modes);
        for id in missing {
            all.keep_modes(id, Rc::clone(&modes));
        }
        Ok(Ok(true))
    }

    /// Has the statements that are not at the backend in use keep what texts meant when their types
    /// were sent: servers read values that come without types as they did then.
    pub(super) async fn keep_modes_of_types(&mut self) -> Result<Result<(), ClientError>, Ending> {
        let hostgroup = self.course.hostgroup;
        let Some(all) = &self.course.prepared else { return Ok(Ok(())) };
        let is_typed = |id: &u32| all.get(*id).is_some_and(Prepared::has_types_of_now);
        let typed: Vec<_> = all.missing_at(hostgroup).filter(is_typed).collect();
        if typed.is_empty() {
            return Ok(Ok(()));
        }
        let modes = match self.ask_modes().await? {
            Ok(Some(modes)) => modes,
            Err(NotPrepared::Lost(error)) => return Ok(Err(error)),
            _ => return Ok(Ok(())),
        };
        let modes = Rc::new(modes);
        for id in typed {
            if let Some(prepared) = self.course.prepared.as_mut().and_then(|all| all.get_mut(id)) {
                prepared.keep_modes_of_types(Rc::clone(&modes));
            }
        }
        Ok(Ok(()))
    }

    /// What texts meant when the types of a statement were sent that is about to be executed
    /// without, where its server does not know them.
    pub(super) fn modes_of_types(&self, kind: Kind, payload: &[u8], id: u32) -> Option<Rc<Modes>> {
        let prepared = self.course.prepared.as_ref()?.get(id)?;
        let modes = prepared.typed_in(self.course.hostgroup).filter(|_| kind == Kind::StmtExecute)?;
        let caps = self.capabilities();
        let execute = StmtExecute::decode(payload, caps).ok()?;
        let params = execute.params(prepared.params(), caps).ok()?;
        params.types_without_attributes(prepared.params(), caps).is_none().then_some(modes)
    }

    /// Sets the character sets of that time. What is set now is set again behind the command.
    pub(super) async fn bring_charsets(&mut self, modes: &Modes) -> Result<(), Ending> {
        let Ok(Some(now)) = self.ask_modes().await? else { return Ok(()) };
        // If that fails, the client hears it of its own statement.
        let _ = self.internal_query(&[(self.query(&modes.charsets()), Answer::Result)]).await?;
        self.hide_last_result();
        self.flight().behind = Some(Behind::Set(now.charsets()));
        Ok(())
    }

    /// What texts mean at the backend in use; nothing if that could not be set again.
    async fn ask_modes(&mut self) -> Result<Result<Option<Modes>, NotPrepared>, Ending> {
        let hostgroup = self.course.hostgroup;
        let asks_for_rows = self.course.pins.holds(Pin::FoundRows, hostgroup);
        let question = if asks_for_rows { QUESTION_AND_ROWS } else { QUESTION };
        let answered = self.internal_query(&[(self.query(question), Answer::Result)]).await?;
        self.hide_last_result();
        let replies = match answered {
            Err(error) => return Ok(Err(NotPrepared::Lost(error))),
            Ok(replies) => replies,
        };
        let row = replies.first().filter(|reply| reply.error().is_none()).and_then(Reply::only_row);
        let Some(row) = row else { return Ok(Ok(None)) };
        if let Some(found) = found_in(row).filter(|_| asks_for_rows) {
            self.course.counted.found = found;
            self.course.pins.note(Mark::EndAll(Pin::FoundRows), hostgroup);
        }
        let is_certain = !self.course.pins.holds(Pin::Schema, hostgroup);
        Ok(Ok(modes_of(row, is_certain.then(|| self.course.caller.schema()))))
    }

    /// Prepares a statement in these modes at the backend in use; the number that it has there, or
    /// why it has none.
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
        let mut replies = match self.internal_query(&[there, vec![prepare], back].concat()).await? {
            Ok(replies) => replies,
            Err(error) => return Ok(Err(NotPrepared::Lost(error))),
        };
        let is_refused = |reply: &Reply| reply.error().is_some();
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
    fn steps(&self, from: &Modes, to: &Modes) -> Vec<InternalQuery> {
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
        let of = |values: &[&str], schema: Option<&[u8]>| {
            let mut row = Vec::new();
            for value in values {
                row.push(u8::try_from(value.len()).unwrap());
                row.extend_from_slice(value.as_bytes());
            }
            let modes = modes_of(&row, schema)?;
            Some([modes.set, modes.schema].map(|bytes| String::from_utf8(bytes.into()).unwrap()))
        };
        let set = "SET sql_mode = 'ANSI,NO_ZERO_DATE', character_set_client = 'utf8mb4', collation_connection = 'utf8mb4_bin'";
        let told = ["ANSI,NO_ZERO_DATE", "utf8mb4", "utf8mb4_bin", "there"];
        assert_eq!(of(&told, Some(b"here")), Some([set.to_owned(), "here".to_owned()]));
        assert_eq!(of(&told, None), Some([set.to_owned(), "there".to_owned()]));
        assert_eq!(of(&["", "a", "b", "t?re"], None), None);
        assert_eq!(of(&["", "a", "b"], None), None, "nothing is told of the schema");
        let nowhere = modes_of(b"\x00\x01a\x01b\xfb", None).unwrap();
        assert_eq!(&*nowhere.schema, b"");
        assert_eq!(of(&["it's", "a", "b"], Some(b"")), None);
        assert_eq!(of(&["a", "b"], Some(b"")), None);
    }

    #[test]
    fn the_number_of_rows_is_behind_the_modes() {
        assert_eq!(found_in(b"\x01a\x01b\x01c\x02db\x0217"), Some(17));
        assert_eq!(found_in(b"\x01a\x01b\x01c\xfb\x010"), Some(0));
        assert_eq!(found_in(b"\x01a"), None);
    }
}
