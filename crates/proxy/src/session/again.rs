//! Statements that a server has refused because it is read-only, in the place of a primary, or because it has lost its Galera
//! cluster: it has done nothing of them. They are said again at the server that takes them, once the monitor has found it.

use std::pin::pin;
use std::time::Duration;

use pool::Off;
use tokio::time::{Instant, sleep, timeout_at};
use wire::command::Kind;
use wire::reply::{End, Event, Outcome};
use wire::{Capabilities, StatusFlags};

use super::Session;
use super::course::{Course, Loss};
use super::kill::while_waiting;
use super::lost::command_that_runs;
use super::renew::{needs_preparing, needs_renewal};
use crate::control::Control;
use crate::ending::Ending;
use crate::error::{ClientError, Gone};

/// What servers say to a write that they do not take: `ER_OPTION_PREVENTS_STATEMENT`, `ER_READ_ONLY_MODE`.
const REFUSALS: [u16; 2] = [1290, 1836];

/// How the former names the option; it is there for others as well.
const OPTION: &[u8] = b"read-only";

/// What nodes say to all statements while they are not part of their cluster: `ER_UNKNOWN_COM_ERROR`.
const NO_CLUSTER: u16 = 1047;

/// How they begin to say it; the error is there for commands that do not exist as well.
const WSREP: &[u8] = b"WSREP";

/// How often a session looks whether the monitor has found out.
const LOOK: Duration = Duration::from_millis(2);

/// A statement that was refused.
#[derive(Debug)]
pub(super) struct Refused {
    /// The command, if it may be sent again.
    command: Option<Vec<u8>>,
    /// What the client gets if nothing else comes of it.
    answer: Vec<u8>,
    /// What the server has answered, if it is a prepared statement that is to be prepared again.
    pub(super) renews: Option<Outcome>,
}

/// The whole answer to the only statement that was sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Heard<'a> {
    pub(super) event: Event,
    pub(super) output: &'a [u8],
    /// The kind of the command that it answers, and its bytes.
    pub(super) runs: (Option<Kind>, Option<usize>),
}

/// Whether an answer that ends with this event, and is `output`, is such a refusal.
fn is_refusal(event: Event, output: &[u8]) -> bool {
    let Event::Done(Outcome { end: End::Err { code }, .. }) = event else { return false };
    if needs_preparing(code) {
        return true;
    }
    let is_read_only = REFUSALS.contains(&code) && (code != REFUSALS[0] || has(output, OPTION));
    is_read_only || code == NO_CLUSTER && has(output, WSREP)
}

fn has(output: &[u8], words: &[u8]) -> bool {
    output.windows(words.len()).any(|part| part == words)
}

/// What is to be done about an answer if it is a refusal; `status` is what the server has said before it. The statement may be sent again if all of it is known, and it is outside a transaction.
pub(super) fn refused(
    course: &Course,
    control: &Control,
    status: StatusFlags,
    caps: Capabilities,
    heard: &Heard<'_>,
) -> Option<Box<Refused>> {
    let Heard { event, output, runs } = *heard;
    if !is_refusal(event, output) {
        return None;
    }
    if let Event::Done(outcome @ Outcome { end: End::Err { code }, .. }) = event
        && needs_preparing(code)
    {
        let command = command_that_runs(course, control, caps, runs.0?, runs.1?)?;
        let is_execution = needs_renewal(outcome, runs.0) && course.watched.is_none();
        let refused = Refused { command: Some(command), answer: output.to_vec(), renews: Some(outcome) };
        return is_execution.then(|| Box::new(refused));
    }
    let in_transaction = status.contains(StatusFlags::IN_TRANSACTION);
    let is_alone = !in_transaction && status.contains(StatusFlags::AUTOCOMMIT);
    if course.watched.is_some() || !(is_alone || in_transaction) {
        return None;
    }
    let command =
        if is_alone { Some(command_that_runs(course, control, caps, runs.0?, runs.1?)?) } else { None };
    Some(Box::new(Refused { command, answer: output.to_vec(), renews: None }))
}

impl Session {
    /// Says a statement again that was refused, as soon as its server is known not to take writes. If it is not, or the session
    /// cannot do without the server, the client gets the refusal. One in a transaction is not said again: the client hears that the
    /// transaction is over.
    pub(super) async fn say_again(&mut self) -> Result<(), Ending> {
        let Some(refused) = self.course.refused.take() else { return Ok(()) };
        if let Some(outcome) = refused.renews {
            return self.renew(refused.command, &refused.answer, outcome).await;
        }
        let settings = self.worker.settings();
        let server = self.backend.as_ref().map(|backend| std::sync::Arc::clone(backend.server()));
        let hostgroup = self.course.hostgroup;
        let concerns =
            settings.is_writer(hostgroup) || has(&refused.answer, WSREP) && settings.is_clustered(hostgroup);
        let is_watched = self.worker.shared.watching.is_running() && concerns;
        let begun = Instant::now();
        let end =
            *self.course.again_until.get_or_insert(begun + settings.variables.connect_timeout_server_max);
        if let Some(server) = server.filter(|_| is_watched && begun < end) {
            self.worker.shared.watching.doubt(&server.endpoint().endpoint);
            let monitor = settings.monitor();
            let patience = begun + monitor.read_only_interval + monitor.read_only_timeout;
            let moved = async {
                while server.off().is_none() {
                    sleep(LOOK).await;
                }
            };
            let moved = pin!(timeout_at(end.min(patience), moved));
            let moved =
                while_waiting(&self.control, &mut self.client, self.identity.capabilities, moved).await?;
            let has_moved = moved.is_some_and(|moved| moved.is_ok());
            match (self.loss(), refused.command) {
                (Loss::Nothing, Some(mut commands)) if has_moved => {
                    self.lose_backend();
                    commands.append(&mut self.backlog);
                    self.backlog = commands;
                    return Ok(());
                }
                (Loss::Transaction, None) if has_moved => {
                    self.course.again_until = None;
                    let off = server.off().unwrap_or(Off::Left);
                    let error = ClientError::rolled_back(server.endpoint(), Gone::Off(off));
                    self.lose_backend();
                    return self.reply_error(1, &error).await;
                }
                _ => {}
            }
        }
        self.course.again_until = None;
        self.write_to_client(&refused.answer).await
    }
}
