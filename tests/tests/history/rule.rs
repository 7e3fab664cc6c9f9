//! The rule of the mode `own` in small: all orders of the steps of a write and some reads, with the
//! parts of the crate `cache` that the proxy has, and with mutants of the rule.
//!
//! A server has one key, whose version the write advances. The cache has an answer from before. The
//! checker finds nothing wrong in any order if the rule is whole. Of each mutant it finds something
//! in some order: so it can tell.

use std::sync::Arc;

use cache::{Cache, Moment, Scope, Writing};
use e2e::history::{Fate, Read, Span, Write, Wrong, check};

/// The rule, or what is left of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// As the proxy has it.
    Whole,
    /// A write counts when it ends, and not while it is in flight.
    WithoutFlight,
    /// The same, and it counts only when its client has the reply.
    BehindReply,
    /// An answer is as new as the moment at which it is stored.
    NewWhenStored,
    /// A write whose connection is lost has ended.
    EndsWhenLost,
}

/// What takes part in an order: each has its steps, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Actor {
    /// Sends the write; the server commits; the reply comes; it is behind the reply.
    Writer,
    /// Its connection is lost when it has sent the write, which the server commits later.
    Lost,
    /// Misses the cache: takes the moment and sends; the server reads; it stores and has the reply.
    Miss,
    /// Looks into the cache, and reads at the server if it gets nothing there.
    Look,
    /// Reads in other words, which are not in the cache.
    Other,
}

impl Actor {
    const fn steps(self) -> usize {
        match self {
            Self::Writer => 4,
            Self::Lost | Self::Miss => 3,
            Self::Look | Self::Other => 1,
        }
    }
}

/// A run of one order.
struct World {
    rule: Rule,
    cache: Arc<Cache>,
    scope: Scope,
    /// The version at the server.
    version: u64,
    /// The answer in the cache.
    kept: Option<(u64, Moment)>,
    writing: Option<Writing>,
    written: Write,
    misses: Vec<Missed>,
    reads: Vec<Read>,
    now: u64,
}

/// A read on its way.
#[derive(Debug, Clone, Copy, Default)]
struct Missed {
    sent: u64,
    moment: Option<Moment>,
    seen: u64,
}

/// The table, as the cache knows it.
const TABLE: [u64; 1] = [7];

const OLD: Write =
    Write { key: 0, version: 1, removes: false, span: Span { sent: 0, done: 0 }, fate: Fate::Done };

impl World {
    fn new(rule: Rule, actors: &[Actor]) -> Self {
        let cache = Arc::new(Cache::new([1, 2], 1 << 20));
        let mut scope = Scope::new();
        scope.add_writes_to(&TABLE);
        let kept = cache.versions.moment(&scope).map(|moment| (OLD.version, moment));
        let written =
            Write { version: 2, span: Span { sent: 0, done: u64::MAX }, fate: Fate::Unknown, ..OLD };
        let misses = vec![Missed::default(); actors.len()];
        let (writing, reads) = (None, Vec::new());
        Self { rule, cache, scope, version: OLD.version, kept, writing, written, misses, reads, now: 0 }
    }

    /// Whether a write counts while it is in flight.
    fn has_flight(&self) -> bool {
        !matches!(self.rule, Rule::WithoutFlight | Rule::BehindReply)
    }

    fn moment(&self) -> Option<Moment> {
        self.cache.versions.moment(&self.scope)
    }

    fn allows(&self, moment: Moment) -> bool {
        self.cache.versions.allows(&self.scope, moment)
    }

    fn step(&mut self, number: usize, actor: Actor, step: usize) {
        self.now += 1;
        match (actor, step) {
            (Actor::Writer | Actor::Lost, 0) => {
                self.written.span.sent = self.now;
                self.writing =
                    self.has_flight().then(|| Writing::of_rows(&self.cache, Scope::of_write(&TABLE)));
            }
            (Actor::Writer, 1) | (Actor::Lost, 2) => self.version = self.written.version,
            (Actor::Writer, 2) => {
                if self.rule != Rule::BehindReply {
                    self.end_write();
                }
                (self.written.span.done, self.written.fate) = (self.now, Fate::Done);
            }
            (Actor::Writer, _) => self.end_write(),
            (Actor::Lost, _) if self.rule == Rule::EndsWhenLost => self.end_write(),
            (Actor::Lost, _) => self.writing = None,
            (Actor::Miss, 0) => {
                let moment = self.moment();
                self.misses[number] = Missed { sent: self.now, moment, seen: 0 };
            }
            (Actor::Miss, 1) => self.misses[number].seen = self.version,
            (Actor::Miss, _) => {
                let Missed { sent, moment, seen } = self.misses[number];
                let moment = if self.rule == Rule::NewWhenStored { self.moment() } else { moment };
                if let Some(moment) = moment.filter(|moment| self.allows(*moment)) {
                    self.kept = Some((seen, moment));
                }
                self.note(sent, seen);
            }
            (Actor::Look, _) => {
                let seen = self.look();
                self.note(self.now, seen);
            }
            (Actor::Other, _) => self.note(self.now, self.version),
        }
    }

