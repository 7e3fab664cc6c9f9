//! Who may go, and who is next: pure, with the time in nanoseconds of a clock that comes in.

use std::collections::VecDeque;
use std::fmt;

/// Nanoseconds of a second.
const SECOND_NS: u64 = 1_000_000_000;

/// Of the statements of a second, this part may come at once; one in any case.
const BURSTS_PER_SECOND: u64 = 10;

/// What a limit allows; `None` is everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rates {
    /// Most statements in a second. A tenth of them may come at once, so in a single second there
    /// may be a tenth more.
    pub max_qps: Option<u64>,
    /// Most statements at a time.
    pub max_concurrent: Option<u64>,
}

/// Statements under one limit. `W` is a way to wake a session.
#[derive(Debug)]
pub(crate) struct Line<W> {
    running: u64,
    /// When the next statement would come if all came at even distances ("theoretical arrival
    /// time").
    due: u64,
    /// Tickets, and how to wake the sessions that have them, once they have said so.
    waiting: VecDeque<(u64, Option<W>)>,
    next_ticket: u64,
}

/// What a session in line can do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Turn<'a, W> {
    /// It has its place. `next` is to be woken: there may be another one.
    Granted { next: Option<&'a W> },
    /// It is the first, and there is a place at this time, unless it is woken before.
    At(u64),
    /// It is woken when it may be its turn.
    Wait,
}

impl Rates {
    /// Whether they limit anything.
    pub const fn is_any(self) -> bool {
        self.max_qps.is_some() || self.max_concurrent.is_some()
    }

    /// Nanoseconds between two statements.
    fn interval(self) -> u64 {
        self.max_qps.map_or(0, |qps| SECOND_NS / qps.max(1))
    }

    /// How much earlier than at even distances a statement may come.
    fn tolerance(self) -> u64 {
        let burst = self.max_qps.map_or(1, |qps| (qps / BURSTS_PER_SECOND).max(1));
        (burst - 1).saturating_mul(self.interval())
    }
}

impl fmt::Display for Rates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(max) = self.max_concurrent {
            write!(f, "{max} statements at a time (max_concurrent)")?;
        }
        if let Some(max) = self.max_qps {
            let and = if self.max_concurrent.is_some() { ", " } else { "" };
            write!(f, "{and}{max} statements in a second (max_qps)")?;
        }
        Ok(())
    }
}

impl<W> Default for Line<W> {
    fn default() -> Self {
        Self { running: 0, due: 0, waiting: VecDeque::new(), next_ticket: 0 }
    }
}

impl<W> Line<W> {
    /// Takes a place, if there is one and no session waits for it.
    pub(crate) fn enter(&mut self, rates: Rates, now: u64) -> bool {
        let free = self.waiting.is_empty() && self.has_place(rates) && self.time(rates) <= now;
        if free {
            self.take(rates, now);
        }
        free
    }

    /// Joins the end of the line.
    pub(crate) fn queue(&mut self) -> u64 {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.waiting.push_back((ticket, None));
        ticket
    }

