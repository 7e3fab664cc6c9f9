//! The rule of the modes `bounded` and `strict` in small: a server logs a write, makes it visible
//! and acknowledges it, beside a stream, questions and reads, in all orders of their steps.
//!
//! The parts of the crate `cache` are those of the proxy. The checker finds nothing wrong in any
//! order if the rule is whole, and something in some order of each mutant.

use std::sync::Arc;

use cache::{Cache, Change, Following, Moment, Position, Scope, Source};
use e2e::history::{Fate, Read, Span, Write, Wrong, check};

use crate::rule::orders;

/// The rule, or a mutant of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// As the proxy has it.
    Whole,
    /// A transaction counts as visible when its event is read: no settled check.
    SettledByEvent,
    /// A transaction counts as visible when the log has it: the question runs ahead.
    SettledByLog,
    /// The cache counts as exact behind what is known visible: the question trails.
    ProvenByVisible,
    /// The cache counts as exact as of the answer to the question, not as of the question.
    ProvenAsOfAnswer,
    /// The cache counts as exact before the log is read.
    ProvenUnread,
    /// After an interruption the log is read from its end, not from what is visible.
    BeginsAtEnd,
}

/// What takes part in an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Actor {
    /// The write at the server: logged; visible; known visible; acknowledged.
    Writer,
    /// The stream reads what is logged.
    Stream,
    /// The server is asked what is visible, and has answered.
    Settle,
    /// The server is asked where its log ends, and has answered.
    Prove,
    /// The stream breaks; the server is asked where to begin; the stream begins.
    Cut,
    /// A read that misses: takes the moment; the server reads; the answer is stored.
    Miss,
    /// A strict read: arrives; has the cached answer if that is proven, else the server's.
    Look,
    /// A read that is not cached.
    Other,
}

impl Actor {
    const fn steps(self) -> usize {
        match self {
            Self::Writer => 4,
            Self::Cut | Self::Miss => 3,
            Self::Settle | Self::Prove | Self::Look => 2,
            Self::Stream | Self::Other => 1,
        }
    }
}

/// Hash of the one table.
const TABLE: u64 = 7;
/// The log without and with the write.
const BEFORE: Position = Position { file: 1, offset: 4 };
const BEHIND: Position = Position { file: 1, offset: 90 };

const OLD: Write =
    Write { key: 0, version: 1, removes: false, span: Span { sent: 0, done: 0 }, fate: Fate::Done };

/// What the server has.
#[derive(Debug, Clone, Copy)]
struct Server {
    /// Where the log ends.
    end: Position,
    /// The version that reads see.
    version: u64,
    /// Up to where the log is known to be visible.
    visible: Position,
}

/// What an actor has noted in its first steps.
#[derive(Debug, Clone, Copy)]
struct Noted {
    at: u64,
    place: Position,
    moment: Option<Moment>,
    seen: u64,
}

/// A run of one order.
struct World {
    rule: Rule,
    cache: Arc<Cache>,
    source: Arc<Source>,
    following: Option<Following<Position>>,
    /// What the stream has read of the log.
    read: Position,
    scope: Scope,
    server: Server,
    /// The answer in the cache.
    kept: Option<(u64, Moment)>,
    written: Write,
    noted: Vec<Noted>,
    reads: Vec<Read>,
    now: u64,
}

impl World {
    fn new(rule: Rule, cache: &Arc<Cache>, actors: &[Actor]) -> Self {
        let source = Arc::new(Source::new("db:3306"));
        let following = Following::begin(cache, &source, BEFORE);
        let mut scope = Scope::new();
        scope.add_writes_to(&[TABLE]);
        let kept = cache.versions.moment(&scope).map(|moment| (OLD.version, moment));
        let noted = Noted { at: 0, place: BEFORE, moment: None, seen: 0 };
        Self {
            rule,
            cache: Arc::clone(cache),
            source,
            following: Some(following),
            read: BEFORE,
            scope,
            server: Server { end: BEFORE, version: OLD.version, visible: BEFORE },
            kept,
            written: Write { version: 2, ..OLD },
            noted: vec![noted; actors.len()],
            reads: Vec::new(),
            now: 0,
        }
    }

    fn step(&mut self, number: usize, actor: Actor, step: usize) {
        self.now += 1;
        match (actor, step) {
            (Actor::Writer, 0) => (self.written.span.sent, self.server.end) = (self.now, BEHIND),
            (Actor::Writer, 1) => self.server.version = self.written.version,
            (Actor::Writer, 2) => self.server.visible = BEHIND,
            (Actor::Writer, _) => self.written.span.done = self.now,
            (Actor::Stream, _) => self.read_log(),
            (Actor::Settle | Actor::Prove | Actor::Look, 0) | (Actor::Cut, 1) => self.ask(number, actor),
            (Actor::Settle, _) => self.settle(self.noted[number].place),
            (Actor::Prove, _) => self.prove(self.noted[number]),
            (Actor::Cut, 0) => self.following = None,
            (Actor::Cut, _) => {
                self.read = self.noted[number].place;
                self.following = Some(Following::begin(&self.cache, &self.source, self.read));
            }
            (Actor::Miss, 0) => self.noted[number].moment = self.cache.versions.moment(&self.scope),
            (Actor::Miss, 1) => self.noted[number].seen = self.server.version,
            (Actor::Miss, _) => {
                let Noted { moment, seen, .. } = self.noted[number];
                if let Some(moment) = moment.filter(|moment| self.allows(*moment)) {
                    self.kept = Some((seen, moment));
                }
            }
            (Actor::Look, _) => self.look(self.noted[number].at),
            (Actor::Other, _) => self.note(self.now, self.server.version),
        }
    }

