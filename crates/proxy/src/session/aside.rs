//! Between two statements: connections that nothing binds to the session are laid aside, where
//! another session may get them, and taken back with the next command if they are still there.

use sql::StatementKind;
use sql::shape::Effects;
use wire::StatusFlags;
use wire::reply::{End, Outcome};

use super::Session;
use super::course::{Aside, Course, Other};
use super::decided::Decided;
use crate::backend::{Backend, part};
use crate::limits::SWEEP_INTERVAL;
use crate::state::Pin;
use crate::state::results::LastId;
use crate::state::substitute::{Counted, Unknown};

/// What may change `LAST_INSERT_ID()`.
const CHANGES_LAST_ID: Effects =
    Effects::WRITES.union(Effects::SETS_LAST_INSERT_ID).union(Effects::FUNCTION).union(Effects::UNKNOWN);

/// Of these the answer does not tell whether they have changed it.
const HIDES_LAST_ID: Effects = Effects::SETS_LAST_INSERT_ID.union(Effects::FUNCTION).union(Effects::UNKNOWN);

/// With these nothing is certain of what a statement does besides.
const UNKNOWN: Effects = Effects::FUNCTION.union(Effects::UNKNOWN);

/// Whether a `GET DIAGNOSTICS` does this: it puts what it finds into user variables; a `DO` does
/// not.
const fn diagnoses(effects: Effects) -> bool {
    effects.intersects(Effects::READS_LAST) && effects.intersects(Effects::SETS_USER_VARIABLES)
}

/// A statement, as far as its own answer is concerned.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent {
    class: Option<StatementKind>,
    /// Whether it reads or writes tables for certain.
    tables: bool,
    effects: Effects,
}

impl Sent {
    /// What was decided about is being sent.
    pub(super) const fn new(decided: &Decided) -> Self {
        let tables = decided.plan.tables && !decided.plan.effects.intersects(UNKNOWN);
        Self { class: decided.plan.statement(), tables, effects: decided.plan.effects }
    }
}

/// What the statements did that ran since the connection was taken.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, not states")]
pub(super) struct Ran {
    pub(super) effects: Effects,
    /// What the one does that is answered next, or was answered last.
    pub(super) last: Effects,
    /// How many there were, each of several in one text.
    pub(super) statements: u32,
    /// Whether it is one that is answered next.
    pub(super) is_unanswered: bool,
    /// Whether one was sent while others were not answered: which end is whose is not told apart.
    pub(super) is_ahead: bool,
    /// What kind of statement the one is that is answered next, or was answered last.
    pub(super) class: Option<StatementKind>,
    /// Whether it reads or writes tables for certain.
    pub(super) tables: bool,
    /// Whether `FOUND_ROWS()` was set by one of them, as far as is known.
    pub(super) counts: bool,
    /// How it ended, and how many rows it had.
    pub(super) end: Option<End>,
    pub(super) rows: u64,
}

impl Ran {
    /// A command that is no statement, and leaves something behind.
    pub(super) fn command() -> Self {
        Self { statements: 1, ..Self::default() }
    }

    /// A statement is being sent.
    pub(super) const fn note(&mut self, decided: &Decided, ahead: bool) {
        if !ahead {
            self.work_at(Some(Sent::new(decided)));
        }
        self.effects = self.effects.union(decided.plan.effects);
        self.statements = self.statements.saturating_add(1 + decided.plan.several as u32);
        self.is_ahead |= ahead;
    }

    /// The server works at this now, which is answered next.
    pub(super) const fn work_at(&mut self, sent: Option<Sent>) {
        self.is_unanswered = sent.is_some();
        if let Some(Sent { class, tables, effects }) = sent {
            (self.class, self.tables, self.last) = (class, tables, effects);
        }
    }

