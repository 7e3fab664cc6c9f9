//! `EXPLAIN ROUTE` of statements over sharded tables.

use legs::entry::BookEntry;
use legs::facts::places::circumstances;
use legs::leg::Leg;
use legs::shards::command::Command;
use planner::plan::Plan;
use route::Explanation;
use runtime::explain::shards::Planned;

use crate::ending::Ending;
use crate::session::explained::{explain_command, explain_text};
use crate::session::shards::definitions::learn_definitions;
use crate::session::shards::inner::take_inner;
use crate::session::shards::plan::{Reading, with_request};
use crate::session::shards::reading::read_settings;

/// Writes down where the statement of a command goes that begins `from` bytes behind the
/// beginning of its text; nothing if it is no statement.
pub(crate) async fn explain_shards(
    entry: &BookEntry,
    leg: &mut Leg,
    sent: ::command::Command<'_>,
    from: usize,
) -> Result<Option<Explanation>, Ending> {
    let payload = sent.payload().to_vec();
    let text = sent.text().get(from..).unwrap_or_default().to_vec();
    let what = entry.worker.routing.borrow_mut().look(&text, leg.state.reading());
    let command = Command::query(payload, text, what);
    let Some(planned) = explained(entry, leg, &command).await? else {
        return Ok(explain_command(entry, leg, sent, from));
    };
    let mut explanation = match &planned.plan {
        Plan::One(branch) => {
            let inner = take_inner(entry, leg, branch.hostgroup);
            let text = branch.text.as_deref().unwrap_or(&command.text);
            let session = inner.leg.session();
            let at = circumstances(&inner.entry.worker, &inner.leg.state, &session, None, false);
            let explanation = explain_text(&inner.entry, &inner.leg, text, true, &at);
            leg.links.put_inner(inner);
            explanation
        }
        _ => explain_command(entry, leg, sent, from),
    };
    if let Some(explanation) = &mut explanation {
        planned.explain(explanation);
    }
    Ok(explanation)
}

/// The plan of a command; nothing if there are no sharded tables.
async fn explained(
    entry: &BookEntry,
    leg: &mut Leg,
    command: &Command<'_>,
) -> Result<Option<Planned>, Ending> {
    let settings = entry.worker.settings();
    let Some(layout) = settings.shards.as_ref() else { return Ok(None) };
    let read = read_settings(&entry.worker, &leg.state, &command.text, layout).await;
    let Ok(Some(read)) = read else { return Ok(None) };
    let mut tree = entry.worker.shards.tree.take();
    let explained = if tree.read(&command.text, &read).is_ok() {
        let reading = Reading { command, tree: &tree, read, layout };
        learn_definitions(entry, leg, reading).await?;
        with_request(entry, &leg.state, reading, &[], Planned::of)
    } else {
        None
    };
    entry.worker.shards.tree.replace(tree);
    Ok(explained)
}
