//! Inner sessions that run the branches of one command.

use std::cell::Cell;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use legs::client::Client;
use legs::facts::leases::{look_at_server, lose_backend_for};
use legs::io::Io;
use legs::shards::role::Inner;
use legs::state::SessionState;
use runtime::control::Control;
use scatter::{Branches, Scatter as Replies, Source};
use session::committed::{Part, Place, Verdict, verdict};
use wire::{Capabilities, frame};

use crate::ending::Ending;
use crate::error::{ClientError, Gone};
use crate::session::shards::done::Halt;
use crate::session::shards::facts::payload_of;
use crate::session::shards::inner::{ask, error_of, run_inner};
use crate::session::shards::moment::Moment;

/// What inner sessions are asked.
const QUESTION: &[u8] = b"SHOW WARNINGS";

/// An inner session with the branches that it runs, one after the other.
pub(super) struct Runner {
    pub(super) inner: Inner,
    /// The numbers of the branches, in their order, and the commands for them.
    pub(super) queue: Vec<(usize, Vec<u8>)>,
    /// What servers said to [`QUESTION`] behind branches with warnings.
    pub(super) told: Vec<(usize, Vec<u8>)>,
    /// The number of its first branch.
    pub(super) number: usize,
    /// It was in the transaction of the client when the command came to it.
    pub(super) was_open: bool,
    /// The inner session has ended.
    pub(super) is_over: bool,
    /// What stands in front of its first branch.
    pub(super) opening: Opening,
}

/// What an inner session does in front of the first branch of a command.
#[derive(Default)]
pub(super) struct Opening {
    pub(super) unit: Unit,
    pub(super) moment: Option<Moment>,
    /// It waits for the copy that comes first.
    pub(super) lead: Option<Rc<Lead>>,
    /// The unit has begun.
    pub(super) is_done: bool,
}

/// The first of several copies, which all make the same change. The others begin when it has
/// ended its part: changes that concern the same rows meet at the locks of one server, and come to
/// all copies in the same order.
///
/// Whether it has ended its part with success; nothing as long as that is not known.
pub(super) type Lead = Cell<Option<bool>>;

