//! What is written down while a decision is made. The hot path writes nothing; an explanation
//! writes everything.

use crate::firewall::Ruling;
use crate::injection::Sighting;
use crate::route::{Route, Why};
use crate::rule::Rule;
use crate::verdict::{Source, Verdict};

/// Why a rule does not match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Miss {
    /// The chain is in another state.
    FlagIn,
    /// It is for another user.
    Username,
    /// It is for another schema.
    Schemaname,
    /// It is for other clients.
    ClientAddr,
    /// It is for another listener.
    ProxyAddr,
    /// It is for another listener.
    ProxyPort,
    /// It is for another digest.
    Digest,
    /// No digest was computed.
    NoDigest,
    /// `match_digest` does not match.
    MatchDigest,
    /// `match_digest` matches, and must not.
    MatchDigestNegated,
    /// `match_pattern` does not match.
    MatchPattern,
    /// `match_pattern` matches, and must not.
    MatchPatternNegated,
    /// An expression took more steps than it may: whether it matches is not known.
    Exhausted,
}

/// A place where steps are written down.
pub trait Record {
    /// A rule was tried and did not match.
    fn missed(&mut self, rule: &Rule, miss: Miss, flag: u32);
    /// A rule matched; `flag` is the state that it says for those behind it, if it says one, `text`
    /// the rewritten text if it rewrote.
    fn matched(&mut self, rule: &Rule, flag: Option<u32>, text: Option<&[u8]>);
    /// A rule matched, and its replacement was given up.
    fn not_rewritten(&mut self, rule: &Rule);
    /// The chain starts again in this state.
    fn again(&mut self, flag: u32);
    /// Fast routing was asked in this state; nothing is why not.
    fn fast_route(&mut self, asked: bool, found: Option<(Source, u32)>);
    /// Hints had their say; `allowed` says whether they count.
    fn hinted(&mut self, allowed: bool, verdict: &Verdict);
    /// The firewall has ruled; `why` says why.
    fn firewall(&mut self, ruling: Ruling, why: impl FnOnce() -> String);
    /// Injected SQL was looked for.
    fn injection(&mut self, sighting: Option<Sighting>);
    /// The statement has its route; `why` is there if it goes to a server.
    fn routed(&mut self, route: &Route, why: Option<Why>);
}

/// Writes nothing.
pub(crate) struct Nothing;

impl Record for Nothing {
    fn missed(&mut self, _: &Rule, _: Miss, _: u32) {}
    fn matched(&mut self, _: &Rule, _: Option<u32>, _: Option<&[u8]>) {}
    fn not_rewritten(&mut self, _: &Rule) {}
    fn again(&mut self, _: u32) {}
    fn fast_route(&mut self, _: bool, _: Option<(Source, u32)>) {}
    fn hinted(&mut self, _: bool, _: &Verdict) {}
    fn firewall(&mut self, _: Ruling, _: impl FnOnce() -> String) {}
    fn injection(&mut self, _: Option<Sighting>) {}
    fn routed(&mut self, _: &Route, _: Option<Why>) {}
}
