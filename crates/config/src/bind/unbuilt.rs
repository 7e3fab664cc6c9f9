//! The one warning about settings that are known and do nothing yet.

use crate::draft::Draft;
use crate::row::Row;
use crate::schema::{Field, SECTIONS, Section, Shape};
use crate::turns::in_turns;

/// Which of them a file uses.
#[derive(Debug, Default)]
pub(super) struct Unbuilt {
    /// The names of sections, with those of fields unless the whole section is meant.
    used: Vec<(&'static str, Vec<String>)>,
}

impl Unbuilt {
    /// What the rows of `draft` use of it.
    pub(super) fn of(draft: &Draft) -> Self {
        let mut unbuilt = Self::default();
        for section in SECTIONS {
            let rows = draft.rows(section);
            if section.shape == Shape::Rows && !section.built() {
                if !rows.is_empty() {
                    unbuilt.section(section.name);
                }
                continue;
            }
            for (at, field) in section.fields().enumerate().filter(|(_, field)| !is_quiet(field)) {
                let preset = field.preset.value();
                if in_turns(rows).any(|row| row.cells().get(at) != preset.as_ref()) {
                    unbuilt.field(section, field.name);
                }
            }
        }
        unbuilt
    }

    /// The file gives `row` a value of `field`. What is the default anyway is not missed: a file
    /// that ProxySQL has saved has every variable.
    pub(super) fn given(&mut self, section: &Section, field: &Field, row: &Row) {
        if !is_quiet(field) && !row.is_preset(field.name) {
            self.field(section, field.name);
        }
    }

    /// The file has rows in a table that does nothing yet.
    pub(super) fn section(&mut self, name: &'static str) {
        self.used.push((name, Vec::new()));
    }

    /// The file sets a field that does nothing (yet). Of a table that was noted as a whole, it is
    /// not noted.
    pub(super) fn field(&mut self, section: &Section, name: &str) {
        match self.used.iter_mut().find(|(used, _)| *used == section.name) {
            Some((_, fields)) if fields.is_empty() || fields.iter().any(|field| field == name) => {}
            Some((_, fields)) => fields.push(name.to_owned()),
            None => self.used.push((section.name, vec![name.to_owned()])),
        }
    }

    /// The warning, if there is something to warn of.
    pub(super) fn warning(self) -> Option<String> {
        let names = self.used.into_iter().map(|(section, fields)| match (section, fields.join(", ")) {
            ("", fields) => fields,
            (section, fields) if fields.is_empty() => section.to_owned(),
            (section, fields) => format!("{section} ({fields})"),
        });
        let names: Vec<String> = names.collect();
        if names.is_empty() {
            return None;
        }
        Some(format!("accepted, but without effect so far: {}", names.join(", ")))
    }
}

/// Whether nothing is missed where the field has no effect.
fn is_quiet(field: &Field) -> bool {
    field.built || field.superseded.is_some() || field.doc.starts_with("read only")
}
