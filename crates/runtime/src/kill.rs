//! KILL of a session's statement at the server that runs it.
//!
//! The proxy kills as the victim's own user, or as the other one who wants that, on a connection of
//! its own beside the pool's. That takes a moment in which the statement may end and another one
//! begin; `Aim` sees to it that nothing else is hit.

mod stand_in;

use std::fmt::{self, Display};
use std::rc::Rc;

use tokio::time::{sleep, timeout};
use wire::{Capabilities, Codec as _, packet};

use crate::audit::refusal_in;
use crate::control::{Control, Signal};
use crate::counts::Counter;
use crate::error::ClientError;
use crate::exchange::Exchange;
use crate::limits::{KILL_GRACE, KILL_TIME_MAX};
use crate::mail::{Request, Verdict};
use crate::statement::Kill;
use crate::statement::kill::What;
use crate::worker::Worker;
use session::identity::{Identity, PLAIN};
pub use stand_in::StandIn;
use upstream::{Backend, OpenError, Target, open, query};

impl Display for Verdict {
    /// In the words of a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done => f.write_str("killed"),
            Self::Unknown => f.write_str("the server does not know it"),
            Self::Failed(error) => error.logged().fmt(f),
            Self::Refused(payload) => f.write_str(refusal_in(payload).as_deref().unwrap_or("refused")),
        }
    }
}

/// One KILL for one server.
#[derive(Debug)]
pub struct Shot {
    /// Who kills.
    pub worker: Rc<Worker>,
    /// What is to end.
    pub kill: Kill,
    /// The server.
    pub target: Target,
    /// The server's number of the connection.
    pub thread_id: u32,
    /// Who says so to the server: the thread's own user, or the stranger.
    pub identity: Box<Identity>,
}

/// The statement that a KILL means, or that there is none, at the connection that its session has:
/// as long as this lives, no other session gets the connection.
#[derive(Debug)]
pub struct Victim {
    control: Rc<Control>,
    /// The session's [moment](Control::moment) in which it was meant.
    moment: u64,
}

/// The time from the decision to kill to the server's answer, in which the victim gets no other
/// statement to its server.
#[derive(Debug)]
struct Aim<'a> {
    control: &'a Control,
    answered: bool,
}

impl Victim {
    /// What the session does now.
    pub fn new(control: &Rc<Control>) -> Self {
        control.turns.aim();
        Self { control: Rc::clone(control), moment: control.turns.moment() }
    }

    /// Whether the session is still where it was.
    fn is_there(&self) -> bool {
        self.control.turns.moment() == self.moment
    }

    /// Takes aim if the statement still runs.
    fn aim(&self) -> Option<Aim<'_>> {
        self.is_there().then(|| {
            self.control.hold();
            Aim { control: &self.control, answered: false }
        })
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        self.control.spare();
    }
}

impl Drop for Aim<'_> {
    fn drop(&mut self) {
        // It is unknown when the server executes the KILL, so no other statement may run there.
        if !self.answered {
            self.control.send(Signal::Kill);
        }
        self.control.release();
    }
}

/// Kills a statement of a session that is there, and answers the request.
pub async fn kill(shot: Shot, victim: Victim, request: Request) {
    let verdict = shot.fire(Some(&victim)).await;
    if request.kill.what == What::Query {
        return request.answer(verdict);
    }
    // The session ends in any case; at the server, its statement may run on.
    let killed = matches!(verdict, Verdict::Done);
    if !killed {
        let (server, thread) = (&shot.target, shot.thread_id);
        tracing::warn!(%server, thread, %verdict, "a killed session may run on at its server");
    }
    request.answer(Verdict::Done);
    if killed {
        // Time for what the server says before it closes.
        sleep(KILL_GRACE).await;
    }
    if victim.is_there() {
        victim.control.send(Signal::Stop);
    }
}

/// Kills for another user, if the server lets him: the statement that is meant, or the whole
/// connection and the session.
pub async fn kill_for_stranger(shot: Shot, victim: Victim, request: Request) {
    let is_query = request.kill.what == What::Query;
    let verdict = shot.fire(is_query.then_some(&victim)).await;
    if !is_query && matches!(verdict, Verdict::Done) {
        // It is over with its connection, even if it could do without that.
        victim.control.send(Signal::Kill);
    }
    request.answer(verdict);
}

