//! Statements that several shards run, or one with other names than those of the client: the
//! client's reply is put together of theirs.
//!
//! Tables on one server are asked at the same time, over connections of their own. In a transaction
//! there is one connection to a server: its tables are asked one after the other.

use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use net::sock::memory::pair;
use observe::running::Measured;
use shard::merge::{Order, Protocol, Window};
use shard::plan::{Branch, Counts};
use shard::seen::Cells;
use tokio::time::timeout;
use wire::StatusFlags;
use wire::command::Kind;

use super::Place;
use super::command::Command;
use super::inner::BUFFER_BYTES;
use super::moment::Moment;
use super::runners::{Run, Runner, Runners, Unit, poll_all};
use super::scattered::{Scattered, has_several_servers, has_twins};
use super::transaction::{error_of, several_servers};
use crate::control::{Control, Signal};
use crate::ending::Ending;
use crate::error::ClientError;
use crate::gates::{Gates, Pass, TableName};
use crate::scatter::Scatter as Replies;
use crate::scatter::{Errors, Kind as Replied, Over, Relay, Source, What, capabilities_at_shards};
use crate::session::Session;
use crate::session::io::Io;
use crate::session::kill::{killed_here, while_waiting};
use crate::session::phase::Phase;
use crate::sock::{Input, Sock};

impl Session {
    /// Runs the branches of a command, which the backlog begins with. The client gets one reply.
    pub(super) async fn run_many(
        &mut self,
        command: &Command,
        mut scattered: Scattered,
    ) -> Result<Phase, Ending> {
        if command.defines() {
            self.commit_everywhere().await?;
        }
        let shared = Arc::clone(&self.worker.shared);
        let tables = std::mem::take(&mut scattered.tables);
        if scattered.branches.len() == 1 && !command.defines() {
            return self.run_branches(command, scattered).await;
        }
        let defined =
            scattered.is_definition.then(|| tables.clone()).filter(|_| scattered.branches.len() > 1);
        let longest = self.worker.settings().variables.connect_timeout_server_max;
        let waiting = pin!(timeout(longest, pass(&shared.gates, tables, command.defines())));
        let passed =
            while_waiting(&self.control, &mut self.io.sock, self.identity.capabilities, waiting).await?;
        let Some(Ok(_pass)) = passed else {
            let error = match passed {
                None => ClientError::Interrupted,
                Some(_) => ClientError::not_sharded(
                    "a statement and a definition of its tables at once",
                    "the one before has not ended in time",
                ),
            };
            return self.refuse_at_shards(command.kind, &error).await;
        };
        let phase = match defined {
            Some(tables) => Box::pin(self.run_definition(command, scattered, tables)).await,
            None => self.run_branches(command, scattered).await,
        };
        if command.defines() {
            shared.definitions_of_shards.fetch_add(1, Ordering::Relaxed);
        }
        phase
    }

    /// Runs branches, which nothing stands in the way of.
    async fn run_branches(&mut self, command: &Command, scattered: Scattered) -> Result<Phase, Ending> {
        if let Some(error) = self.refused_scatter(command, &scattered.branches) {
            return self.refuse_at_shards(command.kind, &error).await;
        }
        let first = scattered.branches.first().map_or(0, |branch| branch.hostgroup);
        let may_set_id = scattered.is_single || scattered.branches.len() == 1 && command.asks_last_id();
        if may_set_id {
            self.learn_last_id_for(Place::Shard(first)).await?;
        }
        let branches = &scattered.branches;
        let moment = (scattered.has_time && branches.len() > 1).then(Moment::now);
        let unit = self.unit_of(command, branches, moment.is_some());
        let mut runners = Runners { unit, moment, ..Runners::default() };
        for (number, branch) in branches.iter().enumerate() {
            let rows = scattered.rows.get(number).cloned().unwrap_or_default();
            if let Err(error) = self.add_branch(&mut runners, command, branch, rows).await? {
                runners.end_unit(false).await?;
                runners.all.into_iter().for_each(|runner| self.put_runner(runner));
                self.answer_here(command.kind, &error).await?;
                return Ok(Phase::Over);
            }
        }
        if may_set_id {
            runners.all.iter_mut().for_each(|runner| self.give_last_id(&mut runner.inner));
        }
        let was_open = runners.all.iter().any(|runner| runner.inner.is_in_transaction());
        let seq = self.skip_command().await?;
        self.begin_running(Measured::plain(command.kind), &command.text);
        let count = branches.len();
        let made = scattered.ids.as_ref().and_then(|ids| ids.first);
        let what = self.what(command, scattered, seq);
        let replies = Replies::new(what, std::mem::take(&mut runners.sources));
        let holds = unit == Unit::Transaction;
        let mut relay = if holds { Relay::holding(replies) } else { Relay::new(replies) };
        self.control.begin_statement();
        self.relay_scatter(&mut relay, &mut runners, was_open).await?;
        self.control.end_statement();
        let is_done = relay.scatter().over().is_some_and(|over| !over.is_error());
        let refused = runners.end_unit(is_done).await?.filter(|_| is_done && relay.is_held());
        if let Some(id) = made.filter(|_| is_done && refused.is_none()) {
            // No server has made it: the next that is asked hears of it before.
            self.set_last_id(id);
        }
        match refused {
            // All that the client hears is why it was not committed.
            Some(error) => self.reply(seq, &error).await?,
            None => poll_fn(|cx| relay.poll_write(cx, &mut self.io.sock)).await?,
        }
        self.end_running();
        let is_lost = was_open && runners.all.iter().any(Runner::is_lost);
        if may_set_id {
            runners.all.iter_mut().for_each(|runner| self.note_last_id(&mut runner.inner));
        }
        runners.all.into_iter().for_each(|runner| self.put_runner(runner));
        self.note_scattered(&relay, first, count);
        if is_lost {
            self.roll_back_with(first).await?;
        }
        Ok(Phase::Over)
    }

