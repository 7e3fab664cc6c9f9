//! The handle by which a worker reaches its sessions: what each is doing, and how to tell it to
//! end.
//!
//! A session sleeps in the kernel's readiness queue; to end one, the worker leaves a [`Signal`] in
//! the session's [`Control`] and wakes its task, which looks at the signal wherever it waits. That
//! costs a query nothing but the reading of one cell.

mod extended;
mod handle;
mod mail;
mod own_kill;
mod report;
mod turns;
mod watch;

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::Duration;

use config::MysqlVariables;
use tokio::time::Instant;

use crate::limits::SWEEP_INTERVAL;
use crate::mail::{Request, Seat};
use crate::state::Pin;
use front::About;
use mail::Mail;
use observe::running::Running;
use own_kill::own_request;
use turns::Turns;
use watch::Watch;

pub use front::Signal;

/// What a session is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Activity {
    /// Logging in; the login has a deadline of its own.
    Login,
    /// Waiting for the client's next command since the given time.
    Idle(Instant),
    /// Waiting since then for a client that does not go on with a command, or with its answer.
    Slow(Instant),
    /// Running a command.
    Busy,
    /// Copying bytes without looking at them; since when the server has spoken last, if that is how
    /// long the client may do nothing.
    Tunnel(Option<Instant>),
}

/// A limit that the session has set itself by `SET wait_timeout`. Servers go by it; it counts as
/// well while the session has no connection to one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnLimit {
    /// For how long the session may be idle.
    pub seconds: u32,
    /// The client hears error 4031 when it is over, as from MySQL. MariaDB says nothing.
    pub is_told: bool,
}

/// One session, as its worker sees it.
#[derive(Debug)]
pub struct Control {
    signal: Cell<Signal>,
    waker: RefCell<Option<Waker>>,
    activity: Cell<Activity>,
    transaction_since: Cell<Option<Instant>>,
    /// The session's place among its worker's.
    key: usize,
    id: u32,
    created: Instant,
    seat: Cell<Option<Seat>>,
    /// What others want killed here.
    pub mail: Mail,
    /// Which statement runs, and whether the next one has to wait.
    pub turns: Turns,
    /// Whether the statement that runs is being killed because it takes too long.
    pub overdue: Cell<bool>,
    /// Who the client is.
    pub about: About,
    /// What it runs.
    pub running: Running,
    /// Whether the client has said goodbye.
    pub quit: Cell<bool>,
    /// Whether servers were switched off since the session looked last.
    pub recalled: Cell<bool>,
    /// Whether the statement waits for its delay, or for its place under a limit.
    pub delayed: Cell<bool>,
    /// What is known of the client of a statement that waits.
    pub watch: Watch,
    /// KILLs of statements that were sent, and that the session has not taken note of.
    pub shots: Cell<u32>,
    /// What binds the session to its connection while it waits for its client.
    pin: Cell<Option<Pin>>,
    /// When that began, in milliseconds since the session did.
    pinned_ms: Cell<u32>,
    /// How long it may be idle, if its client has said so.
    pub own_limit: Cell<Option<OwnLimit>>,
}

impl Control {
    /// A session that begins now, `key` among its worker's and with this connection id.
    pub fn new(key: usize, id: u32) -> Self {
        Self {
            key,
            id,
            created: Instant::now(),
            seat: Cell::new(None),
            mail: Mail::default(),
            turns: Turns::default(),
            overdue: Cell::new(false),
            about: About::default(),
            running: Running::default(),
            quit: Cell::new(false),
            recalled: Cell::new(false),
            delayed: Cell::new(false),
            watch: Watch::default(),
            shots: Cell::new(0),
            pin: Cell::new(None),
            pinned_ms: Cell::new(0),
            own_limit: Cell::new(None),
            signal: Cell::new(Signal::None),
            waker: RefCell::new(None),
            activity: Cell::new(Activity::Login),
            transaction_since: Cell::new(None),
        }
    }

    /// The session's place among its worker's.
    pub const fn key(&self) -> usize {
        self.key
    }

    /// Remembers the running task as the one to wake. A task keeps its waker all its life.
    pub async fn attach(&self) {
        poll_fn(|cx| {
            *self.waker.borrow_mut() = Some(cx.waker().clone());
            Poll::Ready(())
        })
        .await;
    }

    /// The connection id that the client is told.
    pub const fn id(&self) -> u32 {
        self.id
    }

