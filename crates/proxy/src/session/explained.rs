//! What becomes of a statement, and why.

use command::Command;
use legs::entry::BookEntry;
use legs::facts::causal::{explain_writes, fresh_for};
use legs::facts::places::{asked, circumstances};
use legs::leg::Leg;
use route::{Candidate, Explanation, MustSee, Verdict};
use runtime::routing::Circumstances;
use runtime::routing::explain::explain;
use upstream::candidates;

use crate::session::facts::answers::peek;

/// The same where no tables are split over servers.
pub(crate) fn explain_command(
    entry: &BookEntry,
    leg: &Leg,
    command: Command<'_>,
    from: usize,
) -> Option<Explanation> {
    let session = leg.session();
    let at = circumstances(&entry.worker, &leg.state, &session, asked(command, 0), false);
    explain_text(entry, leg, command.text().get(from..)?, true, &at)
}

/// What becomes of `text`, and why; nothing if it is no statement.
pub(crate) fn explain_text(
    entry: &BookEntry,
    leg: &Leg,
    text: &[u8],
    is_whole: bool,
    at: &Circumstances<'_>,
) -> Option<Explanation> {
    let shared = &entry.worker.shared;
    let candidates = |hostgroup| {
        let bound = bound_to(leg, hostgroup).map(|one| vec![one]);
        bound.unwrap_or_else(|| candidates(&shared.upstream.pool, hostgroup, shared.uptime()))
    };
    let routing = entry.worker.routing.borrow();
    let must_see = |verdict: &Verdict, hostgroup| {
        let settings = entry.worker.settings();
        let is_looked_at = !settings.is_writer(hostgroup) && at.session.transaction != Some(hostgroup);
        if !is_looked_at {
            return None;
        }
        let writes = explain_writes(&entry.worker, &leg.state, verdict, hostgroup);
        let fresh = fresh_for(&entry.worker, &leg.state, verdict);
        if fresh.is_none() && writes.is_none() {
            return None;
        }
        let replicas_from = settings.variables.aurora_max_lag_ms_only_read_from_replicas;
        let seen = fresh.map(|fresh| fresh.explain(shared, hostgroup, replicas_from)).unwrap_or_default();
        Some(MustSee { writes, ..seen })
    };
    let peek = |judged| peek(entry, leg, text, judged, at.execute);
    explain(routing.routes(), text, is_whole, at, &candidates, &must_see, &peek)
}

/// The server of the connection in use, if something binds the session to it: no other one is
/// looked at then.
fn bound_to(leg: &Leg, hostgroup: u32) -> Option<Candidate> {
    let backend = leg.links.in_use.as_ref().filter(|_| hostgroup == leg.state.here)?;
    let reason =
        format!("the session's connection, to which it is bound: {}", leg.links.pin(&leg.state)?.name());
    Some(Candidate { server: backend.server().endpoint().to_string(), taken: true, reason })
}