    /// What makes the branches of a command one change.
    fn unit_of(&self, command: &Command, branches: &[Branch], has_moment: bool) -> Unit {
        match (command.writes(), self.has_one_connection()) {
            (true, true) if branches.len() > 1 && !command.defines() => Unit::Savepoint,
            (true, false) if has_twins(branches) || has_moment => Unit::Transaction,
            _ => Unit::None,
        }
    }

    /// Adds a branch to what an inner session runs. The payload of the error if a statement cannot
    /// be prepared for it.
    async fn add_branch(
        &mut self,
        runners: &mut Runners,
        command: &Command,
        branch: &Branch,
        rows: Vec<u32>,
    ) -> Result<Result<(), Vec<u8>>, Ending> {
        let is_same = |runner: &Runner| runner.inner.hostgroup == branch.hostgroup;
        let twins = runners.all.iter().filter(|runner| is_same(runner)).count();
        let is_shared = runners.unit == Unit::Transaction || self.has_one_connection();
        let shared = runners.all.iter().position(is_same).filter(|_| is_shared);
        let mut runner = match shared {
            Some(at) => runners.all.swap_remove(at),
            None => match self.enter(branch.hostgroup, twins).await? {
                Ok(inner) => {
                    Runner { inner, queue: Vec::new(), number: runners.sources.len(), is_over: false }
                }
                Err(error) => return Ok(Err(error)),
            },
        };
        if let Some(begin) = runners.unit.begin().filter(|_| shared.is_none()) {
            let reply = runner.inner.session.ask(begin).await?;
            if let Some(error) = error_of(&reply) {
                self.put_runner(runner);
                return Ok(Err(error));
            }
        }
        if let Some(moment) = runners.moment.filter(|_| shared.is_none())
            && let Err(error) = moment.begin(&mut runner.inner.session).await?
        {
            runners.all.push(runner);
            return Ok(Err(error));
        }
        runner.inner.wrote |= command.writes() && self.has_one_connection();
        let packets = self.packets_for(&mut runner.inner, command, branch).await?;
        let packets = match packets {
            Ok(packets) => packets,
            Err(error) => {
                runners.all.push(runner);
                return Ok(Err(error));
            }
        };
        let (theirs, ours) = pair(BUFFER_BYTES);
        runner.queue.push(Io::new(Sock::from(theirs), packets));
        // Killing it is for who reads its reply.
        runner.inner.session.control = Rc::new(Control::new(usize::MAX, self.control.id()));
        runners.sources.push(Source {
            hostgroup: branch.hostgroup,
            session: runner.number,
            names: self.names_at(branch.hostgroup),
            rows,
        });
        runners.all.push(runner);
        runners.sockets.push(Sock::from(ours));
        Ok(Ok(()))
    }

    fn put_runner(&mut self, runner: Runner) {
        let Runner { mut inner, is_over, .. } = runner;
        if !is_over {
            inner.session.control = Rc::clone(&self.control);
            self.put_inner(inner);
        }
    }

    /// Why a command does not run at several shards in the state that the session is in.
    pub(super) fn refused_scatter(&mut self, command: &Command, branches: &[Branch]) -> Option<ClientError> {
        if !command.writes() {
            return None;
        }
        if !command.defines() && self.is_single() && has_several_servers(branches) {
            return Some(several_servers("a statement that writes at several servers"));
        }
        branches.iter().find_map(|branch| self.may_write(Place::Shard(branch.hostgroup)).err())
    }

    fn what(&self, command: &Command, scattered: Scattered, seq: u8) -> What {
        let Scattered { order, window, counts, ids, cells, .. } = scattered;
        What {
            errors: if command.writes() { Errors::Last } else { Errors::AtOnce },
            counts,
            cells,
            last_insert_id: ids.and_then(|ids| ids.first),
            protocol: if command.kind == Kind::Query { Protocol::Text } else { Protocol::Binary },
            order,
            window,
            ..self.plain_reply(Replied::Result, seq)
        }
    }

