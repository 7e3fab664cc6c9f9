//! Where a prepared statement is prepared at shards: for each text of a branch, in each leg that
//! executes it.

use command::renumber;
use legs::leg::Leg;
use legs::shards::command::Command;
use legs::shards::prepared::{Site, prepared};
use legs::shards::role::Inner;
use planner::plan::Branch;
use runtime::worker::Worker;
use upstream::closing;
use wire::command::Kind;
use wire::frame;

use crate::ending::Ending;
use crate::error::ClientError;
use crate::session::shards::done::Halt;
use crate::session::shards::facts::as_prepared;
use crate::session::shards::inner::{ask_packet, take_inner_of};

/// Closes what was prepared for these branches of one execution: later ones have other texts.
pub(super) async fn close_sites(
    leg: &mut Leg,
    command: &Command<'_>,
    branches: &[Branch],
) -> Result<(), Ending> {
    let Some((id, _)) = command.execution else { return Ok(()) };
    let Some(statement) = leg.links.statement_at_shards(id) else { return Ok(()) };
    let is_of_branch = |site: &mut Site| branches.iter().any(|branch| branch.text == site.text);
    let closed: Vec<Site> = statement.sites.extract_if(.., is_of_branch).collect();
    for site in closed {
        close_site(leg, &site).await?;
    }
    Ok(())
}

pub(super) async fn close_site(leg: &mut Leg, site: &Site) -> Result<(), Ending> {
    let Some(mut inner) = take_inner_of(leg, site.inner) else { return Ok(()) };
    ask_packet(&mut inner, closing(site.id)).await?;
    leg.links.put_inner(inner);
    Ok(())
}

/// The packets of a command for an inner session, in which the statement is prepared before if
/// need be.
pub(super) async fn packets_for(
    worker: &Worker,
    leg: &mut Leg,
    inner: &mut Inner,
    command: &Command<'_>,
    branch: &Branch,
) -> Result<Vec<u8>, Halt> {
    let text = branch.text.as_deref();
    let Some((id, _)) = command.execution else { return Ok(command.with_text(text)) };
    let caps = leg.state.identity.capabilities;
    let modes = inner.leg.state.modes();
    let Some(statement) = leg.links.statement_at_shards(id) else { return Ok(Vec::new()) };
    let (stale, known_as) = (statement.take_stale(inner.serial, modes), statement.site(inner.serial, text));
    for site in stale {
        ask_packet(inner, closing(site.id)).await?;
    }
    let known_as = if let Some(known_as) = known_as {
        known_as
    } else {
        let reply = prepare(inner, text.unwrap_or(&command.text)).await?;
        Halt::of_reply(&as_prepared(worker, &leg.state, &reply, inner.hostgroup, 0))?;
        prepared(&reply).unwrap_or_default().0
    };
    let Some(statement) = leg.links.statement_at_shards(id) else { return Ok(Vec::new()) };
    if statement.site(inner.serial, text).is_none() {
        let text = branch.text.clone();
        statement.sites.push(Site { inner: inner.serial, text, id: known_as, modes });
    }
    let Some(packets) = command.executing(known_as, statement, branch, caps) else {
        return Err(ClientError::not_sharded("a value sent in parts", "its row is one of several").into());
    };
    for mut part in statement.parts.clone() {
        renumber(&mut part, known_as);
        ask_packet(inner, frame::command(&part)).await?;
    }
    Ok(packets)
}

/// Has an inner session prepare a statement. The reply, as packets.
pub(super) async fn prepare(inner: &mut Inner, text: &[u8]) -> Result<Vec<u8>, Ending> {
    ask_packet(inner, frame::command(&[&[Kind::StmtPrepare as u8], text].concat())).await
}
