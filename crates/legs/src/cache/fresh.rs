//! Whether what the query cache holds is new enough for a query, by the binary log of its server.

use std::sync::Arc;

use cache::{Refusal, Source};
use config::CacheMode;
use pool::Server;
use route::CachePolicy;
use runtime::cached::asked::Asked;
use runtime::worker::Worker;
use upstream::Target;

/// How far the changes are known that others have made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fresh {
    /// As far as the answer's mode wants it, and [exactly](session::tier::Age::exact_us) as of
    /// then.
    Enough(Option<u64>),
    /// Not far enough, and the query does not wait for that.
    Behind,
    /// Not up to the query's arrival, for which it may wait.
    Awaited,
}

impl Fresh {
    /// So many microseconds ago at most the answer is exact, if that is known.
    pub const fn exact_us(self) -> Option<u64> {
        if let Self::Enough(exact_us) = self { exact_us } else { None }
    }
}

/// When a query has come that arrives now; 0 where its answer's age does not depend on that.
pub fn arrival_us(worker: &Worker, asked: &Asked) -> u64 {
    if asked.source.is_some() { uptime_us(worker) } else { 0 }
}

/// Whether a hostgroup has the server of a source, and no other one. The source learns of
/// another server later than sessions do, whose writes go there.
fn is_of(worker: &Worker, source: &Arc<Source>, hostgroup: u32) -> bool {
    let shared = &worker.shared;
    let is_it = |server: &Server<Target>| server.endpoint().endpoint.is_displayed_as(source.name());
    shared.cache.sources.is(hostgroup, source) && shared.upstream.pool.only(hostgroup, is_it) == Some(true)
}

/// Whether an answer may be given to a query that has come at `since_us`. To be asked before
/// the answer is looked for: a change that becomes known in between makes the answer too old.
pub fn freshness(worker: &Worker, asked: &Asked, since_us: u64) -> Fresh {
    let Some(source) = &asked.source else { return Fresh::Enough(None) };
    if !is_of(worker, source, asked.hostgroup) {
        return Fresh::Behind;
    }
    let policy = &asked.how.policy;
    let exact_us = match policy.mode {
        CacheMode::Strict => source.is_proven(since_us).then_some(0),
        // Both times are cut to whole microseconds.
        _ => source
            .exact_within(uptime_us(worker), u64::from(policy.staleness_ms) * 1000)
            .map(|before_us| before_us + 1),
    };
    match policy.mode {
        _ if exact_us.is_some() => Fresh::Enough(exact_us),
        CacheMode::Strict if source.is_followed() => Fresh::Awaited,
        _ => Fresh::Behind,
    }
}

/// The server whose binary log tells of writes to the tables of a query at this hostgroup,
/// where its mode wants that.
pub fn source_of(
    worker: &Worker,
    policy: &CachePolicy,
    hostgroup: u32,
) -> Result<Option<Arc<Source>>, Refusal> {
    if !policy.mode.sees_all_writes() {
        return Ok(None);
    }
    let source = worker.shared.cache.sources.of(hostgroup);
    source.map(Some).ok_or(Refusal::NotFollowed)
}

/// Microseconds since the start.
pub fn uptime_us(worker: &Worker) -> u64 {
    worker.shared.upstream.uptime_us()
}
