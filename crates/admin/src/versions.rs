//! What was loaded to runtime, kept to compare with and to go back to.

use std::path::Path;

use config::{Change, Changed, Draft};
use rusqlite::{OptionalExtension as _, params};

use crate::answer::{AdminError, Answer, Cell};
use crate::layers::Module;
use crate::store::{Store, now, set_version, transaction};

/// Former versions of each module that are kept.
const VERSIONS_MAX: i64 = 32;

/// Most rows of a version that is kept, which take about 6 MiB: larger ones would make every load
/// slow.
const VERSION_ROWS_MAX: usize = 20_000;

/// What becomes of a comparison when rows of memory cannot be used.
const NOT_COMPARED: &str = "in memory cannot be used, so not compared with what runs";

/// The same of rows on disk.
const DISK_NOT_COMPARED: &str = "on disk cannot be used, so not compared with memory";

impl Store {
    /// Keeps what a module runs with as its newest version, if it is another than that before. A
    /// failure is only logged: the module is loaded.
    pub(crate) fn remember(&self, module: Module, who: &str) {
        if module.sections().is_empty() {
            return;
        }
        let rows: usize = module.sections().iter().map(|section| self.runtime.rows(section).len()).sum();
        if rows > VERSION_ROWS_MAX {
            tracing::info!(module = module.words(), rows, "too large to be kept as a version");
            return;
        }
        let text = self.runtime.sections_to_cnf(module.sections());
        if let Err(error) = self.keep(module, &text, who) {
            tracing::warn!(module = module.words(), %error, "what was loaded is not kept as a version");
        }
    }

    /// The newest version of each module that has one.
    pub(crate) fn newest_versions(&self) -> Vec<(String, i64)> {
        let read = || {
            let sql = "SELECT module, max(version) FROM disk.pointsman_versions GROUP BY module";
            let mut statement = self.connection().prepare_cached(sql)?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        read().unwrap_or_else(|error| {
            tracing::warn!(%error, "versions cannot be read");
            Vec::new()
        })
    }

    fn keep(&self, module: Module, text: &str, who: &str) -> rusqlite::Result<()> {
        let connection = self.connection();
        transaction(connection, || {
            let newest: Option<String> = connection
                .query_row(
                    "SELECT config FROM disk.pointsman_versions WHERE module = ?1 ORDER BY version DESC LIMIT 1",
                    [module.words()],
                    |row| row.get(0),
                )
                .optional()?;
            if newest.as_deref() == Some(text) {
                return Ok(());
            }
            connection.execute(
                "INSERT INTO disk.pointsman_versions (module, applied_at, username, config) VALUES (?1, ?2, ?3, ?4)",
                params![module.words(), now(), who, text],
            )?;
            connection.execute(
                "DELETE FROM disk.pointsman_versions WHERE module = ?1 AND version NOT IN \
                 (SELECT version FROM disk.pointsman_versions WHERE module = ?1 ORDER BY version DESC LIMIT ?2)",
                params![module.words(), VERSIONS_MAX],
            )?;
            Ok(())
        })
    }

    /// `POINTSMAN CHECK CONFIG`: what is wrong with the memory layer and what deserves attention, a
    /// row each; OK if there is nothing to say.
    pub fn check_config(&self) -> Answer {
        let mut draft = self.runtime.clone();
        let mut rows = Vec::new();
        let mut say = |level: &str, text: String| rows.push(vec![Some(bytes(level)), Some(bytes(text))]);
        for section in Module::ALL.iter().flat_map(|module| module.sections()) {
            match self.read("main", section) {
                Ok(Ok(found)) => draft.set_rows(section, found),
                Ok(Err(problems)) => problems.iter().for_each(|problem| say("error", problem.to_string())),
                Err(error) => return error.into(),
            }
        }
        match draft.check() {
            Ok(checked) => {
                let problems = self.plane.iter().flat_map(|plane| plane.check(&checked.config));
                problems.for_each(|problem| say("error", problem.to_string()));
                checked.warnings.into_iter().for_each(|warning| say("warning", warning));
            }
            Err(problems) => problems.iter().for_each(|problem| say("error", problem.to_string())),
        }
        self.left_out().iter().for_each(|what| say("warning", what.clone()));
        if rows.is_empty() {
            return Answer::Ok { affected: 0, info: "the configuration in memory can be used".to_owned() };
        }
        Answer::Rows { columns: vec!["level".to_owned(), "message".to_owned()], rows }
    }

    /// `POINTSMAN DIFF <module>`: how memory differs from runtime and from disk, a row for every
    /// row or column.
    pub fn diff(&self, module: Module) -> Answer {
        self.try_diff(module).unwrap_or_else(Answer::from)
    }

    fn try_diff(&self, module: Module) -> Result<Answer, AdminError> {
        let (mut memory, mut disk) = (self.runtime.clone(), self.runtime.clone());
        self.read_memory(module, &mut memory, NOT_COMPARED)?;
        self.read_from("disk", module, &mut disk, DISK_NOT_COMPARED)?;
        // What is on disk may have been saved by a former version of the program: no admin can
        // change that.
        set_version(&mut disk);
        let against = |layer: &'static str, draft: &Draft| {
            let changes = module.sections().iter().flat_map(|section| draft.changes(&memory, section));
            changes.map(|change| difference(layer, change)).collect::<Vec<_>>()
        };
        let rows = [against("runtime", &self.runtime), against("disk", &disk)].concat();
        let columns = ["against", "table", "row", "change", "column", "there", "memory"];
        Ok(Answer::Rows { columns: columns.map(str::to_owned).to_vec(), rows })
    }

