//! The connection over which a server is asked about its log, and the one that its log comes over.

use std::time::Duration;

use binlog::request::Replica;
use net::random;
use session::identity::PLAIN;
use upstream::{Connection, InternalQuery, Target, Worker};

use super::lost::Lost;
use super::probe::{Kind, read_end};
use super::resets::Resets;
use super::seen;
use crate::ask::{accepted, query, request};
use crate::probe::{Failure, account};
use crate::question::Rows;
use wire::reply::Answer;

/// How often the server says that there is nothing to log, and where the log ends.
const HEARTBEAT: Duration = Duration::from_millis(200);

/// The bits of a connection's number that a greeting has.
const LOWER_HALF: u64 = 0xffff_ffff;

/// A replica like no other.
pub(super) fn replica() -> Replica {
    let nonce = random::nonce();
    let number =
        |at: usize| u32::from_le_bytes(std::array::from_fn(|i| nonce.get(at + i).copied().unwrap_or(1)));
    let uuid = (0..4).fold(0, |uuid: u128, part| uuid << 32 | u128::from(number(4 * part)));
    // Above 2^31, where operators seldom put theirs.
    Replica { server_id: number(16) | 1 << 31, uuid, heartbeat: HEARTBEAT, waits: true }
}

/// A connection of the monitor's account.
pub(super) struct Control<'w> {
    pub(super) worker: &'w Worker,
    pub(super) link: Connection,
    pub(super) kind: Kind,
    resets: Resets,
}

impl<'w> Control<'w> {
    /// Logs in as a replica. A proxy in between keeps such a connection at one server, and ends it
    /// when others would go to another one.
    pub(super) async fn open(worker: &'w Worker, target: &Target, replica: &Replica) -> Result<Self, Lost> {
        let configuration = worker.shared.configuration();
        let mut target = target.clone();
        target.compression = false;
        let link = account(&configuration.config().monitor).open(worker, &target, None).await?;
        let kind = if link.is_mariadb() { Kind::MariaDb } else { Kind::MySql { is_old: false } };
        let mut control = Self { worker, link, kind, resets: Resets::default() };
        // It may be idle for as long as no query asks.
        control.run("SET SESSION wait_timeout = 31536000").await?;
        control.send((replica.register(), Answer::Single), "COM_REGISTER_SLAVE").await?;
        Ok(control)
    }

    /// What tells the server's log from others.
    pub(super) async fn identity(&mut self) -> Result<seen::Identity, Lost> {
        const NONSENSE: Lost = Lost::Useless("the server does not tell who it is");
        let (server, status) = match self.kind {
            Kind::MySql { .. } => ("@@server_uuid", "performance_schema"),
            Kind::MariaDb => ("CONCAT_WS(' ', @@global.server_id, @@hostname, @@port)", "information_schema"),
        };
        // Both times are of the same statement, so that their difference is always the same.
        let who = format!(
            "SELECT {server} AS server, UNIX_TIMESTAMP() - VARIABLE_VALUE AS started, \
             CONNECTION_ID() + 0 AS id FROM {status}.global_status WHERE VARIABLE_NAME = 'Uptime'"
        );
        let rows = self.ask(&who).await?;
        let text = |column| rows.text(0, column).ok_or(NONSENSE);
        let (server, started) = (text("server")?, text("started")?);
        let id: u64 = text("id")?.parse().map_err(|_| NONSENSE)?;
        // A greeting has the lower half of the number.
        let is_direct = self.link.thread_id().is_some_and(|greeted| u64::from(greeted) == id & LOWER_HALF);
        let resets = self.count_resets().await?;
        Ok(seen::Identity { server, started, resets, is_direct })
    }

    /// The rows of a statement.
    pub(super) async fn ask(&mut self, statement: &str) -> Result<Rows, Lost> {
        query(self.worker, &mut self.link, statement).await.map_err(|failure| lost(statement, failure))
    }

    /// A statement without rows.
    pub(super) async fn run(&mut self, statement: &str) -> Result<(), Lost> {
        self.send((upstream::query(PLAIN, statement), Answer::Single), statement).await
    }

    /// A command without rows, by its name.
    async fn send(&mut self, command: InternalQuery, name: &str) -> Result<(), Lost> {
        let reply = request(self.worker, &mut self.link, command).await;
        reply.and_then(|reply| accepted(&reply)).map_err(|failure| lost(name, failure))
    }

    /// Where the log ends, if it is the same log as before.
    pub(super) async fn end(&mut self) -> Result<cache::Position, Lost> {
        let end = read_end(&self.ask_end().await?);
        let end = end.ok_or(Lost::Useless("the server has no binary log"))?;
        if self.resets.is_due(self.worker.shared.uptime_us()) {
            self.count_resets().await?;
        }
        Ok(end)
    }

    /// How often the server has run `RESET` or begun to replicate, if that is as often as before.
    async fn count_resets(&mut self) -> Result<u64, Lost> {
        let asked_us = self.worker.shared.uptime_us();
        // MySQL has it in no table.
        let rows = self.ask(self.kind.resets()).await?;
        let count = self.kind.read_resets(&rows);
        let count = count.ok_or(Lost::Useless("the server does not tell how often its log was reset"))?;
        if !self.resets.note_count(count, asked_us) {
            return Err(Lost::Useless(
                "the server's binary log was reset, or its replication was started or stopped",
            ));
        }
        Ok(count)
    }

    /// Where the log ends, in the words that the server knows.
    async fn ask_end(&mut self) -> Result<Rows, Lost> {
        match self.ask(self.kind.end()).await {
            Err(Lost::Refused { statement, error }) if self.kind == (Kind::MySql { is_old: false }) => {
                self.kind = Kind::MySql { is_old: true };
                let answer = self.ask(self.kind.end()).await;
                // A server that does not know these words either had another reason.
                answer.map_err(|_| Lost::Refused { statement, error })
            }
            answer => answer,
        }
    }
}

/// What a command that has failed means for the connection.
fn lost(command: &str, failure: Failure) -> Lost {
    match failure {
        Failure::Refused(error) => Lost::Refused { statement: command.to_owned(), error: error.into_owned() },
        Failure::Stale(why) | Failure::Finding(_, why) => Lost::Cut(why),
    }
}
