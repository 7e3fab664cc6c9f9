//! Commands about prepared statements over sharded tables.

use std::rc::Rc;

use planner::plan::Branch;
use sql::StatementKind;
use wire::Codec as _;
use wire::command::{Kind, StmtExecute, statement_id};
use wire::frame;

use super::Inner;
use super::command::{Command, with_types};
use super::done::Done;
use super::facts::{as_prepared, has_one_connection, payload_of};
use super::inner::{take_inner, take_inner_of};
use super::prepared::{Site, Statement, depends_on_modes, prepared, renumber};
use super::too_long;
use super::transaction::{error_of, is_about_transaction};
use super::values::values;
use crate::ending::Ending;
use crate::error::ClientError;
use crate::session::cx::Cx;
use crate::session::entry::BookEntry;
use crate::session::facts::shown::measure_own;
use crate::session::leg::Leg;
use crate::state::Settings;
use crate::worker::Worker;

impl Cx<'_> {
    /// A command that names a prepared statement is in the backlog.
    pub(super) async fn statement_at_shards(&mut self, kind: Kind) -> Result<Done, Ending> {
        let Some(id) = self.leg.links.away.role.shards().statements.named(self.io.front()) else {
            return if matches!(kind, Kind::StmtExecute | Kind::StmtBulkExecute) {
                self.execute_at_home(kind).await
            } else {
                Ok(Done::Home)
            };
        };
        if kind == Kind::StmtBulkExecute {
            let error = ClientError::not_sharded("a bulk execution", "its rows may be on several servers");
            return Ok(Done::Refused(error));
        }
        self.complete_front().await?;
        let Some(payload) = self.io.whole_front().map(<[u8]>::to_vec) else {
            if kind != Kind::SendLongData {
                return Ok(Done::Refused(too_long()));
            }
            // There is no reply to it: the execution is refused.
            if let Some(statement) = self.leg.links.away.role.shards().statements.get(id) {
                statement.is_cut = true;
            }
            return Ok(Done::Skipped);
        };
        match kind {
            Kind::StmtExecute => self.execute_at_shards(id, &payload).await,
            Kind::SendLongData => {
                if let Some(statement) = self.leg.links.away.role.shards().statements.get(id) {
                    statement.add_part(&payload);
                }
                Ok(Done::Skipped)
            }
            Kind::StmtReset | Kind::StmtFetch => self.pass_to_cursor(kind, id, payload).await,
            _ => self.close_at_shards(id).await,
        }
    }

    /// An execution of a statement that is none of the shards' is in the backlog.
    async fn execute_at_home(&mut self, kind: Kind) -> Result<Done, Ending> {
        let statements = self.leg.state.prepared.as_ref();
        let known = statements.zip(statement_id(self.io.front())).and_then(|(all, id)| all.get(id));
        let known = known.map(|prepared| (prepared.what.plan, prepared.what.text.clone()));
        // The statement may ask for it.
        self.leg.learn_last_id(self.entry).await?;
        let Some((what, text)) = known else { return Ok(Done::Home) };
        if is_about_transaction(what) {
            let Some(text) = text else {
                let error =
                    ClientError::not_sharded("a prepared statement about transactions", "its text is lost");
                return Ok(Done::Refused(error));
            };
            self.complete_front().await?;
            return self.leg.change_transaction(self.entry, what, &text).await;
        }
        let shows = matches!(what.kind, StatementKind::Show | StatementKind::Diagnostics);
        if text.as_deref().is_some_and(|text| shows && self.leg.links.place_of_last(what, text).is_some()) {
            let why = "that statement has run at shards; sent as text this is answered";
            let error = ClientError::not_sharded("a prepared statement about the one before", why);
            return Ok(Done::Refused(error));
        }
        if let Some(text) = text
            && let Some(error) = self.leg.stopped_since(self.entry, &text, what).await?
        {
            return Ok(Done::Refused(error));
        }
        self.leg
            .run_at_home(self.entry, &Command { kind, ..Command::query(Vec::new(), Vec::new(), what) })
            .await
    }

    async fn execute_at_shards(&mut self, id: u32, payload: &[u8]) -> Result<Done, Ending> {
        let phase = self.execute_with_parts(id, payload).await;
        // However it ends, the next execution has parts of its own.
        if let Some(statement) = self.leg.links.away.role.shards().statements.get(id) {
            statement.parts.clear();
            statement.is_cut = false;
        }
        phase
    }

    async fn execute_with_parts(&mut self, id: u32, payload: &[u8]) -> Result<Done, Ending> {
        let caps = self.leg.state.identity.capabilities;
        let execution = self.leg.links.away.role.shards().statements.get(id).and_then(|statement| {
            let execute = StmtExecute::decode(payload, caps).ok()?;
            statement.note_types(&execute, caps);
            let payload = with_types(&execute, statement, caps)?;
            let values = values(&StmtExecute::decode(&payload, caps).ok()?, statement, caps)?;
            Some((payload, statement.text.to_vec(), values, statement.context.clone()))
        });
        let Some((payload, text, values, context)) = execution else {
            return Ok(Done::Refused(ClientError::NoTypes { id }));
        };
        let cut = self.leg.links.away.role.shards().statements.get(id);
        if cut.is_some_and(|statement| statement.is_cut) {
            let error = ClientError::not_sharded("values sent in parts", "they are longer than 1 MiB");
            return Ok(Done::Refused(error));
        }
        let what = self.entry.worker.routing.borrow_mut().look(&text, self.leg.state.reading());
        let (kind, execution) = (Kind::StmtExecute, Some((id, values)));
        self.run_in_context(Command { kind, payload, text, what, execution, context }).await
    }

    /// Runs an execution, whose text means what it meant when it was prepared. If other SQL modes
    /// would make it mean something else, inner sessions for this execution have those of then.
    async fn run_in_context(&mut self, command: Command) -> Result<Done, Ending> {
        let settings = self.leg.state.shared_settings();
        let then = command.context.as_ref().map(|context| &context.settings);
        let is_other =
            |then: &&Rc<Settings>| !Rc::ptr_eq(then, settings) && !then.sql_modes().eq(settings.sql_modes());
        let then = then.filter(is_other).filter(|_| depends_on_modes(&command.text));
        let Some(then) = then else { return self.run_command(command).await };
        if has_one_connection(&self.leg.state) {
            let error = ClientError::not_sharded(
                "a statement that was prepared with another sql_mode",
                "a transaction is open, whose connections have the sql_mode of now",
            );
            return Ok(Done::Refused(error));
        }
        let settings = Rc::new(settings.with_sql_modes_of(then));
        self.leg.links.away.role.shards().as_then = Some(settings);
        let phase = self.run_command(command).await;
        if self.leg.links.away.role.shards().end_as_then() {
            self.leg.learn_last_id(self.entry).await?;
        }
        self.leg.links.away.role.shards().forget_for_once();
        phase
    }

    /// The command in the backlog is about the cursor of a statement, or about parts of values.
    async fn pass_to_cursor(&mut self, kind: Kind, id: u32, mut payload: Vec<u8>) -> Result<Done, Ending> {
        let Some(statement) = self.leg.links.away.role.shards().statements.get(id) else {
            return Ok(Done::Home);
        };
        statement.parts.clear();
        statement.is_cut = false;
        let cursor = statement.cursor;
        let open = cursor.and_then(|(serial, known_as)| Some((take_inner_of(self.leg, serial)?, known_as)));
        let Some((mut inner, known_as)) = open else {
            if kind == Kind::StmtFetch {
                let is_mariadb = self.entry.worker.shared.says_mariadb().await;
                return Ok(Done::Refused(ClientError::NoCursor { id, is_mariadb }));
            }
            let ok = front::login::ok(self.leg.state.identity.capabilities, self.leg.state.status);
            return Ok(Done::Answered(ok));
        };
        if kind == Kind::StmtReset
            && let Some(statement) = self.leg.links.away.role.shards().statements.get(id)
        {
            statement.cursor = None;
        }
        renumber(&mut payload, known_as);
        let packets = frame::command(&payload);
        self.io.lend(&mut self.leg.state, &mut inner, Some(packets)).await?;
        self.leg.links.put_inner(inner);
        Ok(Done::Over)
    }

    async fn close_at_shards(&mut self, id: u32) -> Result<Done, Ending> {
        measure_own(self.entry, self.io, &self.leg.state, &self.leg.flight, Kind::StmtClose);
        self.skip_command().await?;
        let sites = self.leg.links.away.role.shards().statements.remove(id).map(|statement| statement.sites);
        for site in sites.unwrap_or_default() {
            close_site(self.leg, &site).await?;
        }
        Ok(Done::Over)
    }
}

