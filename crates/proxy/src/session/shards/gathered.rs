//! Warnings of a statement over several shards: gathered before they are forgotten there, and told.

use legs::leg::Leg;
use legs::shards::command::Command;
use legs::shards::warnings::{Question, Warning, Warnings, has_error};
use planner::plan::Counts;
use runtime::worker::Worker;
use scatter::{Over, capabilities_at_shards};
use wire::reply::End;

use crate::session::shards::done::Done;
use crate::session::shards::facts::names_at;
use crate::session::shards::many::Ended;
use crate::session::shards::runners::Runners;

/// The warnings that the branches of a statement have told. Copies have the same: the first one
/// tells them. Of a statement that has failed they are those of the branch with the error.
pub(super) fn warnings_of(
    worker: &Worker,
    runners: &mut Runners,
    ended: &Ended,
    over: Option<&Over>,
) -> Warnings {
    let (numbers, counts) = (&ended.rows, ended.counts);
    let mut told: Vec<_> = Vec::new();
    for runner in &mut runners.all {
        let hostgroup = runner.inner.hostgroup;
        let replies = std::mem::take(&mut runner.told).into_iter();
        told.extend(replies.map(|(number, reply)| (number, hostgroup, reply)));
    }
    told.sort_by_key(|(number, ..)| *number);
    let mut warnings = Warnings::default();
    match over.map(|over| over.outcome.end) {
        Some(End::Ok { warnings: count, .. } | End::Eof { warnings: count, .. }) => {
            warnings.count = count.into();
        }
        Some(End::Err { code }) => told.retain(|(_, _, reply)| has_error(reply, code)),
        _ => told.clear(),
    }
    if counts == Counts::Same || over.is_some_and(Over::is_error) {
        told.truncate(1);
    }
    let mut before = 0;
    for (number, hostgroup, reply) in told {
        let names = names_at(worker, hostgroup);
        let of_branch = numbers.get(number).map_or(&[][..], Vec::as_slice);
        let logical = |text: &[u8]| names.logical_text(text).into_owned();
        before = warnings.add(&reply, of_branch, before, logical);
    }
    if !numbers.is_empty() {
        warnings.all.sort_by_key(Warning::row);
    }
    warnings
}

/// Answers a question about the warnings of the last statement, which has run at several shards.
pub(super) fn tell_warnings(leg: &mut Leg, command: &Command<'_>) -> Done {
    let Some(question) = Question::of(&command.text) else { return Done::Home };
    let caps = leg.state.identity.capabilities;
    let (theirs, status) = (capabilities_at_shards(caps), leg.state.status);
    Done::Told(leg.links.away.role.shards().warnings.answer(&question, 1, status, [theirs, caps]))
}