    /// Looks whether it is the turn of the session with this ticket; if not, `waker` wakes it.
    pub(crate) fn turn(
        &mut self,
        ticket: u64,
        rates: Rates,
        now: u64,
        waker: impl FnOnce() -> W,
    ) -> Turn<'_, W> {
        let is_first = self.waiting.front().is_some_and(|(first, _)| *first == ticket);
        if is_first && self.has_place(rates) {
            let time = self.time(rates);
            if time <= now {
                self.take(rates, now);
                self.waiting.pop_front();
                return Turn::Granted { next: self.first() };
            }
            self.note(ticket, waker());
            return Turn::At(time);
        }
        self.note(ticket, waker());
        Turn::Wait
    }

    /// A statement is over. Returns how to wake the first session in line.
    pub(crate) fn leave(&mut self) -> Option<&W> {
        debug_assert!(self.running > 0, "a place is given back once");
        self.running = self.running.saturating_sub(1);
        self.first()
    }

    /// A session waits no more, or has its place. Returns how to wake the new first one, if any.
    pub(crate) fn give_up(&mut self, ticket: u64) -> Option<&W> {
        let at = self.place_of(ticket)?;
        self.waiting.remove(at);
        if at == 0 { self.first() } else { None }
    }

    /// How many run, and how many wait.
    pub(crate) fn counts(&self) -> (u64, usize) {
        (self.running, self.waiting.len())
    }

    fn has_place(&self, rates: Rates) -> bool {
        rates.max_concurrent.is_none_or(|max| self.running < max)
    }

    /// When the next statement may come, as far as statements in a second are concerned.
    fn time(&self, rates: Rates) -> u64 {
        if rates.max_qps.is_some() { self.due.saturating_sub(rates.tolerance()) } else { 0 }
    }

    fn take(&mut self, rates: Rates, now: u64) {
        self.running += 1;
        self.due = self.due.max(now).saturating_add(rates.interval());
    }

    fn first(&self) -> Option<&W> {
        self.waiting.front()?.1.as_ref()
    }

    fn note(&mut self, ticket: u64, waker: W) {
        let place = self.place_of(ticket).and_then(|at| self.waiting.get_mut(at));
        if let Some((_, place)) = place {
            *place = Some(waker);
        }
    }

    /// Where the one with this ticket stands: tickets are in their order.
    fn place_of(&self, ticket: u64) -> Option<usize> {
        self.waiting.binary_search_by_key(&ticket, |(ticket, _)| *ticket).ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: u64 = SECOND_NS / 1000;

    #[test]
    fn a_tenth_of_a_second_may_come_at_once() {
        let rates = Rates { max_qps: Some(100), max_concurrent: None };
        let mut line: Line<()> = Line::default();
        let at = |line: &mut Line<()>, now| (0..1000).take_while(|_| line.enter(rates, now)).count();
        assert_eq!(at(&mut line, 0), 10);
        assert_eq!(at(&mut line, 9 * MS), 0);
        assert_eq!(at(&mut line, 10 * MS), 1);
        assert_eq!(at(&mut line, 60 * MS), 5);
        assert_eq!(at(&mut line, 10_000 * MS), 10, "what was not used is gone");
    }

    #[test]
    fn rates_may_change_while_a_session_waits() {
        let mut line: Line<u32> = Line::default();
        let (few, more) = (Rates { max_concurrent: Some(1), ..Rates::default() }, Rates::default());
        assert!(line.enter(few, 0) && !line.enter(few, 0));
        let ticket = line.queue();
        assert_eq!(line.turn(ticket, few, 0, || 7), Turn::Wait);
        assert_eq!(line.turn(ticket, more, 0, || 7), Turn::Granted { next: None });
        assert_eq!(line.counts(), (2, 0));
        assert_eq!(line.leave(), None);
        assert_eq!(line.leave(), None);
    }

    /// What may happen to a line.
    #[derive(Debug, Clone)]
    enum Step {
        Come,
        Leave,
        GiveUp(usize),
        Later(u64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            4 => Just(Step::Come),
            3 => Just(Step::Leave),
            1 => (0_usize..8).prop_map(Step::GiveUp),
            2 => (0_u64..400).prop_map(|ms| Step::Later(ms * MS)),
        ];
        prop::collection::vec(step, 0..200)
    }

    proptest! {
        /// Never more at a time or in a second than allowed; first come, first served; and no
        /// session is forgotten: the first one has been woken when there is a place, or knows when
        /// there will be one.
        #[test]
        fn limits_hold_and_the_line_is_fair(
            max_qps in prop::option::of(1_u64..40),
            max_concurrent in prop::option::of(1_u64..5),
            steps in steps(),
        ) {
            let rates = Rates { max_qps, max_concurrent };
            let mut line: Line<u64> = Line::default();
            let (mut now, mut running, mut entered) = (0, 0, Vec::new());
            let mut waiting: VecDeque<u64> = VecDeque::new();
            for step in steps {
                // Who is to be looked after.
                let mut woken: Option<u64> = None;
                match step {
                    Step::Come if line.enter(rates, now) => {
                        prop_assert!(waiting.is_empty());
                        running += 1;
                        entered.push(now);
                    }
                    Step::Come => {
                        let ticket = line.queue();
                        waiting.push_back(ticket);
                        woken = Some(ticket);
                    }
                    Step::Leave if running > 0 => {
                        running -= 1;
                        woken = line.leave().copied();
                    }
                    Step::Leave => {}
                    Step::GiveUp(n) => if let Some(ticket) = waiting.remove(n) {
                        woken = line.give_up(ticket).copied();
                    },
                    Step::Later(ns) => {
                        now += ns;
                        // The timer of the first.
                        woken = waiting.front().copied();
                    }
                }
                while let Some(ticket) = woken.take() {
                    let is_first = waiting.front() == Some(&ticket);
                    match line.turn(ticket, rates, now, || ticket) {
                        Turn::Granted { next } => {
                            prop_assert!(is_first);
                            woken = next.copied();
                            waiting.pop_front();
                            running += 1;
                            entered.push(now);
                        }
                        Turn::At(time) => prop_assert!(is_first && time > now),
                        Turn::Wait => prop_assert!(!is_first || max_concurrent == Some(running)),
                    }
                }
                prop_assert_eq!(line.counts(), (running, waiting.len()));
                prop_assert!(max_concurrent.is_none_or(|max| running <= max));
                if let Some(qps) = max_qps {
                    let allowed = usize::try_from(qps + (qps / BURSTS_PER_SECOND).max(1)).unwrap();
                    let recent = entered.iter().filter(|at| **at + SECOND_NS > now).count();
                    prop_assert!(recent <= allowed, "{recent} of {allowed}");
                }
                // No session is forgotten.
                if let Some(&first) = waiting.front() && line.has_place(rates) {
                    let time = line.time(rates);
                    prop_assert!(time > now, "{first} could go");
                }
            }
        }
    }
}
