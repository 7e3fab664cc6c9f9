//! Texts that were answered from the query cache before: the next hit needs neither digest nor
//! rules.

use std::rc::Rc;
use std::sync::Arc;
use std::task::Context;

use command::Command;
use legs::cache::fresh::freshness;
use legs::leg::Leg;
use legs::phase::Phase;
use runtime::cached::answer::{Known, STATUS};
use runtime::limits::CACHE_KNOWN_AGE_MAX_MS;
use runtime::worker::Worker;
use wire::StatusFlags;
use wire::command::Kind;

use crate::ending::Ending;
use crate::session::cx::Cx;
use crate::session::facts::cache::answer_near;
use crate::session::stage::cache::{begin_hit, end_hit};

impl Cx<'_> {
    /// Answers the texts that `input` begins with from the worker's first level of the cache, in
    /// one write, as far as they are known there.
    pub(crate) fn answer_known(
        &mut self,
        cx: &mut Context<'_>,
        input: &[u8],
    ) -> Result<Option<Phase>, Ending> {
        let mut rest = input;
        self.entry.worker.cached.begin_answers();
        let now_ms = self.entry.worker.uptime_ms();
        while let Some(command) =
            Command::first(rest, self.leg.state.identity.capabilities).filter(Command::is_whole)
            && matches!(rest, [_, _, _, 0, query, ..] if *query == Kind::Query as u8)
            && let Some(known) = self.entry.worker.cached.known(command.payload())
            && now_ms.saturating_sub(known.since_ms) < CACHE_KNOWN_AGE_MAX_MS
            && is_as(&self.entry.worker, self.leg, &known)
            && let Some((rows, bytes)) = answer_near(
                &self.entry.worker,
                &self.leg.state,
                &known.asked,
                freshness(&self.entry.worker, &known.asked, u64::MAX),
            )
        {
            begin_hit(self.entry, self.leg, command, &known.decided, (rows, bytes));
            end_hit(self.entry, rows);
            if let Some(orders) = &known.decided.orders {
                self.entry.worker.routing.borrow().count(&orders.verdict);
            }
            rest = rest.get(command.packet().len()..).unwrap_or_default();
        }
        if rest.len() == input.len() {
            return Ok(None);
        }
        self.io.backlog.extend_from_slice(rest);
        self.send_answers(cx).map(Some)
    }
}

/// Whether what was found out about a text holds for this session now.
fn is_as(worker: &Worker, leg: &Leg, known: &Known) -> bool {
    Rc::ptr_eq(leg.state.shared_settings(), &known.settings)
        && Rc::ptr_eq(&leg.state.account, &known.account)
        && Arc::ptr_eq(&leg.state.caller, &known.caller)
        && (leg.state.identity.capabilities, leg.state.identity.collation)
            == (known.capabilities, known.collation)
        && leg.state.identity.takes_cached()
        && leg.state.was_reset() == known.was_reset
        && *leg.state.client_addr == *known.client_addr
        && leg.state.flag_in == known.flag_in
        && leg.state.status & (STATUS | StatusFlags::IN_TRANSACTION) == known.status
        && leg.links.is_unpinned()
        && !leg.state.has_released_error()
        && leg.state.trace.is_none()
        && leg.links.away.others.is_empty()
        && leg.flight.decided.is_none()
        && leg.flight.paused.is_none()
        && worker.shared.cache.proven.epoch() == known.asked.epoch
}