    /// For how long the session has been there.
    pub fn age(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.created)
    }

    /// For how long a transaction has been open, as far as the session knows when commands ended;
    /// zero without one.
    pub fn transaction_time(&self, now: Instant) -> Duration {
        self.transaction_since.get().map_or(Duration::ZERO, |since| now.saturating_duration_since(since))
    }

    /// What the session was told last.
    pub fn signal(&self) -> Signal {
        self.signal.get()
    }

    /// Leaves a signal, unless a stronger one is there, and wakes the session.
    pub fn send(&self, signal: Signal) {
        if signal > self.signal.get() {
            self.signal.set(signal);
            self.wake();
        }
    }

    fn wake(&self) {
        if let Some(waker) = self.waker.borrow().as_ref() {
            waker.wake_by_ref();
        }
    }

    /// Takes the next seat in the directory of sessions: at the login and when the user changes.
    pub fn take_seat(&self, id: u32) -> Seat {
        // What was meant for the login before this one.
        self.mail.take();
        let login = self.seat.get().map_or(0, |seat| seat.login + 1);
        let seat = Seat { key: self.key, id, login };
        self.seat.set(Some(seat));
        seat
    }

    /// The seat of this login.
    pub fn seat(&self) -> Option<Seat> {
        self.seat.get()
    }

    /// Gives the seat up. Who wants to kill something here hears that it is gone.
    pub fn leave_seat(&self) -> Option<Seat> {
        self.mail.take();
        self.seat.take()
    }

    /// Hands over a KILL, or gives it back: the login that was meant is over, or another user wants
    /// it in a tunnel, where the server cannot be asked whether that user may.
    pub fn deliver(&self, seat: Seat, request: Request) -> Result<(), Request> {
        if self.seat.get() != Some(seat) || self.is_tunnel() && request.stranger.is_some() {
            return Err(request);
        }
        self.mail.put(request);
        self.wake();
        Ok(())
    }

    /// No server works at its statement any more.
    pub fn end_statement(&self) {
        self.turns.end();
        self.overdue.set(false);
    }

    /// Has the statement that runs killed, if there is one that takes longer than it may by `now`;
    /// without a limit of its own it may take `default`.
    pub fn end_overdue(&self, now: Instant, default: Duration) {
        let Some(seat) = self.seat.get().filter(|_| self.turns.current().is_some()) else { return };
        if self.running.is_overdue(now, default) {
            self.overdue.set(true);
            self.mail.put(own_request(seat.id));
            self.wake();
        }
    }

    pub(crate) fn spare(&self) {
        if self.turns.spare() {
            self.wake();
        }
    }

    /// From now until `release`, no statement is sent.
    pub fn hold(&self) {
        self.shots.set(self.shots.get() + 1);
        self.turns.hold();
    }

    pub(crate) fn release(&self) {
        if self.turns.release() {
            self.wake();
        }
    }

    /// Runs `work` until it is done, a signal of at least `least` arrives, or the session is
    /// killed. In a tunnel, where statements have no end, a KILL of the statement does the same.
    pub async fn until<T>(&self, least: Signal, work: impl Future<Output = T>) -> Result<T, Signal> {
        let mut work = pin!(work);
        poll_fn(|cx| match self.signal() {
            signal if signal >= least => Poll::Ready(Err(signal)),
            _ if self.mail.is_final() => Poll::Ready(Err(Signal::Kill)),
            _ if self.is_tunnel() && self.mail.is_there() => Poll::Ready(Err(Signal::Kill)),
            _ => work.as_mut().poll(cx).map(Ok),
        })
        .await
    }

    /// Servers were switched off: the session is to check whether it has connections to one. What a
    /// tunnel is in the middle of is unknown; a tunnel to such a server ends.
    pub fn recall(&self) {
        let is_off =
            || self.about.server().and_then(|server| server.off()).is_some_and(pool::Off::breaks_off);
        if !self.is_tunnel() {
            self.recalled.set(true);
            self.wake();
        } else if is_off() {
            self.send(Signal::Stop);
        }
    }

    /// Whether a command runs.
    pub fn is_busy(&self) -> bool {
        self.activity.get() == Activity::Busy
    }

    /// Whether a transaction is open.
    pub const fn is_in_transaction(&self) -> bool {
        self.transaction_since.get().is_some()
    }

    /// Says what binds the session to its connection now.
    pub fn set_pin(&self, pin: Option<Pin>, now: Instant) {
        if self.pin.replace(pin) != pin {
            let since = self.age(now).as_millis();
            self.pinned_ms.set(u32::try_from(since).unwrap_or(u32::MAX));
        }
    }

    /// It works at a command.
    pub fn set_busy(&self) {
        self.activity.set(Activity::Busy);
    }

    const fn is_tunnel(&self) -> bool {
        matches!(self.activity.get(), Activity::Tunnel(_))
    }

    /// Says that a command has ended at `now`, and whether a transaction is open after it.
    pub fn set_idle(&self, now: Instant, in_transaction: bool) {
        self.activity.set(Activity::Idle(now));
        self.note_transaction(now, in_transaction);
    }

    /// Says that the client does not go on with a command, or with its answer, since `now`.
    pub fn set_slow(&self, now: Instant) {
        self.activity.set(Activity::Slow(now));
    }

    /// Says whether a transaction is open from `now` on.
    pub fn note_transaction(&self, now: Instant, in_transaction: bool) {
        match (in_transaction, self.transaction_since.get()) {
            (true, None) => self.transaction_since.set(Some(now)),
            (false, Some(_)) => self.transaction_since.set(None),
            _ => {}
        }
    }

    /// Ends the session if it has taken longer than `limits` allow by `now`. Returns when it can
    /// have at the earliest, if it goes on as it is now.
    ///
    /// Sessions note times that are up to a sweep old; a limit may act a sweep late, but never
    /// early.
    pub fn sweep(&self, now: Instant, limits: &MysqlVariables) -> Option<Instant> {
        self.end_overdue(now, limits.default_query_timeout);
        let (activity, transaction) = (self.activity.get(), self.transaction_since.get());
        let in_transaction = transaction.is_some();
        let allowed = if in_transaction { limits.max_transaction_idle_time } else { limits.wait_timeout };
        let idle = match activity {
            Activity::Idle(since) => {
                let own = self.own_limit.get().map(|own| Duration::from_secs(own.seconds.into()));
                since.checked_add(own.map_or(allowed, |own| own.min(allowed)))
            }
            Activity::Slow(since) | Activity::Tunnel(Some(since)) => since.checked_add(allowed),
            Activity::Login | Activity::Busy | Activity::Tunnel(None) => None,
        };
        let keeps_error = match activity {
            Activity::Idle(since) if self.pin.get() == Some(Pin::Warnings) => Some(since + SWEEP_INTERVAL),
            _ => None,
        };
        let transaction = transaction.and_then(|since| since.checked_add(limits.max_transaction_time));
        let is_over = |end: Instant| now.saturating_duration_since(end) > SWEEP_INTERVAL;
        if idle.is_some_and(is_over) || transaction.is_some_and(is_over) {
            self.send(Signal::Timeout);
        }
        if keeps_error.is_some_and(|end| end <= now) {
            self.turns.look_again();
            self.wake();
        }
        let keeps_error = keeps_error.filter(|end| *end > now);
        [idle, transaction, keeps_error, self.running.end_of(limits.default_query_timeout)]
            .into_iter()
            .flatten()
            .min()
    }
}

