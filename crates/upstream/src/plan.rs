//! Commands that turn a connection on which one session has left its state into the state that
//! another session needs.

use session::state::gtids::{TRACK_GTIDS, said_to};
use session::state::{OPTION, Setting};
use tokio::time::Instant;
use wire::Capabilities;
use wire::command::Kind;
use wire::reply::Answer;

use crate::idle_state::{Asker, Left};
use crate::last_id::last_id;
use crate::login_state::{self, Behind, LoginState};
use crate::pool_key::query;
use crate::purpose::Purpose;
use crate::{Connection, InternalQuery};

/// How a connection becomes one of another session.
#[derive(Debug)]
pub(crate) enum Way {
    /// All that is set there the session has set as well: these are missing.
    Missing(Vec<Setting>),
    /// It is made anew, and all that the session has set is missing.
    Anew(Behind),
}

impl Way {
    /// How `link`, on which this is left, becomes one of `asker`.
    pub(crate) fn of(link: &Connection, left: &Left, asker: &Asker<'_>, now: Instant) -> Self {
        if !asker.is_admitted {
            return Self::Anew(Behind::Login);
        }
        // What a reset leaves of being in a schema only a reset behind that makes.
        let is_comparable =
            asker.was_reset == left.was_reset && (asker.is_in_schema(left) || !was_schema_reset(asker));
        if let Some(missing) = is_comparable.then(|| asker.settings.missing(&left.settings)).flatten() {
            return Self::Missing(missing);
        }
        let knows_account = || link.login_state().is_some_and(|state| state.knows_account(now));
        let logs_in = link.is_mariadb() && !asker.was_reset && !knows_account();
        Self::Anew(if logs_in { Behind::Login } else { Behind::Reset })
    }

    /// The schema in which a login leaves the connection: at the first one that of the client's
    /// login, so that a refusal is one of the login.
    pub(crate) fn schema_of_login<'a>(asker: &Asker<'a>) -> &'a [u8] {
        if asker.is_admitted {
            asker.caller.schema()
        } else {
            asker.identity.account.schema.as_deref().unwrap_or_default()
        }
    }
}

/// Whether the session was reset since it is in its schema.
fn was_schema_reset(asker: &Asker<'_>) -> bool {
    asker.settings.was_schema_reset() && !asker.caller.schema().is_empty()
}

/// Setup commands that turn a connection in state `left` into the state that `asker` needs;
/// `initial` is what connections begin with. A login comes before them.
pub(crate) fn plan(
    way: Way,
    link: &Connection,
    left: &Left,
    asker: &Asker<'_>,
    initial: &[Box<[u8]>],
) -> Vec<(Purpose, InternalQuery)> {
    let capabilities = asker.pool_key.capabilities();
    let ask = |purpose, text: &[u8]| (purpose, (query(capabilities, text), Answer::Result));
    let (behind, missing) = match way {
        Way::Missing(missing) => (None, missing),
        Way::Anew(behind) => (Some(behind), asker.settings.besides_schema().cloned().collect()),
    };
    let logs_in = behind == Some(Behind::Login);
    let schema = asker.caller.schema();
    let stays = left.caller.schema() == schema;
    let was_schema_reset = !logs_in && was_schema_reset(asker);
    let mut plan = if logs_in { Vec::new() } else { front(link, left, capabilities, behind) };
    let to_schema = |purpose| (purpose, ([&[Kind::InitDb as u8][..], schema].concat(), Answer::Single));
    if behind == Some(Behind::Reset) {
        if was_schema_reset && !stays {
            plan.push(to_schema(Purpose::Schema));
        }
        plan.push((Purpose::Reset, (vec![Kind::ResetConnection as u8], Answer::Single)));
    }
    if let Some(behind) = behind {
        plan.extend(renewed(link, left, asker, behind).map(|(purpose, text)| ask(purpose, text.as_bytes())));
        if !asker.was_reset || logs_in {
            plan.extend(initial.iter().map(|text| ask(Purpose::Initial, text)));
        }
    }
    // Neither a reset nor a login takes it back.
    if behind.is_some() && left.settings.option().is_some() && asker.settings.option().is_none() {
        let is_off = u8::from(!capabilities.contains(Capabilities::MULTI_STATEMENTS));
        plan.push((Purpose::Option, (vec![Kind::SetOption as u8, is_off, 0], Answer::Single)));
    }
    let is_there = if logs_in { Way::schema_of_login(asker) == schema } else { asker.is_in_schema(left) };
    if (behind == Some(Behind::Reset) || !is_there) && !was_schema_reset && !schema.is_empty() {
        // If it is only to have the schema's character set back, a write cannot get into another
        // schema.
        plan.push(to_schema(if stays && !logs_in { Purpose::Charset } else { Purpose::Schema }));
    }
    plan.extend(missing.into_iter().map(|Setting { key, text }| match &*key {
        OPTION => (Purpose::Setting, (text.to_vec(), Answer::Single)),
        TRACK_GTIDS => ask(Purpose::Tracking, said_to(&text, link.is_mariadb())),
        _ => ask(Purpose::Setting, &text),
    }));
    plan
}

/// What comes before a reset, or in its place.
fn front(
    link: &Connection,
    left: &Left,
    capabilities: Capabilities,
    behind: Option<Behind>,
) -> Vec<(Purpose, InternalQuery)> {
    let mut front = questions(link, left, capabilities);
    if behind.is_none() {
        front.retain(|(purpose, _)| *purpose == Purpose::LastId);
    }
    front
}

/// What is to be asked before a reset or a login.
pub(crate) fn questions(
    link: &Connection,
    left: &Left,
    capabilities: Capabilities,
) -> Vec<(Purpose, InternalQuery)> {
    let packets = || {
        let text = query(capabilities, login_state::PACKET_QUESTION);
        (Purpose::Packets, (text, Answer::Result))
    };
    let knows_packets = link.login_state().is_some_and(LoginState::knows_packets);
    last_id(left, capabilities).into_iter().chain((!knows_packets).then(packets)).collect()
}

/// What makes a connection that was reset, or logged in anew, like a new one.
fn renewed(
    link: &Connection,
    left: &Left,
    asker: &Asker<'_>,
    behind: Behind,
) -> impl Iterator<Item = (Purpose, String)> {
    let question = login_state::question(link.dialect()).to_owned();
    let announced = (asker.pool_key.capabilities(), asker.pool_key.collation());
    let correction = || login_state::correction(link.dialect(), announced, link.login_state(), behind);
    let has_timeouts = left.settings.leave_timeouts();
    let timeouts = || login_state::TIMEOUTS.to_owned();
    std::iter::once((Purpose::Question, question))
        .chain((!asker.was_reset).then(correction).flatten().map(|text| (Purpose::Charset, text)))
        .chain(has_timeouts.then(timeouts).map(|text| (Purpose::Charset, text)))
}
