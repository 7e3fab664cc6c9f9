//! Statements that are prepared by name, in text: prepared again over another connection, in front
//! of the first command that needs them there, or behind which they would be other ones.

use wire::command::Kind;
use wire::frame::HEADER_LEN;
use wire::reply::Answer;

use super::Session;
use super::backlog::whole_front;
use super::course::change::Change;
use super::course::decided::Decided;
use super::last_result::NOWHERE;
use crate::client::login::ok;
use crate::ending::Ending;
use crate::state::named::{self, Executed};
use crate::state::{Mark, Pin, marks};
use crate::statement::class::Class;

impl Session {
    /// Whether the command needs all that was prepared by name at the backend in use, and some of
    /// it is elsewhere.
    pub(super) fn has_to_name(&self, kind: Kind, input: &[u8], decided: &Decided) -> bool {
        if self.course.named.is_empty() {
            return false;
        }
        let concerns = |change: &Change| change.unsettles_named() || change.needs_named();
        let needs = kind == Kind::InitDb
            || decided.is_by_name
            || decided.class == Some(Class::Execute)
            || decided.change.as_deref().is_some_and(concerns)
            || self.prepared_change(kind, input).is_some_and(concerns);
        let is_missing = |connection| self.course.named.missing_at(connection).next().is_some();
        needs && self.backend.as_ref().is_none_or(|backend| is_missing(backend.connection().serial()))
    }

    /// Prepares all that is elsewhere. False if the command in the backlog has its answer, or is
    /// brought to another connection.
    pub(super) async fn bring_named(&mut self, kind: Kind, decided: &mut Decided) -> Result<bool, Ending> {
        let Some(backend) = &self.backend else { return Ok(true) };
        let connection = backend.connection().serial();
        let dialect = backend.connection().dialect();
        let sets_modes = decided.change.as_deref().is_some_and(|change| change.sets_modes_at(dialect));
        if self.has_warnings() && decided.class == Some(Class::Set) && !sets_modes {
            // To prepare them would take the warnings away, which a `SET` at MariaDB does not. They
            // go on being what they were.
            self.course.named.lose_all_but(connection);
            return Ok(true);
        }
        let own = self.name_in_front(kind).await?;
        let gives_up = decided.change.as_ref().is_some_and(|change| change.deallocates());
        if gives_up
            && self.has_warnings()
            && !self.give_up_elsewhere(kind, own.as_deref(), connection).await?
        {
            return Ok(false);
        }
        let mut missing: Vec<_> = self.course.named.missing_at(connection).collect();
        // What its server has against that the client may ask about.
        missing.sort_by_key(|one| Some(&one.name) == own.as_ref());
        let names: Vec<_> = missing.iter().map(|one| one.name.clone()).collect();
        let texts = missing.iter().map(|one| (self.query(&one.prepare()), Answer::Result));
        let commands: Vec<_> = texts.collect();
        let replies = match self.internal_query(&commands).await? {
            Ok(replies) => replies,
            Err(_) if self.tries_again(decided) => return Ok(false),
            Err(error) => {
                self.refuse_here(kind, &error).await?;
                return Ok(false);
            }
        };
        self.hide_last_result();
        let mut refusal = None;
        for (name, reply) in names.iter().zip(&replies) {
            if reply.error().is_none() {
                self.course.named.place(name, connection);
                continue;
            }
            let payload = reply.bytes.get(HEADER_LEN..).unwrap_or_default();
            if Some(name) == own.as_ref() {
                refusal = Some(payload.to_vec());
            }
            if Some(name) == own.as_ref() && gives_up {
                self.course.named.remove(name);
            } else {
                // It may be prepared again when it is executed: tables that are locked are not
                // locked then, say.
                self.course.named.lose(name);
            }
        }
        match refusal {
            Some(_) if gives_up => {
                self.answer_here(kind, &ok(self.capabilities(), self.status)).await?;
                self.forget_warnings().await?;
                Ok(false)
            }
            Some(refusal) => {
                self.answer_here(kind, &refusal).await?;
                self.course.note_error();
                Ok(false)
            }
            None if replies.iter().any(|reply| reply.error().is_some()) => {
                // The client has not been refused anything.
                self.forget_warnings().await?;
                Ok(self.backend.is_some())
            }
            None => Ok(true),
        }
    }

    /// Gives up a statement that is elsewhere without a word to its server, if to prepare it would
    /// take away warnings that it would leave. False if the command has its answer.
    async fn give_up_elsewhere(
        &mut self,
        kind: Kind,
        own: Option<&[u8]>,
        connection: u64,
    ) -> Result<bool, Ending> {
        let is_elsewhere =
            |name: &[u8]| self.course.named.missing_at(connection).any(|one| *one.name == *name);
        let Some(name) = own.filter(|name| is_elsewhere(name)) else { return Ok(true) };
        if !self.backend.as_ref().is_some_and(|backend| backend.connection().is_mariadb()) {
            return Ok(true);
        }
        self.course.named.remove(name);
        self.answer_here(kind, &ok(self.capabilities(), self.status)).await?;
        self.note_ran();
        (self.course.counted.changed, self.course.ran_on) = (0, NOWHERE);
        Ok(false)
    }

    /// The name of the statement that the command in the backlog executes, or gives up.
    async fn name_in_front(&mut self, kind: Kind) -> Result<Option<Box<[u8]>>, Ending> {
        if kind != Kind::Query {
            return Ok(None);
        }
        self.complete_front().await?;
        let Some(payload) = whole_front(&self.backlog) else { return Ok(None) };
        let text = self.statement(payload);
        Ok(match (named::executed(text), marks::by_name(text)) {
            (Some(Executed::Name(name)), _) | (_, Some(Mark::End(Pin::Prepare, name))) => Some(name),
            _ => None,
        })
    }
}
