//! What stored routines leave in a session that have run over its connection. Their server is asked for their definitions right behind, while the
//! client has its answer already: where nothing of them outlives their call, others may have the connection. Until then, and if it cannot be told,
//! the session keeps it.

use std::time::Duration;

use sql::Modes;
use sql::routine::{self, Kind};
use wire::StatusFlags;
use wire::codec::Reader;
use wire::frame::{HEADER_LEN, Header};
use wire::reply::Answer;

use super::Session;
use super::course::unjudged::{CODE, Routine};
use super::last_result::NOWHERE;
use crate::backend::{Reply, only_row};
use crate::ending::Ending;
use crate::limits::{PARAMETERS_MAX, ROUTINE_BYTES_MAX, ROUTINES_MAX};
use crate::state::Mark;

/// Servers tell to the second when a routine was altered, and by what their statement's time was.
const ALTERED_MARGIN: Duration = Duration::from_secs(2);

/// What the status has of transactions.
const OPEN: StatusFlags = StatusFlags::AUTOCOMMIT.union(StatusFlags::IN_TRANSACTION);

/// Questions to a routine.
const QUESTIONS: usize = 2;

impl Session {
    /// Whether it is of use to ask what the routines do that have run, and nothing is lost with that.
    pub(super) fn may_judge(&self) -> bool {
        let hostgroup = self.course.hostgroup;
        let settings = self.worker.settings();
        let Some(unjudged) = &self.course.unjudged else { return false };
        unjudged.hostgroup == hostgroup
            && settings.judge_routines
            && self.course.decided.is_none()
            && self.backlog.is_empty()
            && self.backend.is_some()
            // At MySQL a question begins a transaction, too.
            && (self.status & OPEN) == StatusFlags::AUTOCOMMIT
            // Whoever is bound by more would not be free, and warnings would be gone.
            && self.course.pins.holds_only(&CODE, hostgroup)
            // Sessions that have one connection to one server need not know.
            && (self.shares(hostgroup) || !self.has_one_way())
    }

    /// Asks about the routines, and about those that they call. If none leaves anything, they do not bind the session any more.
    pub(super) async fn judge_routines(&mut self) -> Result<(), Ending> {
        let Some(unjudged) = self.course.unjudged.take() else { return Ok(()) };
        let hostgroup = unjudged.hostgroup;
        let (mut routines, age) = unjudged.take();
        let age = age + ALTERED_MARGIN;
        self.note_ran();
        self.ask_rows().await?;
        let mut asked = 0;
        while let Some(batch) = routines.get(asked..).filter(|batch| !batch.is_empty()) {
            let questions = batch.iter().flat_map(|routine| questions(routine, age));
            let commands: Vec<_> =
                questions.map(|text| (self.query(text.as_bytes()), Answer::Result)).collect();
            // If that fails, the client hears of it with its next statement.
            let replies = self.errand(&commands).await?.unwrap_or_default();
            self.note_ran();
            if replies.iter().any(|reply| reply.warns() || reply.error().is_some()) {
                self.forget_warnings().await?;
            }
            let Some(more) = calls_of(batch, &replies) else { return Ok(()) };
            asked = routines.len();
            for routine in more {
                if !routines.contains(&routine) {
                    routines.push(routine);
                }
            }
            if routines.len() > ROUTINES_MAX {
                return Ok(());
            }
        }
        for pin in CODE {
            self.course.pins.note(Mark::EndAll(pin), hostgroup);
        }
        Ok(())
    }

    /// Asks how many rows there were, which the questions hide and the answer of a routine does not tell.
    async fn ask_rows(&mut self) -> Result<(), Ending> {
        let unknown = self.unknown_here();
        let question = (self.query(b"SELECT ROW_COUNT(), FOUND_ROWS()"), Answer::Result);
        let replies = self.errand(&[question]).await?.unwrap_or_default();
        let row = replies.first().and_then(only_row).map(texts).unwrap_or_default();
        if let [changed, found] = row.as_slice()
            && let (Ok(changed), Ok(found)) = (changed.parse(), found.parse())
        {
            let counted = &mut self.course.counted;
            counted.changed = unknown.changed.unwrap_or(changed);
            counted.found = unknown.found.unwrap_or(found);
        }
        self.note_ran();
        (self.course.ran_on, self.course.found_on) = (NOWHERE, NOWHERE);
        Ok(())
    }
}