impl Control {
    /// What an inner session is told by while it runs beside others for this one.
    pub fn control_of_part(&self) -> Rc<Self> {
        Rc::new(Self::new(usize::MAX, self.id()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> MysqlVariables {
        MysqlVariables {
            wait_timeout: Duration::from_secs(100),
            max_transaction_idle_time: Duration::from_secs(10),
            max_transaction_time: Duration::from_secs(50),
            default_query_timeout: Duration::from_secs(1000),
            ..MysqlVariables::default()
        }
    }

    fn after(control: &Control, start: Instant, seconds: u64) -> Signal {
        control.sweep(start + Duration::from_secs(seconds), &limits());
        control.signal()
    }

    #[test]
    fn idle_sessions_end_after_wait_timeout() {
        let (control, start) = (Control::new(0, 1), Instant::now());
        assert_eq!(after(&control, start, 1000), Signal::None, "logging in");
        control.set_idle(start, false);
        assert_eq!(after(&control, start, 101), Signal::None);
        assert_eq!(after(&control, start, 102), Signal::Timeout);
    }

    #[test]
    fn idle_transactions_end_earlier_and_busy_ones_by_their_own_limit() {
        let (control, start) = (Control::new(0, 1), Instant::now());
        control.set_idle(start, true);
        control.set_busy();
        assert_eq!(after(&control, start, 51), Signal::None);
        assert_eq!(after(&control, start, 52), Signal::Timeout);

        let control = Control::new(0, 1);
        control.set_idle(start, true);
        assert_eq!(after(&control, start, 12), Signal::Timeout);
    }

    #[test]
    fn a_weaker_signal_does_not_replace_a_stronger_one() {
        let control = Control::new(0, 1);
        control.send(Signal::Stop);
        control.send(Signal::Drain);
        assert_eq!(control.signal(), Signal::Stop);
    }
}