    /// `POINTSMAN ROLLBACK <module> [TO version]`: makes a former version of a module the one in
    /// memory and at runtime. Without a version, that before the one that runs.
    pub fn rollback(&mut self, module: Module, to: Option<u64>, who: &str) -> Answer {
        self.try_rollback(module, to, who).unwrap_or_else(Answer::from)
    }

    fn try_rollback(&mut self, module: Module, to: Option<u64>, who: &str) -> Result<Answer, AdminError> {
        let (version, text) = self.former(module, to)?;
        let origin = format!("version {version}");
        let former = config::parse_rows(&text, Path::new(&origin))
            .map_err(|problems| AdminError::new(format!("{origin} cannot be used any more: {problems}")))?;
        let mut draft = self.runtime.clone();
        for section in module.sections() {
            draft.take_rows(section, &former);
        }
        let answer = self.make_runtime(draft.clone(), &[module], who)?;
        self.write_memory(module, &draft)?;
        let Answer::Ok { info, .. } = answer else { return Ok(answer) };
        let then = if info.is_empty() { String::new() } else { format!("; {info}") };
        Ok(Answer::Ok { affected: 0, info: format!("{} is that of version {version}{then}", module.words()) })
    }

    /// A version of a module and its text: the one asked for, or the newest that is not what runs.
    fn former(&self, module: Module, to: Option<u64>) -> Result<(i64, String), AdminError> {
        let words = module.words();
        let runs = self.runtime.sections_to_cnf(module.sections());
        let found = self
            .connection()
            .query_row(
                "SELECT version, config FROM disk.pointsman_versions \
                 WHERE module = ?1 AND CASE WHEN ?2 IS NULL THEN config <> ?3 ELSE version = ?2 END \
                 ORDER BY version DESC LIMIT 1",
                params![words, to.and_then(|number| i64::try_from(number).ok()), runs],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .optional()?;
        found.ok_or_else(|| match to {
            Some(number) => AdminError::new(format!("{words} has no version {number}")),
            None => AdminError::new(format!("{words} has no former version")),
        })
    }
}

/// A row of a comparison: how memory differs from what `layer` has.
fn difference(layer: &str, change: Change) -> Vec<Cell> {
    let (what, column, old, new) = match change.what {
        Changed::Added => ("added", None, None, None),
        Changed::Removed => ("removed", None, None, None),
        Changed::Column { name, old, new } => ("changed", Some(name), Some(old), Some(new)),
    };
    vec![
        Some(bytes(layer)),
        Some(bytes(change.table)),
        Some(bytes(change.row)),
        Some(bytes(what)),
        column.map(bytes),
        old.map(bytes),
        new.map(bytes),
    ]
}

fn bytes(text: impl AsRef<str>) -> Vec<u8> {
    text.as_ref().as_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_text_that_reads_back() {
        let draft = Draft::default();
        let text = draft.sections_to_cnf(Module::MysqlVariables.sections());
        assert_eq!(config::parse_rows(&text, Path::new("v")).unwrap(), draft);
    }
}
