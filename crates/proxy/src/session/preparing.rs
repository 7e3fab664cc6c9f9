//! Statements that a client prepares, and that the proxy prepares for it.

use command::{Command, renumber};
use legs::backlog::{complete_front, skip_command};
use legs::facts::asking::{NoReply, ask_server};
use legs::facts::executions::preparing;
use legs::facts::records::{measure, note_traced};
use legs::facts::replies::write_to_client;
use legs::reply::refuse_counted;
use legs::stop::Stop;
use runtime::decided::Decided;
use runtime::invariant::broken;
use session::definitions::Definitions;
use wire::frame::{HEADER_LEN, MAX_PAYLOAD};
use wire::reply::Answer;

use crate::error::ClientError;
use crate::session::cx::Cx;
use crate::state::{Mark, Pin};

impl Cx<'_> {
    /// Prepares the statement in the backlog, and names it to the client by a number that no other
    /// one has.
    pub(super) async fn prepare_for_client(&mut self, decided: &mut Decided) -> Result<(), Stop> {
        complete_front(self.entry, self.io, self.leg).await?;
        let copied = self.io.command(self.leg.state.identity.capabilities).filter(Command::is_whole);
        let Some(copied) = copied.map(|command| command.copied()) else {
            let max = u32::try_from(MAX_PAYLOAD).unwrap_or(u32::MAX);
            let error = ClientError::PacketTooLarge { max };
            return Err(Stop::refused(error));
        };
        let command = copied.command();
        self.leg.state.note_prepared_load(command.text());
        let paused = self.leg.flight.as_mut().and_then(|flight| flight.paused.take());
        let measured = measure(self.entry, self.leg, command, decided, paused.as_ref());
        decided.is_counted = true;
        self.entry.begin_running(measured, command.text());
        note_traced(self.entry, &self.leg.state, command, decided);
        if let Some(paused) = paused {
            self.entry.control.running.resume(&paused);
        }
        let question = [(command.payload().to_vec(), Answer::Prepare)];
        let replies = match ask_server(self.entry, self.leg, &question).await {
            Ok(replies) => replies,
            Err(NoReply::Over(ending)) => return Err(ending.into()),
            Err(NoReply::Lost(_)) if self.leg.flight.tries_again(decided) => {
                self.entry.end_running(&self.leg.links);
                return Err(Stop::Elsewhere);
            }
            Err(NoReply::Lost(error)) => {
                return Ok(refuse_counted(self.entry, self.io, self.leg, &error).await?);
            }
        };
        skip_command(self.entry, self.io, self.leg).await?;
        let preparing = preparing(self.entry, self.leg, command.text(), decided);
        let Some(mut reply) = replies.into_iter().next() else {
            return Err(broken("a PREPARE without its reply").into());
        };
        let hostgroup = self.leg.state.here;
        if let Some(statement) = reply.prepared
            && let (Some(all), Some(link)) = (&mut self.leg.state.prepared, self.leg.links.connection_mut())
        {
            let keeps = self.leg.state.identity.keeps_definitions();
            let told = if keeps { Definitions::of(&reply.bytes) } else { None };
            link.statements_mut().note(statement, preparing.known(told));
            if statement.warnings > 0 {
                link.state_mut().pins.note(Mark::begin(Pin::Warnings));
            }
            let id = all.client_id(statement.id);
            all.enter(id, preparing, (hostgroup, link.state_mut()), statement, told);
            renumber(reply.bytes.get_mut(HEADER_LEN..).unwrap_or_default(), id);
            self.entry.control.running.statement.set(id);
        }
        self.entry.answered_at_server(&self.leg.links, &reply);
        if reply.error().is_some() {
            self.leg.state.note_error(self.leg.links.state_mut());
            self.leg.state.note_failed(Some(&reply.bytes));
            if let Some(all) = &mut self.leg.state.prepared {
                all.forget_last();
            }
        }
        Ok(write_to_client(self.entry, self.io, &mut self.leg.state, &reply.bytes).await?)
    }
}
