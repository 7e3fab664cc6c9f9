//! What stored routines leave in a session that have run over its connection. Their server is asked
//! for their definitions right behind, while the client has its answer already: where nothing of
//! them outlives their call, others may have the connection. Until then, and if it cannot be told,
//! the session keeps it.

use std::time::Duration;

use front::ending::Ending;
use runtime::limits::ROUTINE_BYTES_MAX;
use runtime::worker::Worker;
use session::limits::{ROUTINES_MAX, TABLES_MAX};
use session::relations::Behind;
use session::state::Pin;
use session::unjudged::{CODE, Code, Routine, Unjudged, add};
use sql::routine;
use sql::routine::Kind;
use sql::shape::Table;
use tokio::time::Instant;
use upstream::Reply;
use wire::StatusFlags;
use wire::reply::Answer;

use crate::entry::BookEntry;
use crate::facts::asking::{ask_besides, ask_rows, end_question, forget_warnings, packet_of, texts};
use crate::facts::behind::askable;
use crate::facts::places::{has_one_way, shares};
use crate::leg::Leg;
use crate::relations;
use crate::state::SessionState;

/// How long a routine has to be what it is. Servers tell to the second when it was altered, in the
/// time of the session, which may leap by an hour, and a replica tells when it was altered at its
/// source.
const UNALTERED_MIN: Duration = Duration::from_secs(3_700);

impl Leg {
    /// Whether it is of use to ask what the routines do that have run, and nothing is lost with
    /// that. `is_last` says that the client has sent nothing behind its command.
    #[inline]
    pub fn may_judge(&self, entry: &BookEntry, is_last: bool) -> bool {
        let unjudged = self.state.unjudged.as_ref().filter(|_| is_last);
        unjudged.is_some_and(|unjudged| self.is_free_but_for(entry, unjudged, &CODE))
    }

    /// The same once what the server says of the last statement is kept: until then a question
    /// would take it away.
    pub(crate) fn may_judge_behind_error(&self, entry: &BookEntry) -> bool {
        let pins = [CODE[0], CODE[1], Pin::Warnings];
        self.state.unjudged.as_ref().is_some_and(|unjudged| self.is_free_but_for(entry, unjudged, &pins))
    }

    /// Whether `pins`, of hidden code, alone bind the session to its hostgroup, and its server can
    /// be asked about that.
    fn is_free_but_for(&self, entry: &BookEntry, unjudged: &Unjudged, pins: &[Pin]) -> bool {
        let hostgroup = unjudged.hostgroup;
        // At MySQL a question begins a transaction, too, where `autocommit` is off. Behind those
        // about tables it is ended.
        let is_outside = !self.state.status.contains(StatusFlags::IN_TRANSACTION)
            && (self.state.status.contains(StatusFlags::AUTOCOMMIT) || unjudged.has_only_tables());
        hostgroup == self.state.here
            && (entry.worker.settings().config().pointsman.judge_routines || unjudged.has_only_tables())
            && self.flight.decided.is_none()
            && self.links.in_use.is_some()
            && is_outside
            // A session that is bound by other pins would not be free, and warnings would be gone.
            && self.links.has_only_pins(pins)
            // Sessions that have one connection to one server need not know.
            && (shares(entry, &self.state, hostgroup) || !has_one_way(&entry.worker, &self.state))
    }
}

/// Asks about the routines and tables, and about those that these use. If none leaves anything,
/// they do not bind the session any more.
pub async fn judge_routines(entry: &BookEntry, leg: &mut Leg) -> Result<(), Ending> {
    let Some(unjudged) = leg.state.unjudged.take() else { return Ok(()) };
    let hostgroup = unjudged.hostgroup;
    let (relations, now) = entry.worker.relations();
    let (version, whose) = (relations.version(), leg.state.whose(hostgroup));
    let is_harmless = |table: &Table| relations.behind(whose, table, now) == Some(Behind::Nothing);
    let (mut all, age) = unjudged.take(Instant::now().into_std());
    let age = age + UNALTERED_MIN;
    // Where many sessions use a table first, one of them asks.
    all.retain(|code| !matches!(code, Code::Behind(table) if is_harmless(table)));
    if all.is_empty() {
        leg.links.end_pins_of_code();
        return Ok(());
    }
    leg.links.note_ran(&mut leg.state);
    let reads_routines = ask_rows(entry, leg).await?;
    let has_routine = |all: &[Code]| all.iter().any(|code| matches!(code, Code::Routine(_)));
    let mut asked = 0;
    while let Some(batch) = all.get(asked..).filter(|batch| !batch.is_empty()) {
        if leg.links.in_use.is_none() || has_routine(batch) && !reads_routines {
            return Ok(());
        }
        let questions = batch.iter().flat_map(|code| questions(code, age));
        let commands: Vec<_> =
            questions.map(|text| (packet_of(&leg.state, text.as_bytes()), Answer::Result)).collect();
        let replies = ask_besides(entry, leg, &commands).await?;
        leg.links.note_ran(&mut leg.state);
        if replies.iter().any(|reply| reply.warns() || reply.error().is_some()) {
            forget_warnings(entry, leg).await?;
        }
        end_question(entry, leg).await?;
        let Some(more) = used_by(&entry.worker, &leg.state, batch, &replies, version) else {
            return Ok(());
        };
        asked = all.len();
        add(&mut all, more);
        if all.len() > ROUTINES_MAX + TABLES_MAX {
            return Ok(());
        }
    }
    for code in &all {
        if let Code::Behind(table) = code {
            note_behind(&entry.worker, &leg.state, table, Behind::Nothing, version);
        }
    }
    // A server that has been in another schema and back knows the character set of this one
    // again, which a reset had taken away.
    let is_here = |code: &Code| match code {
        Code::Routine(routine) => routine.schema.as_bytes() == leg.state.caller.schema(),
        Code::Behind(_) => true,
    };
    if leg.state.was_reset() && !all.iter().all(is_here) {
        return Ok(());
    }
    leg.links.end_pins_of_code();
    Ok(())
}

