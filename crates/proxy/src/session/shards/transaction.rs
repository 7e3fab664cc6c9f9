//! Transactions of sessions with sharded tables.
//!
//! A transaction begins at home. A shard hears of its beginning, and of savepoints, in front of the
//! first statement that it gets of the transaction. The end goes to all that are in it, shards
//! first. A transaction writes at one place, unless several are allowed. Home is asked about
//! savepoints first: a name that it does not know is an error of the statement alone.

use config::ShardTransactions;
use route::StatementPlan;
use sql::StatementKind;
use sql::shape::Effects;
use wire::command::Kind;
use wire::frame::HEADER_LEN;
use wire::packet;

use super::command::Command;
use super::savepoints::Savepoints;
use super::{Inner, Place};
use crate::ending::Ending;
use crate::error::ClientError;
use crate::session::Session;
use crate::session::phase::Phase;
use crate::state::Pin;

/// What a shard has to hear before its first statement of the open transaction.
#[derive(Debug, Default)]
pub(super) struct Transaction {
    /// The statement that has begun it. `AND CHAIN` begins one without a statement.
    beginning: Option<Box<[u8]>>,
    /// Those that it has.
    savepoints: Savepoints,
    /// A statement has written at home.
    wrote_at_home: bool,
    /// `SET TRANSACTION` has said something of this one alone, which only the home knows.
    is_special: bool,
}

/// Whether a statement begins, ends or divides a transaction.
pub(super) const fn is_about_transaction(what: StatementPlan) -> bool {
    let kind = what.kind;
    !what.several
        && (kind.begins()
            || matches!(
                kind,
                StatementKind::Commit
                    | StatementKind::Rollback
                    | StatementKind::Savepoint
                    | StatementKind::ReleaseSavepoint
                    | StatementKind::RollbackSavepoint
            ))
}

impl Session {
    /// The command in the backlog is about the transaction: shards in it hear it, then it runs at
    /// home.
    pub(super) async fn change_transaction(
        &mut self,
        what: StatementPlan,
        text: &[u8],
    ) -> Result<Phase, Ending> {
        let outcome = match what.kind {
            StatementKind::Commit => self.end_at_shards(b"COMMIT").await?,
            StatementKind::Rollback => self.end_at_shards(b"ROLLBACK").await?,
            kind if kind.begins() => {
                let committed = self.end_at_shards(b"COMMIT").await?;
                let is_special = self.state.pins.has_any(&[Pin::NextTransaction]);
                let transaction = &mut self.links.away.role.shards().transaction;
                (transaction.beginning, transaction.is_special) = (Some(text.into()), is_special);
                committed
            }
            kind => return self.divide_transaction(kind, text).await,
        };
        match outcome {
            Ok(()) => Ok(self.stay_home()),
            Err(error) => self.answer_lost(&error).await,
        }
    }

    /// Ends the transaction at all shards that are in it. The error packet of the first that
    /// refuses.
    pub(super) async fn end_at_shards(&mut self, text: &[u8]) -> Result<Result<(), Vec<u8>>, Ending> {
        let shards = self.links.away.role.shards();
        shards.transaction = Transaction::default();
        shards.inner.iter_mut().for_each(|inner| inner.wrote = false);
        self.say_at_shards(text).await
    }

    /// The command in the backlog sets, leaves or releases a savepoint. A name that home does not
    /// know changes nothing.
    async fn divide_transaction(&mut self, kind: StatementKind, text: &[u8]) -> Result<Phase, Ending> {
        let savepoints = &self.links.away.role.shards().transaction.savepoints;
        if kind == StatementKind::Savepoint && savepoints.is_full() {
            let error =
                ClientError::not_sharded("a savepoint more", "the transaction has all that it may have");
            return self.refuse_at_shards(Kind::Query, &error).await;
        }
        let reply = self.ask(text).await?;
        if error_of(&reply).is_none() {
            self.links.away.role.shards().transaction.savepoints.note(kind, text);
            if let Err(error) = self.say_at_shards(text).await? {
                return self.answer_lost(&error).await;
            }
        }
        self.links.away.role.shards().last = Place::Home;
        self.give_reply(Kind::Query, &reply).await
    }

    /// A shard has refused what divides or ends the transaction: nothing of it is to last where it
    /// can be taken back.
    async fn answer_lost(&mut self, error: &[u8]) -> Result<Phase, Ending> {
        self.end_at_shards(b"ROLLBACK").await?.ok();
        self.ask(b"ROLLBACK").await?;
        self.answer_here(Kind::Query, error).await?;
        Ok(Phase::Over)
    }

    /// Has all shards that are in the transaction run a statement, one after the other.
    async fn say_at_shards(&mut self, text: &[u8]) -> Result<Result<(), Vec<u8>>, Ending> {
        let open = |inner: &Inner| inner.is_in_transaction();
        let all: Vec<u32> = self
            .links
            .away
            .role
            .shards()
            .inner
            .iter()
            .filter(|inner| open(inner))
            .map(|inner| inner.hostgroup)
            .collect();
        let mut refused = Ok(());
        for hostgroup in all {
            let mut inner = self.take_inner(hostgroup);
            let reply = inner.session.ask(text).await;
            inner.wrote &= inner.is_in_transaction();
            self.put_inner(inner);
            if let Some(error) = error_of(&reply?)
                && refused.is_ok()
            {
                refused = Err(error);
            }
        }
        Ok(refused)
    }

