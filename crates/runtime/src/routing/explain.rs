//! The decision about a statement once more, written down. Reads and routes it with the functions
//! of [`Routing::judge`](super::Routing::judge), remembers nothing, and counts nothing.

use cache::Refusal;
use route::limits::JUDGED_BYTES_MAX;
use route::reader::{Reader, plan};
use route::{Candidate, Explanation, Lookup, MustSee, Peek, Query, Ruling, Situation, Tables, Verdict, Ways};
use sql::StatementKind;
use sql::shape::Effects;

use super::routes::Routes;
use super::{Circumstances, Judged, Orders, Screened};
use crate::clock::unix_ms;

/// Decides about `text` and writes down how; nothing if it is no statement. Of one of which this is
/// not all, `is_whole` is false. `candidates` are the servers of a hostgroup and whether each would
/// be taken, `must_see` is what these must have executed, `peek` what the query cache has.
pub fn explain(
    routes: &Routes,
    text: &[u8],
    is_whole: bool,
    at: &Circumstances<'_>,
    candidates: &dyn Fn(u32) -> Vec<Candidate>,
    must_see: &dyn Fn(&Verdict, u32) -> Option<MustSee>,
    peek: &dyn Fn(Judged) -> Peek,
) -> Option<Explanation> {
    let text = text.get(..JUDGED_BYTES_MAX).unwrap_or(text);
    let mut reader = Reader::default();
    let found = reader.find_out(text, is_whole, at.reading, routes.digests.as_ref());
    if found.plan.kind == StatementKind::Empty {
        return None;
    }
    let hints = super::hints(text, found, at);
    let query = Query { now_ms: unix_ms(), ..super::query(text, found, hints.as_ref(), at) };
    let pins: Vec<&str> = pins(found.plan.effects).collect();
    let tables = Tables::of(text);
    let uncached = || {
        let is_read = is_whole && !found.plan.effects.intersects(Effects::UNKNOWN);
        if is_read { tables.refusal } else { Some(Refusal::NotRead) }
    };
    let peek = |lookup: &Lookup<'_>| {
        let orders = Orders {
            verdict: lookup.verdict.clone(),
            text: lookup.text.map(<[u8]>::to_vec),
            digest_text: None,
            cached: lookup.routed.cached,
            is_always: false,
        };
        let screened = Screened {
            flag: lookup.verdict.flag_out,
            clear: found.clear,
            ruling: Ruling::Passes,
            sighting: None,
        };
        peek(Judged {
            digest: found.digest,
            plan: lookup.plan,
            route: lookup.routed.route.clone(),
            screened,
            orders: Some(Box::new(orders)),
        })
    };
    let situation = Situation {
        ways: Ways {
            firewall: routes.firewall.as_deref().map(|firewall| (firewall, found.clear)),
            injections: routes.injections.as_ref(),
            uncached: &uncached,
            ..super::ways(routes, at)
        },
        candidates,
        must_see,
        plan_of: &|text| plan::of(text, is_whole, at.reading),
        peek: &peek,
        pins: &pins,
    };
    Some(route::explain(&query, &situation))
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
