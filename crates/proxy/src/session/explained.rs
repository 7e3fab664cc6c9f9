//! What becomes of a statement, and why.

use command::Command;
use legs::entry::BookEntry;
use legs::facts::causal::{explain_writes, fresh_for};
use legs::facts::places::{asked, circumstances};
use legs::links::Links;
use legs::state::SessionState;
use route::{Candidate, Explanation, MustSee, Verdict};
use runtime::fresh::{Wanted, must_see};
use runtime::routing::Circumstances;
use runtime::routing::explain::explain;
use upstream::candidates;

use crate::session::facts::answers::peek;

/// The same where no tables are split over servers.
pub(crate) fn explain_command(
    entry: &BookEntry,
    state: &SessionState,
    links: &Links,
    command: Command<'_>,
    from: usize,
) -> Option<Explanation> {
    let session = links.session(state);
    let at = circumstances(&entry.worker, state, &session, asked(command, 0), false);
    explain_text(entry, state, links, command.text().get(from..)?, true, &at)
}

/// What becomes of `text`, and why; nothing if it is no statement.
pub(crate) fn explain_text(
    entry: &BookEntry,
    state: &SessionState,
    links: &Links,
    text: &[u8],
    is_whole: bool,
    at: &Circumstances<'_>,
) -> Option<Explanation> {
    let shared = &entry.worker.shared;
    let candidates = |hostgroup| {
        let bound = bound_to(links, state, hostgroup).map(|one| vec![one]);
        bound.unwrap_or_else(|| candidates(&shared.upstream.pool, hostgroup, shared.uptime()))
    };
    let routing = entry.worker.routing.borrow();
    let must_see = |verdict: &Verdict, hostgroup| {
        let settings = entry.worker.settings();
        let is_looked_at = !settings.is_writer(hostgroup) && at.session.transaction != Some(hostgroup);
        if !is_looked_at {
            return None;
        }
        let writes = explain_writes(&entry.worker, state, verdict, hostgroup);
        let fresh = fresh_for(&entry.worker, state, verdict);
        if fresh.is_none() && writes.is_none() {
            return None;
        }
        let replicas_from = settings.variables.aurora_max_lag_ms_only_read_from_replicas;
        let wanted = fresh.map(|fresh| Wanted::new(fresh, shared, hostgroup, replicas_from));
        let seen = wanted.map(|wanted| must_see(shared, hostgroup, &wanted)).unwrap_or_default();
        Some(MustSee { writes, ..seen })
    };
    let peek = |judged| peek(entry, state, links, text, judged, at.execute);
    explain(routing.routes(), text, is_whole, at, &candidates, &must_see, &peek)
}

/// The server of the connection in use, if something binds the session to it: no other one is
/// looked at then.
fn bound_to(links: &Links, state: &SessionState, hostgroup: u32) -> Option<Candidate> {
    let backend = links.in_use.as_ref().filter(|_| hostgroup == state.here)?;
    let reason = format!("the session's connection, to which it is bound: {}", links.pin(state)?.name());
    Some(Candidate { server: backend.server().endpoint().to_string(), taken: true, reason })
}
