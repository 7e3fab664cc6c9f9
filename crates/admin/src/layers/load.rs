//! LOAD ... TO RUNTIME: read, judge the whole, apply, remember.

use std::sync::Arc;

use config::schema::{LISTENERS, MYSQL_USERS, MYSQL_VARIABLES, Scalar};
use config::{Config, Draft, Row};
use observe::plane::{DataPlane, NotApplied, ShardCheck};

use super::Module;
use crate::answer::{AdminError, Answer};
use crate::store::{Store, refusal, set_version};

/// Variables that are used when the proxy starts, and not again.
const AT_START: [&str; 3] = ["interfaces", "threads", "stacksize"];

/// Warnings about shards that an admin is told with the answer; the log has all.
const WARNINGS_SHOWN_MAX: usize = 3;

/// What becomes of a module whose rows cannot be used.
const NOT_LOADED: &str = "not loaded";

impl Store {
    /// Makes a module's rows of memory what runs. On an error nothing has changed.
    pub(super) fn load(&mut self, module: Module, who: &str) -> Result<Answer, AdminError> {
        if module == Module::Coredump {
            return self.load_coredump();
        }
        let mut draft = self.runtime.clone();
        self.read_memory(module, &mut draft, NOT_LOADED)?;
        self.make_runtime(draft, &[module], who)
    }

    /// `LOAD MYSQL USER <name> TO RUNTIME`.
    pub fn load_user(&mut self, name: &str, who: &str) -> Answer {
        let valid = |c: char| c.is_ascii_alphanumeric() || "+_-".contains(c);
        if name.is_empty() || !name.chars().all(valid) {
            return AdminError::new(format!("Invalid name {name}")).into();
        }
        self.load_one_user(name, who).unwrap_or_else(Answer::from)
    }

    fn load_one_user(&mut self, name: &str, who: &str) -> Result<Answer, AdminError> {
        let mut memory = self.runtime.clone();
        self.read_memory(Module::MysqlUsers, &mut memory, NOT_LOADED)?;
        let named = |row: &&Row| *row.scalar("username") == Scalar::Text(name.to_owned());
        let others = self.runtime.rows(&MYSQL_USERS).iter().filter(|row| !named(row));
        let rows = others.chain(memory.rows(&MYSQL_USERS).iter().filter(named)).cloned().collect();
        let mut draft = self.runtime.clone();
        draft.set_rows(&MYSQL_USERS, rows);
        self.make_runtime(draft, &[Module::MysqlUsers], who)
    }

    /// Replaces a module's rows in `draft` by those of memory: see [`read_from`](Self::read_from).
    pub(crate) fn read_memory(
        &self,
        module: Module,
        draft: &mut Draft,
        failure: &str,
    ) -> Result<(), AdminError> {
        self.read_from("main", module, draft, failure)
    }

    /// Replaces a module's rows in `draft` by those of a schema. Of rows that cannot be used,
    /// `failure` says behind the module's name what does not come of them.
    pub(crate) fn read_from(
        &self,
        schema: &str,
        module: Module,
        draft: &mut Draft,
        failure: &str,
    ) -> Result<(), AdminError> {
        for section in module.sections() {
            let rows = self.read(schema, section)?;
            let unusable = |problems: Vec<_>| refusal(&format!("{} {failure}", module.words()), &problems);
            draft.set_rows(section, rows.map_err(unusable)?);
        }
        Ok(())
    }

    /// Judges `draft`, in which the rows of `modules` are new, and makes it what runs.
    pub(crate) fn make_runtime(
        &mut self,
        mut draft: Draft,
        modules: &[Module],
        who: &str,
    ) -> Result<Answer, AdminError> {
        let words: Vec<&str> = modules.iter().map(|module| module.words()).collect();
        let words = words.join(", ");
        let info = if self.plane.is_some() { self.keep_what_started(&mut draft) } else { String::new() };
        set_version(&mut draft);
        let checked = draft
            .check_from(&self.runtime, self.config())
            .map_err(|problems| refusal(&format!("{words} {NOT_LOADED}"), &problems))?;
        let config = Arc::new(checked.config);
        let not_loaded = format!("{words} {NOT_LOADED}");
        let mut told: Vec<String> = Some(info).into_iter().filter(|info| !info.is_empty()).collect();
        if let Some(plane) = self.plane.as_deref().filter(|_| modules.contains(&Module::Shards)) {
            told.extend(check_shards(plane, &config, &not_loaded)?);
        }
        if let Some(plane) = &self.plane {
            plane.apply(&config).map_err(|why| match why {
                NotApplied::Rows(problems) => refusal(&not_loaded, &problems),
                NotApplied::Because(why) => {
                    AdminError::new(format!("{not_loaded}: the configuration was not applied: {why}"))
                }
            })?;
        }
        // At a start, without a data plane, the boot code has already reported the warnings.
        for warning in checked.warnings.iter().filter(|_| self.plane.is_some()) {
            tracing::warn!("{warning}");
        }
        self.runs(draft, config);
        for module in modules {
            self.checksums.loaded(*module, &self.runtime);
            self.remember(*module, who);
        }
        if self.plane.is_some() {
            tracing::info!(by = who, "loaded {words} to runtime");
        }
        Ok(Answer::Ok { affected: 0, info: told.join("; ") })
    }

    /// Puts what only a start can change back to what it was; the answer's message says what that
    /// is.
    fn keep_what_started(&self, draft: &mut Draft) -> String {
        let mut kept = Vec::new();
        let (Some(old), Some(new)) =
            (self.runtime.rows(&MYSQL_VARIABLES).first(), draft.rows(&MYSQL_VARIABLES).first())
        else {
            return String::new();
        };
        let mut row = new.clone();
        for name in AT_START {
            if old.scalar(name) != new.scalar(name) {
                row = row.with(name, old.scalar(name).clone());
                kept.push(format!("mysql-{name}"));
            }
        }
        if !kept.is_empty() {
            draft.set_rows(&MYSQL_VARIABLES, vec![row]);
        }
        if draft.rows(&LISTENERS) != self.runtime.rows(&LISTENERS) {
            draft.take_rows(&LISTENERS, &self.runtime);
            kept.push("pointsman_listeners".to_owned());
        }
        if kept.is_empty() {
            return String::new();
        }
        format!("saved values of {} take effect when the proxy starts again", kept.join(", "))
    }

    /// `LOAD COREDUMP TO RUNTIME`. Nothing writes core files here; the rows are only shown.
    fn load_coredump(&mut self) -> Result<Answer, AdminError> {
        self.connection().execute_batch(
            "BEGIN; DELETE FROM main.runtime_coredump_filters; \
             INSERT INTO main.runtime_coredump_filters SELECT * FROM main.coredump_filters; COMMIT",
        )?;
        Ok(Answer::done())
    }
}

/// Has servers say whether they have the tables of a layout as they should be. What is to be told
/// to the admin if the layout can be loaded.
fn check_shards(plane: &dyn DataPlane, config: &Config, not_loaded: &str) -> Result<Vec<String>, AdminError> {
    let ShardCheck { problems, mut warnings } = plane.check_shards(config);
    if !problems.is_empty() {
        return Err(refusal(not_loaded, &problems));
    }
    for warning in &warnings {
        tracing::warn!("shards: {warning}");
    }
    if let Some(more) = warnings.len().checked_sub(WARNINGS_SHOWN_MAX).filter(|more| *more > 0) {
        warnings.truncate(WARNINGS_SHOWN_MAX);
        warnings.push(format!("{more} more warnings are in the log"));
    }
    Ok(warnings)
}
