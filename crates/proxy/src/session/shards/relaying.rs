//! Relaying the replies of shards to the client while inner sessions run.

use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use legs::entry::BookEntry;
use legs::facts::orders::killed_here;
use legs::io::Io;
use legs::state::SessionState;
use runtime::control::{Control, Signal};
use scatter::{Over, Relay};

use crate::ending::Ending;
use crate::session::shards::facts::poll_ended;
use crate::session::shards::runners::{Lead, Run, Runners, poll_all};
use crate::sock::Input;

/// Runs what the runners have got, until the client has its reply and all shards have ended
/// theirs.
pub(super) async fn relay_scatter(
    entry: &BookEntry,
    io: &mut Io,
    state: &SessionState,
    relay: &mut Relay,
    runners: &mut Runners,
    is_open: bool,
) -> Result<(), Ending> {
    let controls = runners.controls();
    let lead = runners.lead.clone();
    let mut runs = runners.run(&relay.branches());
    relay_runs(entry, io, state, relay, (&mut runs, &controls), lead, is_open).await
}

/// The same for what runs already and is told to end by `controls`. Those that wait for a lead hear
/// how the first one has ended.
pub(super) async fn relay_runs(
    entry: &BookEntry,
    io: &mut Io,
    state: &SessionState,
    relay: &mut Relay,
    (runs, controls): (&mut [Option<Run<'_>>], &[Rc<Control>]),
    lead: Option<Rc<Lead>>,
    is_open: bool,
) -> Result<(), Ending> {
    // How the statement ends: nothing as long as the client has no reply.
    let mut ended: Option<Result<(), Ending>> = None;
    poll_fn(|cx| {
        pass_recall(&entry.control, controls);
        let is_running = poll_all(runs, cx);
        if !matches!(ended, Some(Err(_)))
            && let Err(ending) = poll_stop(&entry.control, io, state, cx, controls)
        {
            ended = Some(Err(if relay.has_begun() { ending.within_reply() } else { ending }));
        }
        if ended.is_none()
            && let Poll::Ready(sent) = relay.poll_reply(cx, &mut io.client)
        {
            ended = Some(sent.map_err(Ending::from));
        }
        let is_stopped = matches!(ended, Some(Err(_)));
        let is_failed = relay.scatter().over().is_some_and(Over::is_error);
        if is_stopped || ended.is_some() && is_failed && !is_open {
            // The rest is not read: that ends what still runs.
            if !relay.has_left() {
                relay.leave();
                cx.waker().wake_by_ref();
            }
        }
        if ended.is_some() && !relay.has_left() {
            let _ = relay.poll_rest(cx);
        }
        let led = if is_stopped { Some(false) } else { relay.scatter().has_succeeded(0) };
        if let Some((lead, is_done)) = lead.as_ref().filter(|lead| lead.get().is_none()).zip(led) {
            lead.set(Some(is_done));
            cx.waker().wake_by_ref();
        }
        if is_running { Poll::Pending } else { ended.take().map_or(Poll::Pending, Poll::Ready) }
    })
    .await
}

/// Waits until all that runs has come to its end.
pub(super) async fn run_out(control: &Control, parts: &[Rc<Control>], runs: &mut [Option<Run<'_>>]) {
    poll_fn(|cx| {
        pass_recall(control, parts);
        if poll_all(runs, cx) { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
}

/// Waits for what runs at several shards and is told to end by `controls`, unless the session is
/// to end. They hear of servers that are switched off.
pub(super) async fn wait_for_parts<T>(
    (control, state): (&Control, &SessionState),
    controls: &[Rc<Control>],
    mut parts: Pin<&mut impl Future<Output = T>>,
) -> Result<T, Ending> {
    poll_fn(|cx| {
        pass_recall(control, controls);
        match parts.as_mut().poll(cx) {
            Poll::Ready(done) => Poll::Ready(Ok(done)),
            Poll::Pending => {
                poll_ended(control, state).map_or(Poll::Pending, |ending| Poll::Ready(Err(ending)))
            }
        }
    })
    .await
}

/// Servers were switched off: what runs at shards is to look whether it is at one of them.
pub(super) fn pass_recall(control: &Control, parts: &[Rc<Control>]) {
    if control.recalled.get() {
        parts.iter().filter(|part| !part.recalled.get()).for_each(|part| part.recall());
    }
}

/// Does what others want of a scattered statement: to be killed, each shard kills its part, or
/// to end with the session. Whether it is killed.
pub(super) fn poll_stop(
    control: &Control,
    io: &mut Io,
    state: &SessionState,
    cx: &mut Context<'_>,
    parts: &[Rc<Control>],
) -> Result<bool, Ending> {
    if killed_here(control, state.identity.capabilities, true)? {
        for part in parts {
            part.interrupt();
        }
        return Ok(true);
    }
    if control.signal() >= Signal::Stop {
        return Err(Ending::Silent);
    }
    match io.client.poll_input(cx) {
        Poll::Ready(Input::End) => Err(Ending::ClientLeft),
        _ => Ok(false),
    }
}