/// Kills what a client that has vanished left running on `backend`, which counts until that is
/// done.
pub async fn clean_up(shot: Shot, backend: Backend) {
    let verdict = shot.fire(None).await;
    if !matches!(verdict, Verdict::Done) {
        let (server, thread) = (&shot.target, shot.thread_id);
        tracing::warn!(%server, thread, %verdict, "the statement of a client that vanished may run on");
    }
    drop(backend);
}

/// What comes of an attempt to kill something at a server, if that takes no longer than it may.
async fn in_time(
    kill: Kill,
    target: &Target,
    attempt: impl Future<Output = Result<Verdict, OpenError>>,
) -> Verdict {
    let failed = |why: &dyn Display| Verdict::Failed(ClientError::kill_failed(kill.id, target, &why));
    match timeout(KILL_TIME_MAX, attempt).await {
        Ok(Ok(verdict)) => verdict,
        Ok(Err(OpenError::Refused { payload, .. })) => Verdict::Refused(payload),
        Ok(Err(error)) => failed(&error),
        Err(_) => failed(&format_args!("no answer within {}ms", KILL_TIME_MAX.as_millis())),
    }
}

impl Shot {
    async fn fire(&self, victim: Option<&Victim>) -> Verdict {
        in_time(self.kill, &self.target, self.try_to_fire(victim)).await
    }

    async fn try_to_fire(&self, victim: Option<&Victim>) -> Result<Verdict, OpenError> {
        // Never closed.
        let _place = self.worker.kills.acquire().await;
        let Some(verdict) = self.hit(victim).await? else { return Ok(Verdict::Done) };
        if matches!(verdict, Verdict::Done) {
            self.worker.counts.note(match self.kill.what {
                What::Query => Counter::KilledQueries,
                What::Connection => Counter::KilledConnections,
            });
        }
        Ok(verdict)
    }

    /// The same, uncounted, over a connection that has its place; nothing if what was meant is
    /// over.
    async fn hit(&self, victim: Option<&Victim>) -> Result<Option<Verdict>, OpenError> {
        let mut link = open(&self.worker.upstream, &self.target, &self.identity).await?;
        let verdict = match victim.map(Victim::aim) {
            Some(None) => None,
            aim => {
                let mut exchange = Exchange::new(&self.worker.net, link.sock_mut());
                exchange.send(&query(PLAIN, self.kill.at_server(self.thread_id))).await?;
                let answer = exchange.receive().await?;
                if let Some(mut aim) = aim.flatten() {
                    aim.answered = true;
                }
                Some(self.verdict(answer)?)
            }
        };
        link.quit().await;
        Ok(verdict)
    }

    /// What a server's answer means.
    fn verdict(&self, answer: Vec<u8>) -> Result<Verdict, OpenError> {
        const CAPABILITIES: Capabilities = Capabilities::PROTOCOL_41;
        let malformed = |error: wire::WireError| OpenError::Login(error.to_string());
        if answer.first() != Some(&packet::Err::HEADER) {
            return packet::Ok::decode(&answer, CAPABILITIES).map(|_| Verdict::Done).map_err(malformed);
        }
        let error = packet::Err::decode(&answer, CAPABILITIES).map_err(malformed)?;
        // `Unknown thread id: 7`, `You are not owner of thread 7`
        let message = String::from_utf8_lossy(error.message);
        let Some(text) = message.strip_suffix(&format!(" {}", self.thread_id)) else {
            return Ok(Verdict::Refused(answer));
        };
        let message = format!("{text} {}", self.kill.id);
        let told = packet::Err { message: message.as_bytes(), ..error };
        Ok(Verdict::Refused(told.encode(CAPABILITIES)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_told_in_words() {
        let error = ClientError::UnknownThread { id: 7 };
        let text = error.logged().to_string();
        assert_eq!(Verdict::Failed(error).to_string(), text);
        assert!(!text.contains("ClientError") && text.contains('7'), "{text}");
        let refused = packet::Err { code: 1095, sql_state: Some(*b"HY000"), message: b"not the owner" };
        let payload = refused.encode(Capabilities::PROTOCOL_41);
        assert!(Verdict::Refused(payload).to_string().contains("not the owner"));
        assert_eq!(Verdict::Refused(Vec::new()).to_string(), "refused");
    }
}
