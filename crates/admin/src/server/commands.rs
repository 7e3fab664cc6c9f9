//! A client from its first to its last byte: its commands, one after the other.

use wire::Codec as _;
use wire::command::{Kind, Query, SetOption};
use wire::frame::put_message;

use super::connection::{Connection, ReceiveError};
use super::login::{LoggedIn, change_user, login, session_type};
use super::rows::{Packets, STATUS};
use super::shared::Shared;
use super::trail::Trail;
use crate::answer::{AdminError, Answer};
use crate::limits::IDLE_TIME_MAX;

/// Serves one client.
pub(super) async fn serve(shared: &Shared, connection: Connection) {
    let trail = Trail::new(shared, shared.next_id(), connection.peer);
    let Some(mut client) = login(shared, connection, trail).await else { return };
    loop {
        let received = tokio::select! {
            received = client.connection.receive_command(IDLE_TIME_MAX) => received,
            () = shared.clients.ended() => return client.connection.part().await,
        };
        match received {
            Ok(payload) => {
                if answer(shared, &mut client, &payload).await.is_none() {
                    return client.connection.part().await;
                }
            }
            Err(ReceiveError::Gone) => return,
            Err(ReceiveError::Late) => return client.connection.part().await,
            Err(ReceiveError::Malformed(error)) => {
                let max = client.connection.statement_max;
                return client.connection.send_off(&refusal(error, max)).await;
            }
        }
    }
}

/// Answers one command; nothing if the connection ends with it.
async fn answer(shared: &Shared, client: &mut LoggedIn, payload: &[u8]) -> Option<()> {
    let Ok(kind) = Kind::try_from(*payload.first()?) else { return say(client, unknown_command()).await };
    match kind {
        Kind::Query => query(shared, client, payload).await,
        Kind::Ping | Kind::InitDb => client.connection.send_ok("").await.ok(),
        Kind::Statistics => reply(&mut client.connection, statistics(shared).as_bytes()).await,
        Kind::SetOption => {
            SetOption::decode(payload, client.connection.capabilities).ok()?;
            let packet = wire::packet::end(STATUS, client.connection.capabilities);
            reply(&mut client.connection, &packet).await
        }
        Kind::FieldList | Kind::StmtPrepare | Kind::StmtExecute => say(client, not_supported(1045)).await,
        Kind::ProcessKill => say(client, not_supported(9003)).await,
        Kind::ResetConnection => {
            let session = session_type(client.who.rights);
            let message = format!("Received unsupported 'COM_RESET_CONNECTION' for session type '{session}'");
            say(client, AdminError { code: 1047, state: *b"28000", message }).await
        }
        Kind::ChangeUser => change_user(shared, client, payload).await,
        Kind::Quit => {
            client.trail.note_quit();
            None
        }
        // The protocol has no answer to these: one would be taken for the answer to the next
        // command.
        Kind::StmtClose | Kind::SendLongData => Some(()),
        // `mysqladmin refresh` and `debug`, which ProxySQL leaves without an answer.
        _ => say(client, unknown_command()).await,
    }
}

async fn query(shared: &Shared, client: &mut LoggedIn, payload: &[u8]) -> Option<()> {
    let query = Query::decode(payload, client.connection.capabilities).ok()?;
    let Ok(text) = std::str::from_utf8(query.text) else {
        return say(client, AdminError::new("the statement is not valid UTF-8")).await;
    };
    let mut asked = shared.engine.ask(&client.who, text.to_owned());
    let answer = tokio::select! {
        answer = asked.answer() => answer,
        () = client.connection.gone() => {
            // It waits for no rows any more; what changes something is finished all the same.
            asked.give_up();
            return None;
        }
    };
    if answer == Answer::Close {
        return None;
    }
    let connection = &mut client.connection;
    for piece in Packets::new(answer, connection.next_seq(), connection.capabilities) {
        connection.send(&piece).await.ok()?;
    }
    Some(())
}

async fn say(client: &mut LoggedIn, error: AdminError) -> Option<()> {
    let connection = &mut client.connection;
    for piece in Packets::new(error.into(), connection.next_seq(), connection.capabilities) {
        connection.send(&piece).await.ok()?;
    }
    Some(())
}

/// Sends a payload of one packet.
async fn reply(connection: &mut Connection, payload: &[u8]) -> Option<()> {
    let mut out = Vec::new();
    put_message(&mut out, connection.next_seq(), payload);
    connection.send(&out).await.ok()
}

fn statistics(shared: &Shared) -> String {
    let uptime = shared.started.elapsed().as_secs();
    let asked = shared.engine.asked();
    format!("Uptime: {uptime} Threads: {}  Questions: {asked}  Slow queries: 0", shared.clients.number())
}

fn not_supported(code: u16) -> AdminError {
    AdminError { code, state: *b"28000", message: "Command not supported".to_owned() }
}

fn unknown_command() -> AdminError {
    AdminError { code: 1047, state: *b"08S01", message: "Unknown command".to_owned() }
}

/// What a client is told whose bytes are no command.
fn refusal(error: wire::WireError, statement_max: usize) -> AdminError {
    let (code, message) = match error {
        wire::WireError::TooLong { .. } => {
            (1153, format!("Got a packet bigger than 'max_allowed_packet' bytes ({statement_max})"))
        }
        wire::WireError::OutOfOrder { .. } => (1156, format!("Got {error}")),
        _ => (1835, format!("Malformed communication packet: {error}")),
    };
    AdminError { code, state: *b"08S01", message }
}