    /// The server is asked something; what it answers is noted.
    fn ask(&mut self, number: usize, actor: Actor) {
        let trails = match actor {
            Actor::Settle => self.rule != Rule::SettledByLog,
            Actor::Cut => self.rule != Rule::BeginsAtEnd,
            _ => self.rule == Rule::ProvenByVisible,
        };
        let place = if trails { self.server.visible } else { self.server.end };
        let noted = &mut self.noted[number];
        (noted.at, noted.place) = (self.now, place);
    }

    fn read_log(&mut self) {
        let Some(following) = self.following.as_mut().filter(|_| self.read < self.server.end) else { return };
        let change = Change { tables: Some(vec![TABLE]), ..Change::default() };
        following.change(BEHIND, &change).unwrap();
        following.advance(BEHIND);
        self.read = BEHIND;
        if self.rule == Rule::SettledByEvent {
            following.settle(|_| true);
        }
    }

    fn settle(&mut self, visible: Position) {
        if let Some(following) = &mut self.following {
            following.settle(|mark| *mark <= visible);
        }
    }

    fn prove(&mut self, Noted { at, place, .. }: Noted) {
        let Some(following) = &mut self.following else { return };
        match self.rule {
            Rule::ProvenAsOfAnswer => following.prove(self.now, place),
            Rule::ProvenUnread => following.prove(at, BEFORE),
            _ => following.prove(at, place),
        }
    }

    fn allows(&self, moment: Moment) -> bool {
        self.cache.versions.allows(&self.scope, moment)
    }

    /// A read that has arrived at `since`.
    fn look(&mut self, since: u64) {
        let is_proven = self.source.is_proven(since);
        let kept = self.kept.filter(|(_, moment)| is_proven && self.allows(*moment));
        self.note(since, kept.map_or(self.server.version, |(seen, _)| seen));
    }

    fn note(&mut self, sent: u64, seen: u64) {
        self.reads.push(Read { key: 0, seen: Some(seen), span: Span { sent, done: self.now } });
    }

    /// Everything is read, settled and proven. Returns what is wrong: reads, or an old answer that
    /// stays.
    fn end(mut self) -> Vec<Wrong> {
        let since = self.now + 1;
        // The question is behind the arrival of the read.
        self.now += 2;
        self.read_log();
        self.settle(BEHIND);
        let (at, place) = (self.now, self.server.end);
        self.prove(Noted { at, place, moment: None, seen: 0 });
        assert!(self.source.is_proven(since), "all is known");
        self.look(since);
        check(&[OLD, self.written], &self.reads)
    }
}

/// Reads that store an answer, with a stream that goes on.
const STORES: [Actor; 4] = [Actor::Writer, Actor::Stream, Actor::Settle, Actor::Miss];
/// The same with a stream that breaks.
const BREAKS: [Actor; 4] = [Actor::Writer, Actor::Stream, Actor::Cut, Actor::Miss];
/// Reads of the answer that is there.
const SERVES: [Actor; 5] = [Actor::Writer, Actor::Stream, Actor::Prove, Actor::Look, Actor::Other];

/// What is wrong in all orders of these actors' steps, and how many orders there are.
fn play(rule: Rule, actors: &[Actor]) -> (usize, Vec<Wrong>) {
    // It is the same for all of them: what an order leaves behind is older than the next one.
    let cache = Arc::new(Cache::new([1, 2], 1 << 20));
    let steps: Vec<usize> = actors.iter().map(|actor| actor.steps()).collect();
    let orders = orders(&steps);
    let wrong = orders.iter().flat_map(|order| {
        let mut world = World::new(rule, &cache, actors);
        let mut steps = vec![0; actors.len()];
        for &number in order {
            world.step(number, actors[number], steps[number]);
            steps[number] += 1;
        }
        world.end()
    });
    let wrong = wrong.collect();
    (orders.len(), wrong)
}

#[test]
fn c20_the_rule_with_a_followed_log_is_right_in_all_orders() {
    for actors in [&STORES[..], &BREAKS, &SERVES] {
        let (orders, wrong) = play(Rule::Whole, actors);
        assert!(orders > 2000, "{orders}");
        assert_eq!(wrong, [], "{actors:?}");
    }
}

#[test]
fn each_mutant_of_the_rule_with_a_followed_log_is_caught() {
    for (rule, actors, is_stale) in [
        (Rule::SettledByEvent, &STORES[..], true),
        (Rule::SettledByLog, &STORES, true),
        (Rule::BeginsAtEnd, &BREAKS, true),
        // Reads go back before the write is acknowledged.
        (Rule::ProvenByVisible, &SERVES, false),
        (Rule::ProvenAsOfAnswer, &SERVES, true),
        (Rule::ProvenUnread, &SERVES, true),
    ] {
        let (_, wrong) = play(rule, actors);
        let is_expected = |wrong: &Wrong| matches!(wrong, Wrong::Stale { .. }) == is_stale;
        assert!(wrong.iter().any(is_expected), "{rule:?} is not caught: {wrong:?}");
    }
}