    /// The command that is answered next has ended like this. How many rows the last statement had,
    /// if the one before had `before`.
    pub(super) fn note_end(&mut self, outcome: Outcome, before: Counted) -> Counted {
        let affected = match outcome.end {
            End::Ok { affected_rows, .. } => Some(affected_rows.cast_signed()),
            End::Err { .. } => Some(-1),
            _ => None,
        };
        if !std::mem::take(&mut self.is_unanswered) {
            // No statement: one that is answered with OK counts as one that has changed nothing,
            // one that ends rows as one that has some.
            let rows = outcome.ends_rows.then_some(-1);
            let Some(changed) = rows.or(affected) else { return before };
            self.statements = self.statements.max(1);
            return Counted { changed, ..before };
        }
        (self.end, self.rows) = (Some(outcome.end), outcome.rows);
        let returns_rows = matches!(
            self.class,
            Some(
                StatementKind::Select
                    | StatementKind::Show
                    | StatementKind::Explain
                    | StatementKind::Describe
            )
        );
        let is_error = matches!(outcome.end, End::Err { .. });
        let has_rows = outcome.rows > 0
            || outcome.ends_rows
            || returns_rows && affected.is_none_or(|affected| affected == 0);
        let counts = match self.class {
            _ if is_error => false,
            Some(StatementKind::Select | StatementKind::Execute) => has_rows,
            // What tells of the statement before leaves it as it was.
            Some(StatementKind::Show | StatementKind::Describe) => {
                !self.last.intersects(Effects::READS_LAST) || self.last.intersects(Effects::COUNTS_ROWS)
            }
            _ => false,
        };
        self.counts |= counts || self.is_ahead || !self.keeps_found();
        let changed = match outcome.end {
            End::Ok { warnings, .. } if self.is_diagnosis() => {
                if warnings > 0 {
                    -1
                } else {
                    before.changed
                }
            }
            // Behind rows there may be another statement in the same text, if only a comment.
            _ => affected.filter(|_| !outcome.ends_rows).unwrap_or(-1),
        };
        Counted { changed, found: if counts { outcome.rows } else { before.found } }
    }

    /// Whether the last one was a `GET DIAGNOSTICS`, which leaves what it asks about as it was,
    /// unless it warns.
    fn is_diagnosis(&self) -> bool {
        self.class == Some(StatementKind::Diagnostics) && diagnoses(self.last)
    }

    /// Whether there may be one among those that ran.
    pub(super) const fn may_only_look(&self) -> bool {
        diagnoses(self.effects)
    }

    /// Whether all that ran was one of these, and `ROW_COUNT()` is what it was where the statement
    /// before ran.
    fn only_looked(&self) -> bool {
        self.is_single() && self.is_diagnosis() && matches!(self.end, Some(End::Ok { warnings: 0, .. }))
    }

    /// Whether the end that was seen says of all that has run whether a key was generated.
    fn tells_key(&self) -> bool {
        let is_one = self.statements <= 1 && !self.is_ahead && self.rows == 0;
        // MariaDB does not say it of what comes from a file.
        is_one && self.class != Some(StatementKind::Load) && !self.effects.intersects(HIDES_LAST_ID)
    }

    /// Whether the last one has left `FOUND_ROWS()` as it was. Where servers differ, this is
    /// MariaDB.
    fn keeps_found(&self) -> bool {
        matches!(self.end, Some(End::Err { .. }))
            || self.is_single()
                && !matches!(
                    self.class,
                    None | Some(StatementKind::Select | StatementKind::Call | StatementKind::Execute)
                )
    }

    /// Whether the last one was the only one.
    pub(super) const fn is_single(&self) -> bool {
        self.statements == 1
    }

    /// What `LAST_INSERT_ID()` is after this, if it was `before`; it ran over this connection.
    fn last_id(self, before: LastId, connection: u64) -> LastId {
        let at_server = |known| LastId::AtServer { known, connection };
        let generated = match self.end {
            Some(End::Ok { last_insert_id, .. }) => Some(last_insert_id),
            _ => None,
        };
        match generated {
            _ if !self.effects.intersects(CHANGES_LAST_ID) => before,
            // What ends rows says nothing of keys.
            Some(0) if self.tells_key() => before,
            // A key that the statement has named is told as well, and changes nothing.
            Some(id) if id > 0 && !self.is_ahead => at_server(id),
            _ => at_server(before.known()),
        }
    }
}