/// Inner sessions with what they run.
#[derive(Default)]
pub(super) struct Runners {
    pub(super) unit: Unit,
    /// The time that all servers take for theirs.
    pub(super) moment: Option<Moment>,
    /// Each branch has a connection of its own: all run at the same time.
    pub(super) is_apart: bool,
    /// Each branch makes the same change as the first one, behind it.
    pub(super) lead: Option<Rc<Lead>>,
    pub(super) all: Vec<Runner>,
    pub(super) sources: Vec<Source>,
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
    /// Hides from the client what the replies of shards say of a transaction that only this unit
    /// has begun.
    pub(super) fn hide_from(self, replies: &mut Replies) {
        if self == Self::Transaction {
            replies.hide_transaction();
        }
    }

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
        self.all.iter().map(|runner| Rc::clone(&runner.inner.entry.control)).collect()
    }

    /// Has all run their branches, for these clients.
    pub(super) fn run(&mut self, clients: &Branches) -> Vec<Option<Run<'_>>> {
        self.all.iter_mut().map(|runner| Some(runner.run(clients.clone()))).collect()
    }

    /// Keeps the changes of a statement at all servers, or takes them back. The payload of the
    /// error if they are not kept as they should be.
    pub(super) async fn end_unit(&mut self, is_kept: bool) -> Result<Option<Vec<u8>>, Halt> {
        let mut refused = None;
        let mut open: Vec<_> =
            self.all.iter_mut().filter(|one| one.opening.is_done && !one.is_over).collect();
        for lost in join(open.iter_mut().map(|runner| runner.close_moment())).await {
            refused = refused.or(lost?);
        }
        let is_kept = is_kept && refused.is_none();
        let Some(text) = self.unit.end(is_kept) else { return Ok(refused) };
        let parts = ask_all(open.iter_mut().map(|runner| &mut runner.inner), text).await?;
        let parts: Vec<_> = parts.into_iter().map(|part| Part { wrote: true, ..part }).collect();
        let refused = match self.unit {
            _ if !is_kept => refused,
            Unit::Transaction => open.first().and_then(|one| {
                error_of_parts(&one.inner.leg.state, &parts, "a statement over several shards")
            }),
            _ => parts.iter().find_map(|part| part.refusal.clone()),
        };
        for (runner, part) in open.into_iter().zip(parts) {
            // Its connection is closed: that rolls back.
            if self.unit == Unit::Savepoint && part.refusal.is_some() {
                // So are all parts of the transaction, which the client has begun or begins here.
                (runner.is_over, runner.was_open) = (true, true);
            } else if self.unit == Unit::Transaction {
                runner.is_over |= runner.inner.is_in_transaction();
            }
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

    /// Begins what makes the branches of a command one change, if it has not begun.
    pub(super) async fn open(&mut self) -> Result<(), Halt> {
        let (opening, inner) = (&mut self.opening, &mut self.inner);
        if let Some(begin) = opening.unit.begin().filter(|_| !opening.is_done) {
            Halt::of_reply(&ask(inner, begin).await?)?;
            opening.is_done = true;
            if let Some(moment) = opening.moment {
                return moment.begin(inner).await;
            }
        }
        Ok(())
    }

    /// Lets the server go by its own clock again, and finds out whether it is still there. The
    /// payload of the error if not.
    async fn close_moment(&mut self) -> Result<Option<Vec<u8>>, Halt> {
        let (entry, leg) = (&self.inner.entry, &mut *self.inner.leg);
        look_at_server(entry, leg)?;
        if let Some(error) = leg.state.transaction.rolled_back.take() {
            return Ok(Some(payload_of(&leg.state, &error)));
        }
        let Some(moment) = self.opening.moment else { return Ok(None) };
        let Err(halt) = moment.end(&mut self.inner).await else { return Ok(None) };
        let error = halt.into_error(&self.inner.leg.state)?;
        // No other session gets a connection with this time.
        lose_backend_for(&self.inner.entry, &mut self.inner.leg, Gone::Closed)?;
        Ok(Some(error))
    }

    /// Begins as [`open`](Self::open) does. The packets of the error if that fails.
    async fn refused_opening(&mut self) -> Option<Vec<u8>> {
        match self.open().await.err()?.into_error(&self.inner.leg.state) {
            Ok(error) => Some(frame::answer(&error)),
            Err(halt) => {
                self.is_over = true;
                let packets = if let Halt::Over(ending) = &halt { ending.packets() } else { None };
                Some(packets.unwrap_or_default().to_vec())
            }
        }
    }

    /// Runs the branches, for these clients.
    pub(super) fn run(&mut self, clients: Branches) -> Run<'_> {
        let queue: Vec<_> = std::mem::take(&mut self.queue);
        let mut queue = queue.into_iter().map(move |(number, packet)| {
            (number, Io::for_once(Client::Branch(Box::new(clients.client(number))), packet))
        });
        Box::pin(async move {
            self.inner.entry.control.attach().await;
            if let Some(lead) = &self.opening.lead
                && !poll_fn(|_| lead.get().map_or(Poll::Pending, Poll::Ready)).await
            {
                return refuse(queue, self.inner.leg.state.identity.capabilities).await;
            }
            if let Some(packets) = self.refused_opening().await
                && let Some((_, mut io)) = queue.next()
            {
                // Who has left does not hear it.
                let _ = io.client.write_all(&packets).await;
                drop(io);
                return refuse(queue, self.inner.leg.state.identity.capabilities).await;
            }
            let inner = &mut self.inner;
            let mut was_open = inner.is_in_transaction();
            for (number, mut io) in queue.by_ref() {
                if let Err(ending) = run_inner(&mut io, inner).await {
                    if let Some(packets) = ending.packets() {
                        // Who has left does not hear it.
                        let _ = io.client.write_all(packets).await;
                    }
                    self.is_over = true;
                    break;
                }
                if inner.leg.links.has_warnings() {
                    let Ok(reply) = ask(inner, QUESTION).await else {
                        self.is_over = true;
                        break;
                    };
                    self.told.push((number, reply));
                }
                if was_open && !inner.is_in_transaction() {
                    // What is left would commit each change of its own.
                    break;
                }
                was_open = inner.is_in_transaction();
            }
            refuse(queue, inner.leg.state.identity.capabilities).await;
            // A KILL that is on its way must not meet the next statement.
            let control = Rc::clone(&inner.entry.control);
            poll_fn(|_| if control.turns.is_held() { Poll::Pending } else { Poll::Ready(()) }).await;
        })
    }
}

/// Runs all at the same time. What each has come to.
async fn join<F: Future>(runs: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut all: Vec<_> = runs.into_iter().map(|run| (Box::pin(run), None)).collect();
    poll_fn(|cx| {
        for (run, end) in all.iter_mut().filter(|(_, end)| end.is_none()) {
            if let Poll::Ready(output) = run.as_mut().poll(cx) {
                *end = Some(output);
            }
        }
        if all.iter().any(|(_, end)| end.is_none()) { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    all.into_iter().filter_map(|(_, end)| end).collect()
}

/// Has inner sessions run a statement at the same time. What each has said.
pub(super) async fn ask_all<'i>(
    inners: impl IntoIterator<Item = &'i mut Inner>,
    text: &[u8],
) -> Result<Vec<Part>, Ending> {
    let parts = inners.into_iter().map(async |inner| {
        inner.entry.control.attach().await;
        let refusal = error_of(&ask(inner, text).await?);
        Ok(Part { place: Place::Shard(inner.hostgroup), wrote: inner.wrote, refusal })
    });
    join(parts).await.into_iter().collect()
}

/// The payload of the error that the client gets if not all that was changed lasts: of `what` that
/// has ended in these parts.
pub(super) fn error_of_parts(state: &SessionState, parts: &[Part], what: &str) -> Option<Vec<u8>> {
    match verdict(parts) {
        Verdict::Committed => None,
        Verdict::Refused(error) => Some(error),
        Verdict::InPart(error) => {
            tracing::warn!(%error, "{what} has committed in part");
            Some(payload_of(state, &error))
        }
    }
}

/// Answers branches that do not run, behind one that has ended their transaction.
async fn refuse(branches: impl Iterator<Item = (usize, Io)>, caps: Capabilities) {
    let error = ClientError::PartFailed;
    for (_, mut io) in branches {
        // Who has left does not hear it.
        let _ = io.client.write_all(&error.to_packet(1, caps)).await;
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
