//! What the thread of accounts that may only read statistics does with a statement.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use observe::plane::DataPlane;
use rusqlite::types::Value;
use tokio::sync::{mpsc, oneshot, watch};

use super::desk::{explain, met_bug};
use super::{Job, Reply, Request, stopped};
use crate::answer::{AdminError, Answer};
use crate::chatter::{self, Chatter, Facts};
use crate::command::{Command, Statement};
use crate::settings::Settings;
use crate::store::{Known, Lease, Statistics};
use crate::who::{Rights, Who};
use crate::{VERSION, hint, show, stats};

/// The state of the thread.
pub(super) struct Reader {
    databases: Statistics,
    plane: Arc<dyn DataPlane>,
    settings: watch::Receiver<Arc<Settings>>,
    known: watch::Receiver<Arc<Known>>,
    /// The thread of admins, which has the events of the query log.
    admins: mpsc::WeakSender<Job>,
}

impl Reader {
    pub(super) fn new(
        databases: Statistics,
        plane: Arc<dyn DataPlane>,
        settings: watch::Receiver<Arc<Settings>>,
        known: watch::Receiver<Arc<Known>>,
        admins: mpsc::WeakSender<Job>,
    ) -> Self {
        Self { databases, plane, settings, known, admins }
    }

    /// Executes a statement and answers it.
    pub(super) fn serve(&mut self, request: Request) {
        let Request { who, text, reply, .. } = request;
        let statement = Statement::new(&text);
        let work = AssertUnwindSafe(|| self.execute(&who, &statement));
        let (answer, lease) =
            catch_unwind(work).unwrap_or_else(|_| (met_bug().into(), self.databases.no_lease()));
        // The client may wait for it no more.
        let _ = reply.send(Reply { answer, lease: Some(lease) });
    }

    fn execute(&mut self, who: &Who, statement: &Statement<'_>) -> (Answer, Lease) {
        let facts = Facts { who, version: VERSION, read_only: self.settings.borrow().read_only };
        let small = |answer: Answer, databases: &Statistics| (answer, databases.no_lease());
        match chatter::answer(statement, facts) {
            Some(Chatter::Answer(answer)) => return small(answer, &self.databases),
            Some(Chatter::Sql(sql)) => return self.query(&sql),
            None => {}
        }
        if let Some(sql) = show::rewrite(statement, Rights::Stats) {
            return self.query(&sql);
        }
        if statement.upper == "SHOW PROMETHEUS METRICS" {
            let known = Arc::clone(&self.known.borrow());
            return small(stats::prometheus::show(&*self.plane, &known), &self.databases);
        }
        if let Some(command) = Command::allowed(statement, Rights::Stats) {
            return small(self.obey(command), &self.databases);
        }
        // A command of admins is no statement at all, which SQLite says.
        let (answer, lease) = self.query(&statement.text);
        (hint::with_hint(answer, statement, Rights::Stats), lease)
    }

    fn obey(&self, command: Command) -> Answer {
        match command {
            Command::ExplainRoute(question, json) => explain(&*self.plane, &question, json),
            Command::BadExplain(why) => AdminError::new(why).into(),
            Command::CacheAdvise => stats::advice::advise(&*self.plane),
            _ => AdminError::new("this is for admins").into(),
        }
    }

    /// Runs SQL, once the tables that it names are filled.
    fn query(&mut self, sql: &str) -> (Answer, Lease) {
        let names = stats::names(sql);
        if let Err(error) = self.fill(&names) {
            return (error.into(), self.databases.no_lease());
        }
        let answered = self.databases.query(sql);
        if let Err(error) = self.databases.clear(&names) {
            tracing::warn!(%error, "statistics that were read keep their memory");
        }
        answered
    }

    fn fill(&mut self, names: &[String]) -> Result<(), AdminError> {
        let known = Arc::clone(&self.known.borrow());
        let memory = |name: &str| known.memory(name);
        stats::refresh(names, &mut self.databases.filling(), &memory, &*self.plane)?;
        if names.iter().any(|name| name == stats::EVENTS) {
            let events = self.events()?;
            self.databases.filling().refill(stats::EVENTS, events)?;
        }
        Ok(())
    }

    /// The events of the query log that are in memory, without literals.
    fn events(&self) -> Result<Vec<Vec<Value>>, AdminError> {
        let admins = self.admins.upgrade().ok_or_else(stopped)?;
        let (reply, events) = oneshot::channel();
        admins.blocking_send(Job::Events(reply)).map_err(|_| stopped())?;
        drop(admins);
        events.blocking_recv().map_err(|_| stopped())?
    }
}