impl Session {
    /// The session waits for its client: what is not bound to it may be used by others.
    pub(super) fn lay_aside(&mut self) {
        let is_awaited = |backend: &Backend| backend.connection().is_awaited();
        if self.backend.as_ref().is_none_or(is_awaited) || self.flight.decided.is_some() {
            return;
        }
        self.note_ran();
        let hostgroup = self.course.hostgroup;
        if !self.course.others.is_empty() {
            self.lay_others_aside();
        }
        if !self.shares(hostgroup) {
            return self.break_promise();
        }
        let pin = self.pin();
        self.control.set_pin(pin, self.worker.now());
        if pin == Some(Pin::Warnings) {
            self.worker.look_in(SWEEP_INTERVAL);
        }
        let goes_on = !self.io.backlog.is_empty() && !self.is_promised();
        if pin.is_some() || goes_on || !self.is_as_it_seems() {
            return self.break_promise();
        }
        if let Some(backend) = self.backend.take() {
            self.lay_one_aside(hostgroup, backend, self.course.applied, self.status);
        }
    }

    /// Lays connections aside that are not in use, and that nothing binds to the session any more.
    #[cold]
    fn lay_others_aside(&mut self) {
        let version = self.course.version();
        let is_free = |other: &Other| {
            other.applied == version
                && self.shares(other.hostgroup)
                && self.course.pin_at(other.hostgroup, other.status).is_none()
                && !other.backend.server().is_off()
                && !other.backend.connection().has_setup()
        };
        let Some(at) = self.course.others.iter().position(is_free) else { return };
        let Other { hostgroup, backend, applied, status } = self.course.others.swap_remove(at);
        self.lay_one_aside(hostgroup, backend, applied, status);
    }

    /// Whether the backend in use has all that was sent, and is as the session would have it. If
    /// its server did not have a setting, it must not be taken for one that has.
    pub(super) fn is_as_it_seems(&self) -> bool {
        let is_fit = |backend: &Backend| {
            let link = backend.connection();
            !backend.server().is_off() && self.to_backend.is_sent(link) && link.is_free()
        };
        self.course.applied == self.course.version() && self.backend.as_ref().is_some_and(is_fit)
    }

    /// Lays a connection aside that nothing binds to the session.
    pub(super) fn lay_one_aside(
        &mut self,
        hostgroup: u32,
        backend: Backend,
        applied: u64,
        status: StatusFlags,
    ) {
        let course = &mut self.course;
        let left = course.left(backend.connection().serial(), status);
        let (kept, peer) = (&self.worker.kept, self.identity.peer);
        match kept.lay_aside(&self.worker, hostgroup, &course.passport, peer, backend, left) {
            Some(ticket) => {
                // Nearly always it is the only one.
                course.aside.reserve_exact(1);
                course.aside.push(Aside { hostgroup, ticket, applied, status });
            }
            None => self.was_lent(hostgroup),
        }
    }

    /// A command has come: takes back what was laid aside.
    pub(super) fn take_back(&mut self) {
        if self.backend.is_some() {
            return;
        }
        let hostgroup = self.course.hostgroup;
        let Some(at) = self.course.aside.iter().position(|aside| aside.hostgroup == hostgroup) else {
            return;
        };
        let Aside { ticket, applied, status, .. } = self.course.aside.swap_remove(at);
        self.backend = self.worker.kept.take_back(&self.worker, ticket);
        (self.course.applied, self.status) = (applied, status);
        if self.backend.is_none() {
            self.was_lent(hostgroup);
        }
    }

    /// Parts with the connection in use, to which nothing binds the session: others get it, if it
    /// is as it seems and sessions share any.
    pub(super) fn leave_backend(&mut self) {
        self.note_ran();
        let (hostgroup, applied, status) = (self.course.hostgroup, self.course.applied, self.status);
        let is_free = self.may_leave();
        if let Some(backend) = self.backend.take() {
            if is_free {
                self.lay_one_aside(hostgroup, backend, applied, status);
                self.course.aside.retain(|aside| aside.hostgroup != hostgroup);
            } else {
                part(backend);
            }
        }
        self.lose_backend();
        self.was_lent(hostgroup);
    }

