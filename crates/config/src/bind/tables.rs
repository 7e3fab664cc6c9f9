//! The rows of all sections, and where they stand.

use std::path::Path;
use std::rc::Rc;

use crate::draft::Draft;
use crate::model::Rows;
use crate::row::{PlacedRow, Row};
use crate::schema::{MYSQL_QUERY_RULES, MYSQL_USERS, SECTIONS, Section, TOP_LEVEL};
use crate::tree::Place;
use crate::turns::in_turns;

/// Large sections whose rows no others are compared with, and whose [typed rows](crate::Rows)
/// configurations share: of those that were checked nothing is wanted any more.
const ALONE: [&Section; 2] = [&MYSQL_USERS, &MYSQL_QUERY_RULES];

/// Whether it is one of these.
fn is_alone(section: &Section) -> bool {
    ALONE.iter().any(|alone| alone.name == section.name)
}

/// The rows of every section, in the order of [`SECTIONS`], then [`TOP_LEVEL`]. A group has one or,
/// if it is not in the file, none.
#[derive(Debug)]
pub(super) struct Tables {
    sections: Vec<Option<Vec<PlacedRow>>>,
    /// Of each section, whether it was found to be sound by itself before.
    seen: Vec<bool>,
    /// Where the section `listeners` starts; nothing if there is none.
    pub(super) listeners_at: Option<Place>,
}

impl Default for Tables {
    fn default() -> Self {
        let count = SECTIONS.len() + 1;
        Self { sections: vec![None; count], seen: vec![false; count], listeners_at: None }
    }
}

impl Tables {
    /// The rows of `section`.
    pub(super) fn of(&self, section: &Section) -> &[PlacedRow] {
        debug_assert!(
            !self.is_seen(section) || !is_alone(section),
            "nobody was to look at `{}`",
            section.name
        );
        self.sections.get(section.index()).and_then(Option::as_deref).unwrap_or_default()
    }

    /// The typed rows of `section`: those that it had `before`, if it was checked before.
    pub(super) fn typed<T: Clone>(
        &self,
        section: &Section,
        before: Option<&Rows<T>>,
        of: impl Fn(&Row) -> T,
    ) -> Rows<T> {
        let before = before.filter(|_| self.is_seen(section));
        before.cloned().unwrap_or_else(|| in_turns(self.of(section)).map(|row| of(&row.row)).collect())
    }

    /// Whether the rows of `section` were found to be sound by themselves before.
    pub(super) fn is_seen(&self, section: &Section) -> bool {
        self.seen.get(section.index()).is_some_and(|seen| *seen)
    }

    /// The rows of `section`, if it has to be found out whether they are sound by themselves.
    pub(super) fn unseen(&self, section: &Section) -> &[PlacedRow] {
        if self.is_seen(section) { &[] } else { self.of(section) }
    }

    /// Says what the rows of `section` are.
    pub(super) fn put(&mut self, section: &Section, rows: Vec<PlacedRow>) {
        if let Some(place) = self.sections.get_mut(section.index()) {
            *place = Some(rows);
        }
    }

    /// Rows that stand in tables. Those that `sound` has as well were checked.
    pub(super) fn from_draft(draft: &Draft, sound: Option<&Draft>) -> Self {
        let mut tables = Self::default();
        for (seen, section) in tables.seen.iter_mut().zip(SECTIONS) {
            *seen = sound.is_some_and(|sound| draft.shares(section, sound));
        }
        for section in SECTIONS.iter().copied().chain([&TOP_LEVEL]) {
            if is_alone(section) && tables.is_seen(section) {
                continue;
            }
            let table: Rc<Path> = Path::new(section.name).into();
            let placed = |(index, row): (usize, &Row)| PlacedRow {
                row: row.clone(),
                at: Place::row(&table, index + 1),
                given: None,
                sound: true,
            };
            tables.put(section, in_turns(draft.rows(section).iter().enumerate()).map(placed).collect());
        }
        tables
    }

    /// Frees the memory of all rows.
    pub(super) fn free(self) {
        in_turns(self.sections.into_iter().flatten().flatten()).for_each(drop);
    }

    /// The rows without their places.
    pub(super) fn into_draft(self) -> Draft {
        let mut draft = Draft::default();
        for (section, rows) in SECTIONS.iter().copied().chain([&TOP_LEVEL]).zip(self.sections) {
            if let Some(rows) = rows {
                draft.put_from_file(section, rows);
            }
        }
        draft
    }
}
