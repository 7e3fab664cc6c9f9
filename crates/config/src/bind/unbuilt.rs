//! The one warning about settings that are known and do nothing yet.

use std::path::Path;

use crate::schema::Section;

/// Which of them a file uses.
#[derive(Debug, Default)]
pub(super) struct Unbuilt {
    /// The names of sections, with those of fields unless the whole section is meant.
    used: Vec<(&'static str, Vec<String>)>,
}

impl Unbuilt {
    /// The file has rows in a table that does nothing yet.
    pub(super) fn section(&mut self, name: &'static str) {
        self.used.push((name, Vec::new()));
    }

    /// The file sets a field that does nothing (yet). Of a table that was noted as a whole, it is not noted.
    pub(super) fn field(&mut self, section: &Section, name: &str) {
        match self.used.iter_mut().find(|(used, _)| *used == section.name) {
            Some((_, fields)) if fields.is_empty() || fields.iter().any(|field| field == name) => {}
            Some((_, fields)) => fields.push(name.to_owned()),
            None => self.used.push((section.name, vec![name.to_owned()])),
        }
    }

    /// The warning, if there is something to warn of. `origin` is the file.
    pub(super) fn warning(self, origin: &Path) -> Option<String> {
        let names = self.used.into_iter().map(|(section, fields)| match (section, fields.join(", ")) {
            ("", fields) => fields,
            (section, fields) if fields.is_empty() => section.to_owned(),
            (section, fields) => format!("{section} ({fields})"),
        });
        let names: Vec<String> = names.collect();
        if names.is_empty() {
            return None;
        }
        Some(format!("{}: accepted, but without effect so far: {}", origin.display(), names.join(", ")))
    }
}