    /// Whether others may have the connection in use, and its session need never come back to it.
    fn may_leave(&self) -> bool {
        let asks = |backend: &Backend| self.course.results.last_id().is_at(backend.connection().serial());
        self.shares(self.course.hostgroup)
            && self.pin().is_none()
            && self.is_as_it_seems()
            && !self.backend.as_ref().is_some_and(asks)
    }

    /// Sees to it that there is no connection of the session's to this hostgroup where the next one
    /// is to be new (`create_new_connection`). Whether it may be: one that the session needs is not
    /// left.
    pub(super) fn makes_way_for_new(&mut self, hostgroup: u32) -> bool {
        if !self.shares(hostgroup) || self.course.others.iter().any(|other| other.hostgroup == hostgroup) {
            return false;
        }
        if self.course.hostgroup == hostgroup && self.backend.is_some() {
            self.note_ran();
            let may_leave = self.may_leave();
            if may_leave {
                self.leave_backend();
            }
            return may_leave;
        }
        let Some(at) = self.course.aside.iter().position(|aside| aside.hostgroup == hostgroup) else {
            return true;
        };
        let (mut needs_it, last_id) = (false, self.course.results.last_id());
        let ticket = self.course.aside[at].ticket;
        self.worker.kept.with(ticket, |backend| needs_it = last_id.is_at(backend.connection().serial()));
        if !needs_it {
            self.course.aside.swap_remove(at);
            self.was_lent(hostgroup);
        }
        !needs_it
    }

    /// The session's connection to this hostgroup belongs to somebody else now, or is gone.
    pub(super) fn was_lent(&mut self, hostgroup: u32) {
        self.forget_prepared(hostgroup);
        if hostgroup == self.course.hostgroup {
            self.course.applied = 0;
            self.control.about.set_backend(None);
        }
    }

    /// Takes note of what has run since the connection was taken.
    pub(super) fn note_ran(&mut self) {
        let ran = std::mem::take(&mut self.course.ran);
        let Some(backend) = self.backend.as_mut().filter(|_| ran.statements > 0) else { return };
        let link = backend.connection_mut();
        let course = &mut self.course;
        if !ran.only_looked() {
            course.ran_on = link.serial();
        }
        if ran.counts {
            course.found_on = link.serial();
        }
        let before = course.results.last_id();
        let last_id = ran.last_id(before, link.serial());
        if last_id != before {
            course.results.set_last_id(last_id);
            link.set_last_id(None);
        }
    }

    /// The client has reset its connection: of what was at other servers nothing is left, either.
    pub(super) fn was_reset(&mut self) {
        if let Some(backend) = &mut self.backend {
            backend.connection_mut().note_reset();
        }
        self.past.is_replica = false;
        self.leave_others();
    }

    /// What the server of the connection in use does not know of the statement before the next one,
    /// because that ran over another connection.
    pub(super) fn unknown_here(&self) -> Unknown {
        let here = self.backend.as_ref().map(|backend| backend.connection().serial());
        let Course { ran, ran_on, found_on, counted, .. } = &*self.course;
        let is_elsewhere =
            |connection: u64| ran.statements == 0 && connection != 0 && here != Some(connection);
        Unknown {
            changed: is_elsewhere(*ran_on).then_some(counted.changed),
            found: is_elsewhere(*found_on).then_some(counted.found),
        }
    }

    /// Whether there is any of that.
    pub(super) fn is_away(&self) -> bool {
        self.unknown_here() != Unknown::default()
    }

    /// What binds the session to the connection in use.
    pub(super) fn pin(&self) -> Option<Pin> {
        if self.past.is_replica {
            return Some(Pin::Replica);
        }
        self.course.pin_at(self.course.hostgroup, self.status)
    }

