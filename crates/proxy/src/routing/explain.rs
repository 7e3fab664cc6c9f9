//! The decision about a statement once more, written down. Takes the same steps as
//! [`Routing::judge`](super::Routing::judge), remembers nothing, and counts nothing.

use route::limits::JUDGED_BYTES_MAX;
use route::{Candidate, Explanation, Hints, MustSee, Query, Situation, Statement, StatementPlan, Verdict};
use sql::shape::Effects;
use sql::{Digest, Modes, Shape, StatementKind, hint};

use super::routes::Routes;
use super::{Circumstances, plan};
use crate::clock::unix_ms;

/// Decides about `text` and writes down how; nothing if it is no statement. Of one of which this is
/// not all, `is_whole` is false. `candidates` are the servers of a hostgroup and whether each would
/// be taken, `must_see` is what these must have executed.
pub(crate) fn explain(
    routes: &Routes,
    text: &[u8],
    is_whole: bool,
    at: &Circumstances<'_>,
    candidates: &dyn Fn(u32) -> Vec<Candidate>,
    must_see: &dyn Fn(&Verdict, u32) -> Option<MustSee>,
) -> Option<Explanation> {
    let text = text.get(..JUDGED_BYTES_MAX).unwrap_or(text);
    let shape = Shape::of(text, Modes::default());
    if shape.kind == StatementKind::Empty {
        return None;
    }
    let mut digest = Digest::default();
    let comment = routes.digests.as_ref().and_then(|options| {
        digest.read(text, options);
        digest.facts().first_comment.map(|comment| comment.of(text))
    });
    let mut hints = comment.map(hint::parse).filter(|hints| *hints != Hints::default());
    let plan = match &routes.digests {
        _ if !is_whole => StatementPlan::unknown(shape.kind),
        Some(_) if at.reading.is_in_doubt(&digest, text) => StatementPlan::unknown(shape.kind),
        None if at.reading.doubts(text, true, true) => StatementPlan::unknown(shape.kind),
        _ => StatementPlan::of(&shape),
    };
    let found = digest.facts();
    let clear = is_whole && found.clear && !at.reading.misreads(text, found.escapes);
    if at.asked.is_some() && routes.digests.is_some() {
        hints.get_or_insert_default().access_mode = at.asked;
    }
    let query = Query {
        statement: Statement {
            text,
            digest: routes.digests.as_ref().map(|_| digest.hash()),
            digest_text: digest.shown(),
            hints: hints.as_ref(),
            plan,
        },
        caller: at.caller,
        client_addr: at.client_addr,
        flag_in: at.flag_in,
        execute: at.execute,
        mirror: None,
        hints: at.hints,
        random: at.random,
        now_ms: unix_ms(),
    };
    let pins: Vec<&str> = pins(shape.effects).collect();
    let situation = Situation {
        account: at.account,
        session: at.session,
        pairs: &routes.pairs,
        split_on: routes.split_on,
        firewall: routes.firewall.as_deref().map(|firewall| (firewall, clear)),
        injections: routes.injections.as_ref(),
        candidates,
        must_see,
        plan_of: &|text| plan::of(text, is_whole, at.reading),
        pins: &pins,
    };
    Some(route::explain(&routes.rules, &query, &situation))
}

/// Effects that stay behind in a server's session, so that only this session can use it.
const PINS: [(Effects, &str); 8] = [
    (Effects::SETS_USER_VARIABLES, "it sets user variables"),
    (Effects::NAMED_LOCKS, "it may hold a lock by name"),
    (Effects::COUNTS_ROWS, "FOUND_ROWS() may be asked for next"),
    (Effects::TEMPORARY_TABLE, "it makes or drops a temporary table"),
    (Effects::TABLE_LOCKS, "it locks tables"),
    (Effects::PREPARED, "it names a prepared statement"),
    (Effects::SETS_LAST_INSERT_ID, "LAST_INSERT_ID() may be asked for next"),
    (Effects::UNKNOWN.union(Effects::FUNCTION), "it may leave anything behind"),
];

/// What of a statement keeps the session from giving its connection back.
fn pins(effects: Effects) -> impl Iterator<Item = &'static str> {
    PINS.iter().filter(move |(effect, _)| effects.intersects(*effect)).map(|(_, reason)| *reason)
}