impl Leg {
    /// Prepares this text, which is that of a `COM_STMT_PREPARE`; none if it is too long.
    pub(super) async fn prepare_at_shards(
        &mut self,
        entry: &BookEntry,
        text: Option<Vec<u8>>,
    ) -> Result<Done, Ending> {
        let Some(text) = text else { return Ok(Done::Refused(too_long())) };
        let what = entry.worker.routing.borrow_mut().look(&text, self.state.reading());
        if is_about_transaction(what) {
            // Home says whether it can be prepared. Shards hear of its executions.
            self.links.away.role.shards().statements.note_other();
            return Ok(Done::Home);
        }
        let (branch, context) = match self.sample_of(entry, &text, what).await? {
            Ok(Some(sample)) => sample,
            Ok(None) => {
                let version = entry.worker.shared.definitions.version();
                let shards = self.links.away.role.shards();
                shards.prepared_at.get_or_insert(version);
                shards.statements.note_other();
                return Ok(Done::Home);
            }
            Err(error) => return Ok(Done::Refused(error)),
        };
        let mut inner = take_inner(entry, self, branch.hostgroup);
        let reply = prepare(&mut inner, branch.text.as_deref().unwrap_or(&text)).await?;
        let (serial, modes) = (inner.serial, inner.leg.state.modes());
        self.links.put_inner(inner);
        if let Some(error) = error_of(&as_prepared(&entry.worker, &self.state, &reply, branch.hostgroup, 0)) {
            return Ok(Done::Answered(error));
        }
        let (id, params) = prepared(&reply).unwrap_or_default();
        let hostgroup = branch.hostgroup;
        let site = Site { inner: serial, text: branch.text, id, modes };
        let context = Some(Rc::new(context));
        let statement =
            Statement { text: text.into(), context, params, sites: vec![site], ..Statement::default() };
        let Some(id) = self.links.away.role.shards().statements.add(statement) else {
            let error =
                ClientError::not_sharded("a prepared statement more", "the session has all that it may have");
            return Ok(Done::Refused(error));
        };
        let reply = as_prepared(&entry.worker, &self.state, &reply, hostgroup, id);
        Ok(Done::Told(reply))
    }
}

