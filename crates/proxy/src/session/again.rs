//! Statements that a server has refused because it is read-only, in the place of a primary: it has done nothing of them. They
//! are said again at the server that takes writes, once the monitor has found it.

use std::pin::pin;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};
use wire::StatusFlags;
use wire::frame::put_message;
use wire::reply::{End, Event, Outcome};

use super::Session;
use super::course::Course;
use super::kill::while_waiting;
use crate::control::Control;
use crate::ending::Ending;

/// What servers say to a write that they do not take: `ER_OPTION_PREVENTS_STATEMENT`, `ER_READ_ONLY_MODE`.
const REFUSALS: [u16; 2] = [1290, 1836];

/// How the former names the option; it is there for others as well.
const OPTION: &[u8] = b"read-only";

/// How often a session looks whether the monitor has found out.
const LOOK: Duration = Duration::from_millis(2);

/// A statement that was refused.
#[derive(Debug)]
pub(super) struct Refused {
    text: Box<[u8]>,
    /// What the client gets if nothing else comes of it.
    answer: Vec<u8>,
}

/// What is to be said again of the statement that was answered by `output`, whole; `status` is what the server has said before it.
/// Only a `COM_QUERY` of which all is known, and outside a transaction.
pub(super) fn refused(
    course: &Course,
    control: &Control,
    status: StatusFlags,
    event: Event,
    output: &[u8],
) -> Option<Box<Refused>> {
    let Event::Done(Outcome { end: End::Err { code }, .. }) = event else { return None };
    let is_refusal = REFUSALS.contains(&code)
        && (code != REFUSALS[0] || output.windows(OPTION.len()).any(|part| part == OPTION));
    let is_alone = status.contains(StatusFlags::AUTOCOMMIT)
        && !status.contains(StatusFlags::IN_TRANSACTION)
        && course.watched.is_none();
    if !is_refusal || !is_alone {
        return None;
    }
    let (text, len) = control.running.text(usize::MAX);
    let is_whole = !text.is_empty() && text.len() as u64 == len;
    is_whole.then(|| Box::new(Refused { text, answer: output.to_vec() }))
}

impl Session {
    /// Says a statement again that was refused, as soon as its server is known not to take writes. If it is not, or the session
    /// cannot do without the server, the client gets the refusal.
    pub(super) async fn say_again(&mut self) -> Result<(), Ending> {
        let Some(refused) = self.course.refused.take() else { return Ok(()) };
        let settings = self.worker.settings();
        let server = self.backend.as_ref().map(|backend| std::sync::Arc::clone(backend.server()));
        let hostgroup = self.course.hostgroup;
        let is_watched = self.worker.shared.watching.is_running() && settings.is_writer(hostgroup);
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
            if moved.is_some_and(|moved| moved.is_ok()) && self.course.can_do_without(hostgroup, self.status)
            {
                self.lose_backend();
                let mut commands = Vec::new();
                put_message(&mut commands, 0, &self.query(&refused.text));
                commands.append(&mut self.backlog);
                self.backlog = commands;
                return Ok(());
            }
        }
        self.course.again_until = None;
        self.write_to_client(&refused.answer).await
    }
}