    fn end_write(&mut self) {
        let writing = self.writing.take();
        // Where it has not counted yet, it does now.
        writing.unwrap_or_else(|| Writing::of_rows(&self.cache, Scope::of_write(&TABLE))).end();
    }

    fn look(&self) -> u64 {
        let kept = self.kept.filter(|(_, moment)| self.allows(*moment));
        kept.map_or(self.version, |(seen, _)| seen)
    }

    fn note(&mut self, sent: u64, seen: u64) {
        self.reads.push(Read { key: 0, seen: Some(seen), span: Span { sent, done: self.now } });
    }

    /// What is wrong: reads, or an old answer that is still there when lost writes have ended.
    fn end(mut self) -> Vec<Wrong> {
        for _ in 0..100 {
            self.cache.sweep(0);
        }
        self.now += 1;
        let seen = self.look();
        self.note(self.now, seen);
        if self.written.fate == Fate::Unknown {
            // It is known now: it has come to its end at the server.
            (self.written.fate, self.written.span.done) = (Fate::Done, self.now - 1);
        }
        check(&[OLD, self.written], &self.reads)
    }
}

/// All orders of the steps of actors that have so many.
pub(crate) fn orders(steps: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for _ in 0..steps.iter().sum() {
        let longer = |order: Vec<usize>| {
            let has_more = |&next: &usize| order.iter().filter(|&&one| one == next).count() < steps[next];
            let next: Vec<usize> = (0..steps.len()).filter(has_more).collect();
            next.into_iter().map(move |next| [&order[..], &[next]].concat())
        };
        all = all.into_iter().flat_map(longer).collect();
    }
    all
}

/// All orders of these actors' steps.
fn orders_of(actors: &[Actor]) -> Vec<Vec<usize>> {
    orders(&actors.iter().map(|actor| actor.steps()).collect::<Vec<_>>())
}

/// What is wrong in one order.
fn play(rule: Rule, actors: &[Actor], order: &[usize]) -> Vec<Wrong> {
    let mut world = World::new(rule, actors);
    let mut steps = vec![0; actors.len()];
    for &number in order {
        world.step(number, actors[number], steps[number]);
        steps[number] += 1;
    }
    world.end()
}

const WITH_REPLY: [Actor; 4] = [Actor::Writer, Actor::Miss, Actor::Look, Actor::Other];
const LOST: [Actor; 4] = [Actor::Lost, Actor::Miss, Actor::Look, Actor::Other];

#[test]
fn the_whole_rule_is_right_in_all_orders() {
    for actors in [WITH_REPLY, LOST] {
        let orders = orders_of(&actors);
        assert!(orders.len() > 500, "{}", orders.len());
        for order in orders {
            assert_eq!(play(Rule::Whole, &actors, &order), [], "{actors:?} {order:?}");
        }
    }
}

#[test]
fn each_mutant_of_the_rule_is_caught() {
    for (rule, actors, is_stale) in [
        // Whose reply is there has seen the write's end; but reads go back.
        (Rule::WithoutFlight, &WITH_REPLY, false),
        (Rule::BehindReply, &WITH_REPLY, true),
        (Rule::NewWhenStored, &WITH_REPLY, true),
        (Rule::EndsWhenLost, &LOST, true),
    ] {
        let found: Vec<Wrong> =
            orders_of(actors).iter().flat_map(|order| play(rule, actors, order)).collect();
        let is_expected = |wrong: &Wrong| matches!(wrong, Wrong::Stale { .. }) == is_stale;
        assert!(found.iter().any(is_expected), "{rule:?} is not caught: {found:?}");
    }
}