/// How to ask what a routine is, if it was not altered since it was called, and for the names of its parameters.
fn questions(routine: &Routine, age: Duration) -> [String; QUESTIONS] {
    let Routine { kind, schema, name } = routine;
    let kind = match kind {
        Kind::Procedure => "PROCEDURE",
        Kind::Function => "FUNCTION",
    };
    let seconds = age.as_secs() + 1;
    [
        // Whatever the character set of results is.
        format!(
            "SELECT HEX(CONVERT(ROUTINE_DEFINITION USING utf8mb4)), SQL_MODE FROM information_schema.ROUTINES \
             WHERE ROUTINE_SCHEMA = '{schema}' AND ROUTINE_NAME = '{name}' AND ROUTINE_TYPE = '{kind}' \
             AND ROUTINE_BODY = 'SQL' AND LENGTH(ROUTINE_DEFINITION) <= {ROUTINE_BYTES_MAX} \
             AND LAST_ALTERED < SYSDATE() - INTERVAL {seconds} SECOND"
        ),
        format!(
            "SELECT PARAMETER_NAME FROM information_schema.PARAMETERS WHERE SPECIFIC_SCHEMA = '{schema}' \
             AND SPECIFIC_NAME = '{name}' AND ROUTINE_TYPE = '{kind}' AND PARAMETER_NAME IS NOT NULL \
             LIMIT {PARAMETERS_MAX}"
        ),
    ]
}

/// What these routines call by what their server has answered; nothing if one leaves something, or may.
fn calls_of(routines: &[Routine], replies: &[Reply]) -> Option<Vec<Routine>> {
    let answers: Vec<_> = replies.chunks_exact(QUESTIONS).collect();
    if answers.len() != routines.len() {
        return None;
    }
    let mut all = Vec::new();
    for (routine, answers) in routines.iter().zip(answers) {
        let [definition, parameters] = answers else { return None };
        let columns = texts(only_row(definition)?);
        let [body, modes] = columns.as_slice() else { return None };
        let parameters: Vec<_> = rows(parameters).into_iter().flat_map(texts).collect();
        for called in routine::body(&unhex(body)?, modes_of(modes)?, &parameters)? {
            all.push(Routine::of(called, &routine.schema)?);
        }
    }
    Some(all)
}

/// How a routine's body is to be read that was created in these modes; not at all if they have another grammar.
fn modes_of(modes: &str) -> Option<Modes> {
    let has = |mode: &str| modes.split(',').any(|one| one == mode);
    let modes = Modes {
        ansi_quotes: has("ANSI_QUOTES"),
        no_backslash_escapes: has("NO_BACKSLASH_ESCAPES"),
        ..Modes::default()
    };
    (!has("ORACLE")).then_some(modes)
}

/// The bytes that these digits stand for.
fn unhex(digits: &str) -> Option<Vec<u8>> {
    let (bytes, rest) = digits.as_bytes().as_chunks::<2>();
    let byte = |two: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok();
    bytes.iter().map(byte).collect::<Option<_>>().filter(|_| rest.is_empty())
}

/// The rows of an answer.
fn rows(reply: &Reply) -> Vec<&[u8]> {
    let mut packets = &reply.bytes[..];
    let payloads: Vec<_> = std::iter::from_fn(|| {
        let (header, behind) = packets.split_first_chunk::<HEADER_LEN>()?;
        let (payload, rest) = behind.split_at_checked(Header::parse(*header).len as usize)?;
        packets = rest;
        Some(payload)
    })
    .collect();
    // They are in front of the last packet.
    let rows = usize::try_from(reply.outcome.rows).unwrap_or_default();
    let end = payloads.len().saturating_sub(1);
    payloads.get(end.saturating_sub(rows)..end).unwrap_or_default().to_vec()
}

/// The values of a row of text; nothing if one is none, or not told as it is.
fn texts(row: &[u8]) -> Vec<String> {
    let mut reader = Reader::new(row);
    let mut all = Vec::new();
    while reader.left() > 0 {
        let Some(text) = reader.lenenc_bytes("value").ok().and_then(|text| std::str::from_utf8(text).ok())
        else {
            return Vec::new();
        };
        all.push(text.to_owned());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_what_its_digits_stand_for() {
        assert_eq!(unhex("53454C").as_deref(), Some(b"SEL".as_slice()));
        assert_eq!(unhex(""), Some(Vec::new()));
        for wrong in ["5", "5x", "é1"] {
            assert_eq!(unhex(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_row_that_is_not_told_as_it_is_tells_nothing() {
        assert_eq!(texts(b"\x01a\x00\x02bc"), ["a", "", "bc"]);
        assert_eq!(texts(b"\x01a\xfb"), [""; 0]);
        assert_eq!(texts(b"\x01\xe4"), [""; 0]);
        assert_eq!(texts(b"\x05abc"), [""; 0]);
    }

    #[test]
    fn another_grammar_is_not_read() {
        assert_eq!(modes_of("PIPES_AS_CONCAT,ANSI_QUOTES,IGNORE_SPACE,ORACLE"), None);
        assert!(modes_of("STRICT_TRANS_TABLES,ANSI_QUOTES").is_some_and(|modes| modes.ansi_quotes));
        assert_eq!(modes_of(""), Some(Modes::default()));
    }
}