/// Closes what was prepared for these branches of one execution: later ones have other texts.
pub(super) async fn close_sites(leg: &mut Leg, command: &Command, branches: &[Branch]) -> Result<(), Ending> {
    let Some((id, _)) = command.execution else { return Ok(()) };
    let Some(statement) = leg.links.away.role.shards().statements.get(id) else { return Ok(()) };
    let is_of_branch = |site: &mut Site| branches.iter().any(|branch| branch.text == site.text);
    let closed: Vec<Site> = statement.sites.extract_if(.., is_of_branch).collect();
    for site in closed {
        close_site(leg, &site).await?;
    }
    Ok(())
}

async fn close_site(leg: &mut Leg, site: &Site) -> Result<(), Ending> {
    let Some(mut inner) = take_inner_of(leg, site.inner) else { return Ok(()) };
    inner.ask_packet(closing(site.id)).await?;
    leg.links.put_inner(inner);
    Ok(())
}

/// The packets of a command for an inner session, in which the statement is prepared before if
/// need be. The payload of the error if that is refused.
pub(super) async fn packets_for(
    worker: &Worker,
    leg: &mut Leg,
    inner: &mut Inner,
    command: &Command,
    branch: &Branch,
) -> Result<Result<Vec<u8>, Vec<u8>>, Ending> {
    let text = branch.text.as_deref();
    let Some((id, _)) = command.execution else { return Ok(Ok(command.with_text(text))) };
    let caps = leg.state.identity.capabilities;
    let modes = inner.leg.state.modes();
    let known = |statement: &mut Statement| statement.take_stale(inner.serial, modes);
    let stale = leg.links.away.role.shards().statements.get(id).map(known);
    for site in stale.into_iter().flatten() {
        inner.ask_packet(closing(site.id)).await?;
    }
    let known = |statement: &mut Statement| statement.site(inner.serial, text);
    let known_as = if let Some(known_as) = leg.links.away.role.shards().statements.get(id).and_then(known) {
        known_as
    } else {
        let reply = prepare(inner, text.unwrap_or(&command.text)).await?;
        if let Some(error) = error_of(&as_prepared(worker, &leg.state, &reply, inner.hostgroup, 0)) {
            return Ok(Err(error));
        }
        prepared(&reply).unwrap_or_default().0
    };
    let Some(statement) = leg.links.away.role.shards().statements.get(id) else {
        return Ok(Ok(Vec::new()));
    };
    if statement.site(inner.serial, text).is_none() {
        let text = branch.text.clone();
        statement.sites.push(Site { inner: inner.serial, text, id: known_as, modes });
    }
    let Some(packets) = command.executing(known_as, statement, branch, caps) else {
        let error = ClientError::not_sharded("a value sent in parts", "its row is one of several");
        return Ok(Err(payload_of(&leg.state, &error)));
    };
    for mut part in statement.parts.clone() {
        renumber(&mut part, known_as);
        inner.ask_packet(frame::command(&part)).await?;
    }
    Ok(Ok(packets))
}

/// The packet that closes a statement with this number.
fn closing(id: u32) -> Vec<u8> {
    frame::command(&[&[Kind::StmtClose as u8][..], &id.to_le_bytes()].concat())
}

/// Has an inner session prepare a statement. The reply, as packets.
async fn prepare(inner: &mut Inner, text: &[u8]) -> Result<Vec<u8>, Ending> {
    inner.ask_packet(frame::command(&[&[Kind::StmtPrepare as u8], text].concat())).await
}