/// What these use by what their server has answered; nothing if one leaves something, or may.
/// Definitions had this version when it was asked.
fn used_by(
    worker: &Worker,
    state: &SessionState,
    batch: &[Code],
    replies: &[Reply],
    version: u64,
) -> Option<Vec<Code>> {
    let mut replies = replies.iter();
    let mut all = Vec::new();
    for code in batch {
        let (uses, schema) = match code {
            Code::Routine(routine) => (uses_of(replies.next()?, replies.next()?)?, routine.schema.as_str()),
            Code::Behind(table) => {
                let uses = relations::uses(replies.next()?);
                let note = |behind: &_| note_behind(worker, state, table, *behind, version);
                (uses.inspect_err(note).ok()?, table.schema.as_deref().unwrap_or_default())
            }
        };
        for called in uses.routines {
            all.push(Code::Routine(Routine::of(called, schema)?));
        }
        let tables = askable(uses.tables.into_iter(), schema);
        let judges = worker.settings().judge_tables;
        all.extend(tables.into_iter().filter(|_| judges).map(Code::Behind));
    }
    Some(all)
}

fn note_behind(worker: &Worker, state: &SessionState, table: &Table, behind: Behind, version: u64) {
    let whose = state.whose(state.here);
    let (relations, now) = worker.relations();
    relations.note(whose, table, behind, (version, now));
}

/// How to ask what a routine is, and whether it has been that since it was called and longer; or
/// what is behind a name.
fn questions(code: &Code, age: Duration) -> Vec<String> {
    let Routine { kind, schema, name, near } = match code {
        Code::Routine(routine) => routine,
        Code::Behind(table) => return vec![relations::question(table)],
    };
    let kind = match kind {
        Kind::Procedure => "PROCEDURE",
        Kind::Function => "FUNCTION",
    };
    let seconds = age.as_secs() + 1;
    // MariaDB's packages have routines, too, which are named as those of a schema.
    let package = near.as_ref().map_or_else(String::new, |near| {
        format!(
            " AND NOT EXISTS (SELECT 1 FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = '{near}' \
             AND ROUTINE_NAME = '{schema}' AND ROUTINE_TYPE LIKE 'PACKAGE%')"
        )
    });
    vec![
        format!("SHOW CREATE {kind} `{schema}`.`{name}`"),
        format!(
            "SELECT 1 FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = '{schema}' \
             AND ROUTINE_NAME = '{name}' AND ROUTINE_TYPE = '{kind}' AND ROUTINE_BODY = 'SQL' \
             AND LAST_ALTERED < SYSDATE() - INTERVAL {seconds} SECOND{package}"
        ),
    ]
}

/// What a routine uses by what its server has answered to the two questions; nothing if it leaves
/// something, or may.
fn uses_of(definition: &Reply, unaltered: &Reply) -> Option<routine::Uses> {
    unaltered.only_row()?;
    let columns = texts(definition.only_row()?);
    let [_, modes, text, charset, ..] = columns.as_slice() else { return None };
    // Its letters include the backslash's and the backtick's bytes.
    if text.len() > ROUTINE_BYTES_MAX || charset == "swe7" {
        return None;
    }
    routine::definition(text.as_bytes(), routine::modes(modes)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_is_not_told_tells_nothing() {
        assert_eq!(texts(b"\x01a\x00\x02bc"), ["a", "", "bc"]);
        assert_eq!(texts(b"\x01a\xfb"), [""; 0]);
        assert_eq!(texts(b"\x02\xe4'"), ["?'"]);
        assert_eq!(texts(b"\x05abc"), [""; 0]);
    }

    #[test]
    fn a_package_is_looked_for_by_the_name_that_is_taken_for_a_schema() {
        let (kind, schema, name) = (Kind::Procedure, "a".to_owned(), "p".to_owned());
        let routine = |near: Option<&str>| Routine {
            kind,
            schema: schema.clone(),
            name: name.clone(),
            near: near.map(str::to_owned),
        };
        let asked = |near| questions(&Code::Routine(routine(near)), Duration::ZERO).remove(1);
        let (plain, named) = (asked(None), asked(Some("b")));
        assert!(named.starts_with(&plain) && named.contains("ROUTINE_SCHEMA = 'b' AND ROUTINE_NAME = 'a'"));
    }
}