    /// Whether sessions share the connections to this hostgroup.
    pub(super) fn shares(&self, hostgroup: u32) -> bool {
        let settings = self.worker.settings();
        settings.variables.multiplexing
            && settings.shares(hostgroup)
            && !self.worker.is_draining()
            // A KILL that is on its way must not meet somebody else.
            && !self.control.is_held()
            && !self.control.is_aimed_at()
            && !self.control.has_mail()
            && !self.is_fast_forward()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(effects: Effects, end: End, statements: u32) -> LastId {
        Ran { effects, statements, end: Some(end), ..Ran::default() }.last_id(LastId::Is(3), 1)
    }

    const fn at_server(known: u64) -> LastId {
        LastId::AtServer { known, connection: 1 }
    }

    const fn ok(last_insert_id: u64) -> End {
        End::Ok { affected_rows: 1, last_insert_id, status: StatusFlags::AUTOCOMMIT, warnings: 0 }
    }

    #[test]
    fn what_may_have_changed_the_last_key() {
        assert_eq!(after(Effects::empty(), ok(0), 1), LastId::Is(3));
        assert_eq!(after(Effects::WRITES, ok(0), 1), LastId::Is(3));
        assert_eq!(after(Effects::WRITES, ok(9), 1), at_server(9));
        assert_eq!(after(Effects::WRITES, ok(0), 2), at_server(3), "the first one may have");
        assert_eq!(after(Effects::WRITES, End::Err { code: 1062 }, 1), at_server(3));
        assert_eq!(after(Effects::READS_LAST_INSERT_ID, ok(0), 1), LastId::Is(3), "it was only read");
        assert_eq!(after(Effects::SETS_LAST_INSERT_ID, ok(0), 1), at_server(3));
    }

    #[test]
    fn how_many_rows_there_were() {
        let of = |class, effects, affected_rows, rows| {
            let mut ran =
                Ran { class: Some(class), effects, last: effects, is_unanswered: true, ..Ran::default() };
            let end =
                End::Ok { affected_rows, last_insert_id: 0, status: StatusFlags::AUTOCOMMIT, warnings: 0 };
            let counted =
                ran.note_end(Outcome { end, rows, ends_rows: rows > 0 }, Counted { changed: 1, found: 9 });
            (counted.changed, counted.found)
        };
        assert_eq!(of(StatementKind::Select, Effects::empty(), 0, 4), (-1, 4));
        assert_eq!(
            of(StatementKind::Select, Effects::empty(), 0, 0),
            (0, 0),
            "into variables, of which there was nothing"
        );
        assert_eq!(of(StatementKind::Select, Effects::FILE, 3, 0), (3, 9), "into a file");
        assert_eq!(of(StatementKind::Update, Effects::WRITES, 2, 0), (2, 9));
        assert_eq!(of(StatementKind::Insert, Effects::WRITES, 0, 1), (-1, 9), "RETURNING");
        assert_eq!(of(StatementKind::Commit, Effects::empty(), 0, 0), (0, 9));
        assert_eq!(of(StatementKind::Show, Effects::READS_LAST, 0, 2), (-1, 9), "SHOW WARNINGS");
        assert_eq!(of(StatementKind::Show, Effects::empty(), 0, 2), (-1, 2));
        assert_eq!(of(StatementKind::Explain, Effects::empty(), 0, 2), (-1, 9));
        let counts = Effects::READS_LAST.union(Effects::COUNTS_ROWS);
        assert_eq!(of(StatementKind::Show, counts, 0, 1), (-1, 1), "SHOW COUNT(*) WARNINGS");
        let asks = Effects::READS_LAST.union(Effects::SETS_USER_VARIABLES);
        assert_eq!(of(StatementKind::Diagnostics, asks, 0, 0), (1, 9), "GET DIAGNOSTICS");
        assert_eq!(of(StatementKind::Do, Effects::READS_LAST, 0, 0), (0, 9), "DO ROW_COUNT()");
        let mut ran = Ran { class: Some(StatementKind::Select), ..Ran::default() };
        let ping = ran
            .note_end(Outcome { end: ok(0), rows: 0, ends_rows: false }, Counted { changed: -1, found: 9 });
        assert_eq!(ping, Counted { changed: 1, found: 9 });
    }
}