    /// A reply of this kind whose rows, if any, come as shards send them.
    pub(super) fn plain_reply(&self, kind: Replied, seq: u8) -> What {
        What {
            kind,
            errors: Errors::AtOnce,
            counts: Counts::Sum,
            cells: Cells::Plain,
            last_insert_id: None,
            protocol: Protocol::Text,
            order: Order::default(),
            window: Window::ALL,
            shard_caps: capabilities_at_shards(self.capabilities()),
            client_caps: self.capabilities(),
            seq,
            status: self.state.link.status,
            message_bytes_max: self.worker.settings().variables.max_allowed_packet as usize,
        }
    }

    /// The whole reply of a shard to a `COM_STMT_PREPARE` as the client gets it: with logical names
    /// and the client's number.
    pub(super) fn as_prepared(&self, reply: &[u8], hostgroup: u32, id: u32) -> Vec<u8> {
        let names = self.names_at(hostgroup);
        let source = Source { hostgroup, session: 0, names, rows: Vec::new() };
        let what = self.plain_reply(Replied::Prepared { id }, 1);
        let mut replies = Replies::new(what, vec![source]);
        replies.feed(0, reply);
        replies.close(0);
        let mut packets = Vec::new();
        replies.drain(&mut packets);
        packets
    }

    /// Whether all that a server gets goes over one connection: a transaction is open, or begins.
    pub(super) fn has_one_connection(&self) -> bool {
        self.is_in_transaction()
            || self.state.begins_later()
            || !self.state.link.status.contains(StatusFlags::AUTOCOMMIT)
    }

    /// Moves the replies until the client has its own, and all shards have ended theirs.
    async fn relay_scatter(
        &mut self,
        relay: &mut Relay,
        runners: &mut Runners,
        is_open: bool,
    ) -> Result<(), Ending> {
        let controls = runners.controls();
        let mut runs: Vec<Option<Run<'_>>> =
            runners.all.iter_mut().map(|runner| Some(runner.run())).collect();
        let mut sockets = std::mem::take(&mut runners.sockets);
        let worker = Rc::clone(&self.worker);
        // How the statement ends: nothing as long as the client has no reply.
        let mut ended: Option<Result<(), Ending>> = None;
        let mut is_recalled = false;
        poll_fn(|cx| {
            if self.control.is_recalled() && !std::mem::replace(&mut is_recalled, true) {
                for control in &controls {
                    control.recall();
                }
            }
            let is_running = poll_all(&mut runs, cx);
            if ended.is_none() {
                ended = self.poll_stop(cx, &controls).err().map(Err);
            }
            let scratch = &mut worker.net.scratch.borrow_mut();
            if ended.is_none()
                && let Poll::Ready(sent) = relay.poll_reply(cx, &mut sockets, &mut self.io.sock, scratch)
            {
                ended = Some(sent.map_err(Ending::from));
            }
            let is_stopped = matches!(ended, Some(Err(_)));
            let is_failed = relay.scatter().over().is_some_and(Over::is_error);
            if is_stopped || ended.is_some() && is_failed && !is_open {
                // The rest is not read: that ends what still runs.
                sockets.clear();
            }
            if ended.is_some() && !sockets.is_empty() {
                let _ = relay.poll_rest(&mut sockets, scratch);
            }
            if is_running { Poll::Pending } else { ended.take().map_or(Poll::Pending, Poll::Ready) }
        })
        .await
    }

    /// Does what others want of a scattered statement: to be killed, each shard kills its part, or
    /// to end with the session.
    fn poll_stop(&mut self, cx: &mut Context<'_>, parts: &[Rc<Control>]) -> Result<(), Ending> {
        if killed_here(&self.control, self.capabilities(), true)? {
            for control in parts {
                control.interrupt();
            }
        }
        if self.control.signal() >= Signal::Stop {
            return Err(Ending::Silent);
        }
        match self.io.sock.poll_input(cx) {
            Poll::Ready(Input::End) => Err(Ending::ClientLeft),
            _ => Ok(()),
        }
    }

    /// Keeps what later statements may ask about this one.
    pub(super) fn note_scattered(&mut self, relay: &Relay, first: u32, branches: usize) {
        let over = relay.scatter().over();
        if let Some(over) = over.filter(|_| branches > 1) {
            self.state.last.note_elsewhere(over.outcome, over.found_rows);
        }
        let is_one = branches == 1 || over.is_none_or(Over::is_error);
        let shards = self.links.away.role.shards();
        shards.last = if is_one { Place::Shard(first) } else { Place::Home };
    }
}

/// Waits until a command may run that names these tables.
async fn pass(gates: &Gates, tables: Vec<TableName>, defines: bool) -> Pass<'_> {
    if defines { gates.close(tables).await } else { gates.enter(tables).await }
}
