//! Inner sessions that run the branches of one command.

use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use wire::Capabilities;

use super::inner::{Inner, no_client};
use super::moment::Moment;
use super::transaction::error_of;
use crate::control::Control;
use crate::ending::Ending;
use crate::error::{ClientError, Gone};
use crate::scatter::Source;
use crate::session::io::Io;
use crate::sock::Sock;

/// An inner session with the branches that it runs, one after the other.
pub(super) struct Runner {
    pub(super) inner: Inner,
    pub(super) queue: Vec<Io>,
    /// The number of its first branch.
    pub(super) number: usize,
    /// It was in the transaction of the client when the command came to it.
    pub(super) was_open: bool,
    /// The inner session has ended.
    pub(super) is_over: bool,
}

/// Inner sessions with what they run, and the other ends of their clients by branch.
#[derive(Default)]
pub(super) struct Runners {
    pub(super) unit: Unit,
    /// The time that all servers take for theirs.
    pub(super) moment: Option<Moment>,
    /// Each branch has a connection of its own: all run at the same time.
    pub(super) is_apart: bool,
    pub(super) all: Vec<Runner>,
    pub(super) sources: Vec<Source>,
    pub(super) sockets: Vec<Sock>,
}

/// What makes the branches of a statement one change at each server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Unit {
    /// Nothing: they only read, or each server has one.
    #[default]
    None,
    /// A transaction of their own.
    Transaction,
    /// A savepoint in the transaction of the client.
    Savepoint,
}

impl Unit {
    /// The statement in front of the first branch at a server.
    pub(super) const fn begin(self) -> Option<&'static [u8]> {
        match self {
            Self::None => None,
            Self::Transaction => Some(b"BEGIN"),
            Self::Savepoint => Some(b"SAVEPOINT pointsman_statement"),
        }
    }

    /// The statement behind the last branch at a server: it keeps the changes or takes them back.
    pub(super) const fn end(self, is_kept: bool) -> Option<&'static [u8]> {
        match (self, is_kept) {
            (Self::None, _) => None,
            (Self::Transaction, true) => Some(b"COMMIT"),
            (Self::Transaction, false) => Some(b"ROLLBACK"),
            (Self::Savepoint, true) => Some(b"RELEASE SAVEPOINT pointsman_statement"),
            (Self::Savepoint, false) => Some(b"ROLLBACK TO SAVEPOINT pointsman_statement"),
        }
    }
}

impl Runners {
    /// How each inner session is told to end its part.
    pub(super) fn controls(&self) -> Vec<Rc<Control>> {
        self.all.iter().map(|runner| Rc::clone(&runner.inner.session.control)).collect()
    }

    /// Keeps the changes of a statement at all servers, or takes them back. The payload of the
    /// first error.
    pub(super) async fn end_unit(&mut self, is_kept: bool) -> Result<Option<Vec<u8>>, Ending> {
        let mut refused = None;
        let Some(text) = self.unit.end(is_kept) else { return Ok(refused) };
        for runner in self.all.iter_mut().filter(|runner| !runner.is_over) {
            if let Some(moment) = self.moment {
                let session = &mut runner.inner.session;
                if let Err(error) = moment.end(session).await? {
                    // No other session gets a connection with this time.
                    session.lose_backend_for(Gone::Closed)?;
                    refused = refused.or(Some(error));
                    continue;
                }
            }
            let reply = runner.inner.session.ask(text).await?;
            refused = refused.or_else(|| error_of(&reply));
        }
        Ok(refused)
    }
}

pub(super) type Run<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

impl Runner {
    /// Whether it has lost the transaction of the client.
    pub(super) fn is_lost(&self) -> bool {
        self.was_open && (self.is_over || !self.inner.is_in_transaction())
    }

    /// Runs the branches.
    pub(super) fn run(&mut self) -> Run<'_> {
        Box::pin(async {
            let session = &mut self.inner.session;
            session.control.attach().await;
            let mut was_open = session.is_in_transaction();
            let mut queue = std::mem::take(&mut self.queue).into_iter();
            for client in queue.by_ref() {
                session.io = client;
                if let Err(ending) = session.run_as_inner().await {
                    if let Some(packets) = ending.packets() {
                        // Who has left does not hear it.
                        let _ = session.io.sock.write_all(packets).await;
                    }
                    self.is_over = true;
                    break;
                }
                if was_open && !session.is_in_transaction() {
                    // What is left would commit each change of its own.
                    break;
                }
                was_open = session.is_in_transaction();
            }
            refuse(queue, session.capabilities()).await;
            session.io = Io::new(no_client(), Vec::new());
            // A KILL that is on its way must not meet the next statement.
            let control = Rc::clone(&session.control);
            poll_fn(|_| if control.is_held() { Poll::Pending } else { Poll::Ready(()) }).await;
        })
    }
}

/// Answers branches that do not run, behind one that has ended their transaction.
async fn refuse(branches: impl Iterator<Item = Io>, caps: Capabilities) {
    let error = ClientError::PartFailed;
    for mut client in branches {
        // Who has left does not hear it.
        let _ = client.sock.write_all(&error.to_packet(1, caps)).await;
    }
}

/// Lets all go on. Whether any has not come to its end.
pub(super) fn poll_all(runs: &mut [Option<Run<'_>>], cx: &mut Context<'_>) -> bool {
    for run in runs.iter_mut() {
        if run.as_mut().is_some_and(|one| one.as_mut().poll(cx).is_ready()) {
            *run = None;
        }
    }
    runs.iter().any(Option::is_some)
}
