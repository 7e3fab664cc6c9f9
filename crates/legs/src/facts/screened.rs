//! What the firewall and the detector of injected SQL say of statements: executions of what was
//! prepared, what is counted and logged.

use command::Command;
use observe::counts::Counter;
use route::{Asked, Ruling, Sighting};
use runtime::decided::Decided;
use runtime::limits::ERROR_MESSAGE_BYTES_MAX;
use runtime::prepared::Preparing;
use runtime::worker::Worker;
use session::error::ClientError;
use tokio::time::Instant;
use wire::command::Kind;

use crate::digest::digest_text;
use crate::state::SessionState;

/// Whether statements are looked at: by the firewall, unless its mode for the client is `OFF`,
/// or, where there is none, for injected SQL.
pub(crate) fn is_watched(worker: &Worker, state: &SessionState) -> bool {
    let routing = worker.routing.borrow();
    let (user, address) = (state.caller.user(), &state.client_addr);
    let routes = routing.routes();
    routes.firewall.as_ref().map_or(routes.injections.is_some(), |firewall| firewall.watches(user, address))
}

/// What was decided about a command for a prepared statement, unless that is executed and the
/// firewall is against it. It is asked about the statement as it was when it was prepared: that
/// is what a server executes. Of one that is not known it knows nothing.
pub fn screen_execution(
    worker: &Worker,
    state: &SessionState,
    kind: Kind,
    what: Option<&Preparing>,
    mut decided: Decided,
) -> Decided {
    let routing = worker.routing.borrow();
    let Some(firewall) = &routing.routes().firewall else { return decided };
    if !matches!(kind, Kind::StmtExecute | Kind::StmtBulkExecute) {
        return decided;
    }
    let caller = what.map_or(&state.caller, |what| &what.caller);
    let digest = what.filter(|what| what.screened.clear).and_then(|what| what.digest);
    let flag = what.map_or(state.flag_in, |what| what.screened.flag);
    decided.screened.ruling = firewall.rule(caller, &state.client_addr, Asked { digest, flag });
    if decided.screened.ruling == Ruling::Refused && decided.target().is_some() {
        decided.refuse(ClientError::ByRule(firewall.message().into()));
    }
    decided
}

/// Counts what the firewall is against, and logs it now and then.
#[inline]
pub fn note_ruling(worker: &Worker, state: &SessionState, command: Command<'_>, decided: &Decided) {
    if decided.screened.ruling != Ruling::Passes {
        note_unlisted(worker, state, command, decided);
    }
}

#[cold]
fn note_unlisted(worker: &Worker, state: &SessionState, command: Command<'_>, decided: &Decided) {
    let (counter, messages, what) = match decided.screened.ruling {
        Ruling::Refused => (Counter::FirewallRefused, &worker.logged.refused, "has refused"),
        _ => (Counter::FirewallDetected, &worker.logged.detected, "would refuse"),
    };
    worker.counts.note(counter);
    let Some(hidden) = messages.admit(Instant::now()) else { return };
    let statement = shown_in_log(worker, state, command, decided);
    let digest = format_args!("0x{:016X}", decided.digest().unwrap_or(0));
    let caller = &state.caller;
    let (user, schema) = (caller.user().escape_ascii(), caller.schema().escape_ascii());
    let client = &state.client_addr;
    let (flag, clear) = (decided.screened.flag, decided.screened.clear);
    tracing::warn!(
        %digest, statement, %user, %client, %schema, flag, clear, hidden,
        "the firewall {what} a statement"
    );
}

/// The digest's text of a statement, as the log has it: nothing of its values.
pub(crate) fn shown_in_log(
    worker: &Worker,
    state: &SessionState,
    command: Command<'_>,
    decided: &Decided,
) -> String {
    let text = state.text_of(command);
    let shown = decided.digest().map(|digest| digest_text(worker, digest, text, decided)).unwrap_or_default();
    let shown = shown.get(..ERROR_MESSAGE_BYTES_MAX).unwrap_or(&shown);
    // It is made of the client's text, which must not look like lines of the log.
    String::from_utf8_lossy(shown).replace(char::is_control, " ")
}

/// Counts what was found in a statement, and logs it now and then.
#[inline]
pub fn note_sighting(worker: &Worker, state: &SessionState, command: Command<'_>, decided: &Decided) {
    if let Some(sighting) = decided.screened.sighting {
        note_found(worker, state, command, decided, sighting);
    }
}

#[cold]
fn note_found(
    worker: &Worker,
    state: &SessionState,
    command: Command<'_>,
    decided: &Decided,
    sighting: Sighting,
) {
    if let Some(fingerprint) = sighting.fingerprint() {
        let is_listed = matches!(sighting, Sighting::Listed(_));
        worker.counts.fingerprints.note(fingerprint, is_listed, decided.digest().unwrap_or(0));
    }
    let (counter, messages, what) = match sighting {
        Sighting::Listed(_) => return worker.counts.note(Counter::InjectionsListed),
        Sighting::Detected(_) => {
            (Counter::InjectionsFound, &worker.logged.injected, "a statement looks like injected SQL")
        }
        Sighting::Refused(_) => (
            Counter::InjectionsFound,
            &worker.logged.injected,
            "a connection is closed: its statement looks like injected SQL",
        ),
        Sighting::Failed => (
            Counter::InjectionsUnknown,
            &worker.logged.unjudged,
            "the detector of injected SQL has failed with a statement, which passes",
        ),
    };
    worker.counts.note(counter);
    let Some(hidden) = messages.admit(Instant::now()) else { return };
    let fingerprint = sighting.fingerprint().map_or_else(String::new, |fingerprint| fingerprint.to_string());
    let statement = shown_in_log(worker, state, command, decided);
    let digest = format_args!("0x{:016X}", decided.digest().unwrap_or(0));
    let caller = &state.caller;
    let (user, schema) = (caller.user().escape_ascii(), caller.schema().escape_ascii());
    let client = &state.client_addr;
    tracing::warn!(fingerprint, %digest, statement, %user, %client, %schema, hidden, "{what}");
}
