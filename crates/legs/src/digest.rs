//! Counting statements by their digests: where the one that is being sent is counted.

use std::sync::Arc;

use observe::digests::{Digests, Names, Who};
use runtime::decided::Decided;
use runtime::worker::Worker;

use crate::state::SessionState;

/// Finds out whose statements are counted, unless that is known.
pub(crate) fn know_who(worker: &Worker, state: &mut SessionState) {
    let digests = &worker.counts.digests;
    let by_client = digests.by_client.get();
    if state.who.as_ref().is_none_or(|who| who.is_by_client() != by_client) {
        state.who = Some(state.find_who(digests, by_client));
    }
}

impl SessionState {
    #[cold]
    fn find_who(&self, digests: &Digests, by_client: bool) -> Arc<Who> {
        let client = match &*self.client_addr {
            _ if !by_client => "",
            // As ProxySQL calls clients of a Unix socket.
            "" => "localhost",
            address => address,
        };
        let caller = &self.caller;
        let names = [caller.user(), caller.schema(), client.as_bytes()];
        let [user, schema, client] = names.map(Arc::from);
        digests.who(Names { user, schema, client })
    }
}

/// The digest's text of a statement that was decided about, as tables show it.
pub(crate) fn digest_text(worker: &Worker, digest: u64, text: &[u8], decided: &Decided) -> Arc<[u8]> {
    let orders = decided.orders.as_ref();
    // What a rule has rewritten is counted as what the client sent.
    if let Some(original) = orders.and_then(|orders| orders.digest_text.clone()) {
        return original;
    }
    worker.routing.borrow_mut().shown_of(digest, text).into()
}
