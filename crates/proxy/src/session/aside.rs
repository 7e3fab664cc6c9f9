//! Between two statements: connections that nothing binds to the session are laid aside, where another session may get them, and
//! taken back with the next command if they are still there.

use route::Effects;
use wire::StatusFlags;
use wire::reply::End;

use super::Session;
use super::course::Aside;
use super::course::decided::Decided;
use crate::backend::Backend;
use crate::state::Pin;
use crate::state::results::LastId;
use crate::state::substitute::Counted;
use crate::statement::class::Class;

/// What may change `LAST_INSERT_ID()`.
const CHANGES_LAST_ID: Effects =
    Effects::WRITES.with(Effects::SETS_LAST_INSERT_ID).with(Effects::FUNCTION).with(Effects::UNKNOWN);

/// Of these the answer does not tell whether they have changed it.
const HIDES_LAST_ID: Effects = Effects::SETS_LAST_INSERT_ID.with(Effects::FUNCTION).with(Effects::UNKNOWN);

/// What the statements did that ran since the connection was taken.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ran {
    pub(super) effects: Effects,
    /// How many there were, each of several in one text.
    pub(super) statements: u32,
    /// What kind of statement the last one is.
    pub(super) class: Option<Class>,
    /// Whether it reads or writes tables.
    pub(super) tables: bool,
    /// How it ended, and how many rows it had.
    pub(super) end: Option<End>,
    pub(super) rows: u64,
}

impl Ran {
    /// A statement is being sent.
    pub(super) const fn note(&mut self, decided: &Decided) {
        (self.class, self.tables) = (decided.class, decided.tables);
        self.effects = self.effects.with(decided.effects);
        self.statements = self.statements.saturating_add(1 + decided.several as u32);
    }

    /// Whether the last one was the only one.
    pub(super) const fn is_single(&self) -> bool {
        self.statements == 1
    }

    /// What `LAST_INSERT_ID()` is after this, if it was `before`.
    fn last_id(self, before: LastId) -> LastId {
        let generated = match self.end {
            Some(End::Ok { last_insert_id, .. }) => Some(last_insert_id),
            _ => None,
        };
        match generated {
            _ if !self.effects.any_of(CHANGES_LAST_ID) => before,
            Some(0) if self.statements <= 1 && !self.effects.any_of(HIDES_LAST_ID) => before,
            // A key that the statement has named is told as well, and changes nothing.
            Some(id) if id > 0 => LastId::AtServer(id),
            _ => LastId::AtServer(before.known()),
        }
    }

    /// What was counted of the last statement; `before` of the one before it.
    const fn counted(self, before: Counted) -> Counted {
        let has_rows = self.rows > 0
            || matches!(self.class, Some(Class::Select | Class::Show | Class::Explain | Class::Describe));
        let found = if has_rows { self.rows } else { before.found };
        let changed = match self.end {
            Some(End::Ok { affected_rows, .. }) if !has_rows => affected_rows.cast_signed(),
            _ => -1,
        };
        Counted { changed, found }
    }
}

impl Session {
    /// The session waits for its client: what is not bound to it may be used by others.
    pub(super) fn lay_aside(&mut self) {
        if self.backend.is_none() || self.course.decided.is_some() {
            return;
        }
        self.note_ran();
        let hostgroup = self.course.hostgroup;
        if !self.shares(hostgroup) {
            return;
        }
        let pin = self.pin();
        self.control.set_pin(pin, self.worker.now());
        let is_sent =
            self.backend.as_ref().is_some_and(|backend| self.to_backend.is_sent(backend.connection()));
        if pin.is_some() || !is_sent || !self.backlog.is_empty() {
            return;
        }
        if let Some(backend) = self.backend.take() {
            self.lay_one_aside(hostgroup, backend, self.course.applied, self.status);
        }
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
        let left = course.left(hostgroup);
        let ticket = self.worker.kept.lay_aside(&self.worker, hostgroup, &course.passport, backend, left);
        match ticket {
            Some(ticket) => course.aside.push(Aside { hostgroup, ticket, applied, status }),
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
        self.backend = self.worker.kept.take_back(ticket);
        (self.course.applied, self.status) = (applied, status);
        if self.backend.is_none() {
            self.was_lent(hostgroup);
        }
    }

    /// The session's connection to this hostgroup belongs to somebody else now, or is gone.
    pub(super) fn was_lent(&mut self, hostgroup: u32) {
        self.forget_prepared(hostgroup);
        if hostgroup == self.course.hostgroup {
            self.course.applied = 0;
            self.course.is_away = true;
            self.control.about.set_backend(None);
        }
    }

    /// Takes note of what has run since the connection was taken.
    fn note_ran(&mut self) {
        let ran = std::mem::take(&mut self.course.ran);
        if ran.statements == 0 {
            return;
        }
        let course = &mut self.course;
        let before = course.results.last_id();
        let last_id = ran.last_id(before);
        if last_id != before {
            course.results.set_last_id(last_id);
            if let Some(backend) = &mut self.backend {
                backend.connection_mut().set_last_id(None);
            }
        }
        course.counted = ran.counted(course.counted);
        course.is_away = false;
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
            && !self.control.has_mail()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(effects: Effects, end: End, statements: u32) -> LastId {
        Ran { effects, statements, end: Some(end), ..Ran::default() }.last_id(LastId::Is(3))
    }

    const fn ok(last_insert_id: u64) -> End {
        End::Ok { affected_rows: 1, last_insert_id, status: StatusFlags::AUTOCOMMIT, warnings: 0 }
    }

    #[test]
    fn what_may_have_changed_the_last_key() {
        assert_eq!(after(Effects::NONE, ok(0), 1), LastId::Is(3));
        assert_eq!(after(Effects::WRITES, ok(0), 1), LastId::Is(3));
        assert_eq!(after(Effects::WRITES, ok(9), 1), LastId::AtServer(9));
        assert_eq!(after(Effects::WRITES, ok(0), 2), LastId::AtServer(3), "the first one may have");
        assert_eq!(after(Effects::WRITES, End::Err { code: 1062 }, 1), LastId::AtServer(3));
        assert_eq!(after(Effects::LAST_INSERT_ID, ok(0), 1), LastId::Is(3), "it was only read");
        assert_eq!(after(Effects::SETS_LAST_INSERT_ID, ok(0), 1), LastId::AtServer(3));
    }
}
