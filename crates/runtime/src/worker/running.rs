//! The loop of a worker: messages, sweeps, and the end.

use std::rc::Rc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::{Message, Question, Registered, Worker};
use crate::clock::unix_s;
use crate::control::Signal;
use crate::counts::Counter;
use crate::limits::{KILLS_MAX, SESSIONS_LOOK, SWEEP_INTERVAL};
use front::Arrival;

impl Worker {
    /// Serves clients until the proxy is drained: what `serve` returns for each is its task.
    pub async fn run<F: Future<Output = ()> + 'static>(
        self: Rc<Self>,
        mut inbox: mpsc::UnboundedReceiver<Message>,
        serve: impl Fn(Registered, Arrival) -> F,
    ) {
        let mut sweep = interval(SWEEP_INTERVAL);
        sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            if self.is_drained() {
                return;
            }
            // In this order: what happens to a simulated worker follows from its seed.
            tokio::select! {
                biased;
                message = inbox.recv() => match message {
                    Some(Message::Client(arrival)) => {
                        self.counts.note(Counter::ClientsCreated);
                        tokio::task::spawn_local(serve(self.register(), arrival));
                    }
                    Some(Message::Drain(timeout)) => self.start_drain(timeout),
                    Some(Message::Kill(seat, request)) => self.deliver(seat, request),
                    Some(Message::Ask(Question(question))) => question(&self),
                    None => return,
                },
                _ = sweep.tick() => self.sweep(),
                () = self.until_drained_or_late() => {}
            }
        }
    }

    /// Whether the worker can end: all sessions are gone, and nothing is being killed for them
    /// unless the time is up.
    fn is_drained(&self) -> bool {
        let Some(deadline) = self.drain.get() else { return false };
        let kills_nothing = self.kills.available_permits() == KILLS_MAX || Instant::now() >= deadline;
        kills_nothing && self.controls.borrow().is_empty()
    }

    fn sweep(self: &Rc<Self>) {
        let now = Instant::now();
        self.upstream.sweep(now);
        self.texts.sweep();
        self.unix_s.set(unix_s());
        self.counts.digests.trim();
        self.shared.front.refusals.sum_up(now);
        if self.index == 0 {
            self.shared.cache.sweep(self.uptime_ms());
        }
        if now >= self.due.get() {
            self.due.set(self.sweep_sessions(now));
        }
    }

    /// Ends sessions that take too long. Returns when there can be others at the earliest: to look
    /// at each of thousands that wait takes longer than all else that there is to do for them.
    fn sweep_sessions(&self, now: Instant) -> Instant {
        let (settings, controls) = (self.settings(), self.controls.borrow());
        let limits = &settings.variables;
        let ends = controls.iter().filter_map(|(_, control)| control.sweep(now, limits));
        let of_idle = limits.wait_timeout.min(limits.max_transaction_idle_time);
        let shortest = of_idle.min(limits.max_transaction_time).min(limits.default_query_timeout);
        // One of a session that begins now.
        ends.chain(now.checked_add(shortest)).fold(now + SESSIONS_LOOK, Instant::min)
    }

    pub(crate) fn start_drain(self: &Rc<Self>, timeout: Duration) {
        self.upstream.drain();
        self.drain.set(Some(Instant::now() + timeout));
        self.signal_all(Signal::Drain);
    }

    /// Waits, while draining, for the last session to end or for the deadline, which ends them all.
    async fn until_drained_or_late(&self) {
        /// How often the end of the last session is looked for while draining.
        const LOOK: Duration = Duration::from_millis(10);
        let Some(deadline) = self.drain.get() else { return std::future::pending().await };
        if Instant::now() >= deadline {
            let sessions = self.controls.borrow().len();
            if !self.cut_off.replace(true) && sessions > 0 {
                tracing::warn!(sessions, "drain_timeout_ms is over: what is left is cut off");
            }
            self.signal_all(Signal::Stop);
        }
        tokio::time::sleep(LOOK).await;
    }
}