    /// A statement that runs at home ends the transaction, or may do so unseen: shards in it hear
    /// of it before. The payload of the error if the statement is not to run.
    pub(super) async fn leave_transaction(&mut self, command: &Command) -> Result<Option<Vec<u8>>, Ending> {
        let is_in = self.links.away.role.shards().inner.iter().any(Inner::is_in_transaction);
        if !is_in {
            return Ok(None);
        }
        if command.what.several && command.what.effects.intersects(Effects::TRANSACTION | Effects::COMMITS) {
            let error = ClientError::not_sharded(
                "several statements in one text that end a transaction",
                "shards are in it",
            );
            return Ok(Some(error.to_packet(0, self.capabilities()).split_off(HEADER_LEN)));
        }
        if command.defines() { Ok(self.end_at_shards(b"COMMIT").await?.err()) } else { Ok(None) }
    }

    /// The inner session of a shard, in the transaction if one is open. The payload of the error if
    /// the shard does not begin it.
    pub(super) async fn enter(
        &mut self,
        hostgroup: u32,
        slot: usize,
    ) -> Result<Result<Inner, Vec<u8>>, Ending> {
        let is_open = self.is_in_transaction() || self.state.begins_later();
        if !is_open {
            let autocommit = self.state.link.status.contains(wire::StatusFlags::AUTOCOMMIT);
            let shards = self.links.away.role.shards();
            let is_left = autocommit && shards.inner.iter().any(Inner::is_in_transaction);
            shards.transaction = Transaction::default();
            if is_left {
                // The transaction has ended at home: it was rolled back there.
                self.end_at_shards(b"ROLLBACK").await?.ok();
            }
        }
        let layout = self.worker.settings().shards.clone();
        let shards = self.links.away.role.shards();
        if !shards.inner.iter().any(Inner::is_in_transaction) {
            shards.layout = layout;
        }
        let mut inner = self.take_inner_at(hostgroup, slot);
        if is_open && !inner.is_in_transaction() {
            inner.wrote = false;
            let transaction = &self.links.away.role.shards().transaction;
            let begin = transaction.beginning.clone().unwrap_or_else(|| b"BEGIN"[..].into());
            let savepoints = transaction.savepoints.texts().map(Box::from);
            for text in std::iter::once(begin).chain(savepoints).collect::<Vec<_>>() {
                let reply = inner.session.ask(&text).await?;
                if let Some(error) = error_of(&reply) {
                    self.put_inner(inner);
                    return Ok(Err(error));
                }
            }
        }
        Ok(Ok(inner))
    }

    /// A shard has lost the open transaction: so do all others.
    pub(super) async fn roll_back_with(&mut self, hostgroup: u32) -> Result<(), Ending> {
        tracing::debug!(hostgroup, "a shard has ended the transaction; it is rolled back everywhere");
        self.roll_back_everywhere().await
    }

    /// Rolls the open transaction back at shards, and at home.
    pub(super) async fn roll_back_everywhere(&mut self) -> Result<(), Ending> {
        self.end_at_shards(b"ROLLBACK").await?.ok();
        if self.is_in_transaction() || self.state.begins_later() {
            self.ask(b"ROLLBACK").await?;
        }
        Ok(())
    }

    /// Whether a statement may write at this place: not if the open transaction has written at
    /// another one, unless that is allowed.
    pub(super) fn may_write(&mut self, place: Place) -> Result<(), ClientError> {
        if !self.is_single() {
            return Ok(());
        }
        let is_open = self.has_one_connection();
        let shards = self.links.away.role.shards();
        let mut others = shards.inner.iter().filter(|inner| inner.wrote && inner.place() != place);
        let is_elsewhere =
            others.next().is_some() || shards.transaction.wrote_at_home && place != Place::Home;
        if !is_open || !is_elsewhere {
            return Ok(());
        }
        Err(several_servers("a transaction that writes at several servers"))
    }

    /// Servers commit before a statement that defines tables: so do all that are in the
    /// transaction.
    pub(super) async fn commit_everywhere(&mut self) -> Result<(), Ending> {
        self.end_at_shards(b"COMMIT").await?.ok();
        if self.is_in_transaction() || self.state.begins_later() {
            self.ask(b"COMMIT").await?;
        }
        Ok(())
    }

    /// Whether the open transaction is one that shards cannot be in.
    pub(super) fn keeps_home(&mut self) -> Option<ClientError> {
        let is_special = self.links.away.role.shards().transaction.is_special
            && (self.is_in_transaction() || self.state.begins_later());
        let (part, reason) = if is_special {
            (
                "a transaction that SET TRANSACTION has set up",
                "its level is known to the home only; SET SESSION TRANSACTION works",
            )
        } else if self.state.pins.has_any(&[Pin::Xa]) {
            ("an XA transaction", "it is known to the home only")
        } else {
            return None;
        };
        Some(ClientError::not_sharded(part, reason))
    }

    /// Whether a transaction may write at one server only.
    pub(super) fn is_single(&self) -> bool {
        self.worker.settings().shard_transactions == ShardTransactions::Single
    }

    /// A statement that may write runs at home.
    pub(super) fn note_written_at_home(&mut self) {
        let is_open = self.has_one_connection();
        self.links.away.role.shards().transaction.wrote_at_home |= is_open;
    }
}

/// The refusal of what may write at one server only.
pub(super) fn several_servers(part: &str) -> ClientError {
    ClientError::not_sharded(
        part,
        "pointsman-shard_transactions is 'single'; with 'best_effort' servers commit one after the other",
    )
}

/// The payload of the error that a reply begins with.
pub(super) fn error_of(reply: &[u8]) -> Option<Vec<u8>> {
    let payload = crate::session::backlog::front(reply);
    (payload.first() == Some(&packet::Err::HEADER)).then(|| payload.to_vec())
}
