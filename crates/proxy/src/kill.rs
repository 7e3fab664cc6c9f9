//! KILL of a session's statement at the server that runs it.
//!
//! The proxy kills as the victim's own user, on a connection of its own beside the pool's. That takes a moment in which
//! the statement may end and another one begin; [`Aim`] sees to it that nothing else is hit.

use std::rc::Rc;

use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};
use wire::command::Kind;
use wire::{Capabilities, Codec as _, packet};

use crate::backend::{Backend, OpenError, Target, open};
use crate::client::login::Identity;
use crate::control::{Control, Signal};
use crate::error::ClientError;
use crate::exchange::Exchange;
use crate::limits::{KILL_GRACE, KILL_TIME_MAX};
use crate::statement::Kill;
use crate::statement::kill::What;
use crate::worker::Worker;

/// A KILL on its way to the session that it names.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) kill: Kill,
    pub(crate) reply: oneshot::Sender<Verdict>,
}

/// What has become of it.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// It was killed, or there was nothing to kill.
    Done,
    /// There is no such session.
    Unknown,
    /// It may run on.
    Failed(ClientError),
    /// The server says no: the payload of its ERR packet.
    Refused(Vec<u8>),
}

impl Request {
    /// Tells the killer, if it is still there.
    pub(crate) fn answer(self, verdict: Verdict) {
        let _ = self.reply.send(verdict);
    }
}

/// One KILL for one server.
#[derive(Debug)]
pub(crate) struct Shot {
    pub(crate) worker: Rc<Worker>,
    pub(crate) kill: Kill,
    pub(crate) target: Target,
    pub(crate) thread_id: u32,
    /// Whose thread it is.
    pub(crate) identity: Box<Identity>,
}

/// The statement that is meant.
#[derive(Debug)]
pub(crate) struct Victim {
    pub(crate) control: Rc<Control>,
    /// The statement's number in its session.
    pub(crate) number: u64,
}

/// The time from the decision to kill to the server's answer, in which the victim gets no other statement to its server.
#[derive(Debug)]
struct Aim<'a> {
    control: &'a Control,
    answered: bool,
}

impl Victim {
    /// Takes aim if the statement still runs.
    fn aim(&self) -> Option<Aim<'_>> {
        (self.control.statement() == Some(self.number)).then(|| {
            self.control.hold();
            Aim { control: &self.control, answered: false }
        })
    }
}

impl Drop for Aim<'_> {
    fn drop(&mut self) {
        // Nobody knows when the server does what it has been told, so nothing else may run there.
        if !self.answered {
            self.control.send(Signal::Kill);
        }
        self.control.release();
    }
}

/// Kills a statement of a session that is there, and answers the request.
pub(crate) async fn kill(shot: Shot, victim: Victim, request: Request) {
    let verdict = shot.fire(Some(&victim)).await;
    if request.kill.what == What::Query {
        return request.answer(verdict);
    }
    // The session ends in any case; at the server, its statement may run on.
    let killed = matches!(verdict, Verdict::Done);
    if !killed {
        let (server, thread) = (&shot.target, shot.thread_id);
        tracing::warn!(%server, thread, ?verdict, "a killed session may run on at its server");
    }
    request.answer(Verdict::Done);
    if killed {
        // Time for what the server says before it closes.
        sleep(KILL_GRACE).await;
    }
    if victim.control.statement() == Some(victim.number) {
        victim.control.send(Signal::Stop);
    }
}

/// Kills what a client that has vanished left running on `backend`, which counts until that is done.
pub(crate) async fn clean_up(shot: Shot, backend: Backend) {
    let verdict = shot.fire(None).await;
    if !matches!(verdict, Verdict::Done) {
        let (server, thread) = (&shot.target, shot.thread_id);
        tracing::warn!(%server, thread, ?verdict, "the statement of a client that vanished may run on");
    }
    drop(backend);
}

impl Shot {
    async fn fire(&self, victim: Option<&Victim>) -> Verdict {
        let failed = |why: &dyn std::fmt::Display| {
            Verdict::Failed(ClientError::kill_failed(self.kill.id, &self.target, &why))
        };
        match timeout(KILL_TIME_MAX, self.try_to_fire(victim)).await {
            Ok(Ok(verdict)) => verdict,
            Ok(Err(OpenError::Refused { payload, .. })) => Verdict::Refused(payload),
            Ok(Err(error)) => failed(&error),
            Err(_) => failed(&format_args!("no answer within {}ms", KILL_TIME_MAX.as_millis())),
        }
    }

    async fn try_to_fire(&self, victim: Option<&Victim>) -> Result<Verdict, OpenError> {
        // Never closed.
        let _place = self.worker.kills.acquire().await;
        let mut link = open(&self.worker, &self.target, &self.identity).await?;
        let verdict = match victim.map(Victim::aim) {
            Some(None) => Verdict::Done,
            aim => {
                let mut exchange = Exchange::new(&self.worker, &mut link);
                let command = [&[Kind::Query as u8], self.kill.at_server(self.thread_id).as_bytes()].concat();
                exchange.send(&command).await?;
                let answer = exchange.receive().await?;
                if let Some(mut aim) = aim.flatten() {
                    aim.answered = true;
                }
                verdict(answer)?
            }
        };
        // The server would count and log an aborted connection.
        let quit = [Kind::Quit as u8];
        Exchange::new(&self.worker, &mut link).send(&quit).await?;
        Ok(verdict)
    }
}

/// What a server's answer to a KILL means.
fn verdict(answer: Vec<u8>) -> Result<Verdict, OpenError> {
    const CAPABILITIES: Capabilities = Capabilities::PROTOCOL_41;
    match answer.first() {
        Some(&packet::Err::HEADER) => Ok(Verdict::Refused(answer)),
        _ => match packet::Ok::decode(&answer, CAPABILITIES) {
            Ok(_) => Ok(Verdict::Done),
            Err(error) => Err(OpenError::Login(error.to_string())),
        },
    }
}
