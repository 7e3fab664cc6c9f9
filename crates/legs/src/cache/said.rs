//! What definitions and proofs say about a statement that the query cache is asked for. That is
//! worked out once for a digest, and [remembered](cache::Memo) by the worker.

use cache::{About, Key, Reading as Reads, Refusal};
use config::ProxyProtocol;
use route::{Cached, may_quote_names};
use runtime::cached::asked::Who;
use runtime::cached::{Policy, account_of};
use runtime::decided::Decided;
use runtime::routing::Reading;
use runtime::worker::Worker;
use sql::Modes;
use wire::StatusFlags;

use crate::state::SessionState;

/// Whether a digest tells names. With `ANSI_QUOTES` it does not.
pub fn digest_tells_names(worker: &Worker, state: &SessionState, decided: &Decided) -> bool {
    !decided.is_rewritten
        && !state.status.contains(StatusFlags::ANSI_QUOTES)
        && !worker.shared.cache.is_bypassed()
}

/// What all depends on that is said about a statement, if its digest tells its tables.
pub fn about(
    worker: &Worker,
    state: &SessionState,
    who: &Who,
    text: &[u8],
    decided: &Decided,
    how: &Cached,
) -> Option<About<Policy>> {
    let Reading { no_backslash_escapes, two_byte_quotes } = state.reading();
    if no_backslash_escapes || two_byte_quotes || may_quote_names(text) || is_rewritten(decided) {
        return None;
    }
    let Cached { policy, .. } = how;
    let &Who { account, class, hostgroups } = who;
    Some(About {
        digest: worker.routing.borrow().routes().sound(decided.digest(), decided.screened.clear)?,
        account,
        class,
        hostgroups,
        policy: Policy { mode: policy.mode, scope: policy.scope, source: policy.source },
        tells_names: digest_tells_names(worker, state, decided),
    })
}

impl SessionState {
    /// Whether a `TIME` among what a statement reads may become one of today.
    pub fn takes_today(&self, reading: &Reads, text: &[u8], decided: &Decided) -> bool {
        let rewritten = decided.orders.as_ref().and_then(|orders| orders.text.as_deref());
        let text = rewritten.unwrap_or(text);
        let no_backslash_escapes = self.reading().no_backslash_escapes;
        // Where sessions have `ANSI_QUOTES` is not always told.
        [false, true].into_iter().any(|ansi_quotes| {
            let modes = Modes { ansi_quotes, no_backslash_escapes, ..Modes::default() };
            reading.clock.takes_today(text, modes)
        })
    }
}

/// Whether rules have made another text of a statement.
fn is_rewritten(decided: &Decided) -> bool {
    decided.is_rewritten || decided.orders.as_ref().is_some_and(|orders| orders.text.is_some())
}

/// The account that the session has at servers. `user` is that of its user alone, if it is
/// known.
pub fn cache_account(worker: &Worker, state: &SessionState, user: Option<Key>) -> Key {
    let settings = worker.settings();
    // A server that gets the client's address may know the user as several accounts.
    let is_by_address =
        settings.config().server_options.iter().any(|one| one.proxy_protocol != ProxyProtocol::Off);
    let address = if is_by_address { state.client_addr.as_bytes() } else { &[] };
    user.filter(|_| !is_by_address)
        .unwrap_or_else(|| account_of(&worker.shared.cache, &state.caller, address))
}

/// Fails if an answer from this hostgroup may be older than a write that a client of this proxy
/// knows to have succeeded.
pub fn sees_own_writes(worker: &Worker, hostgroup: u32) -> Result<(), Refusal> {
    let shared = &worker.shared;
    let is_reader = worker.settings().config().pairs().any(|(_, reader)| reader == hostgroup);
    if is_reader || shared.upstream.pool.has_choice(hostgroup, shared.uptime()) {
        return Err(Refusal::Replica);
    }
    if shared.cache.is_bypassed() { Err(Refusal::FastForward) } else { Ok(()) }
}
