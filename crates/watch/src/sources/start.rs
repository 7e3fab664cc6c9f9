//! Where the log of a server is followed from, and whether it can be, or be read on.

use std::time::Duration;

use binlog::Position;
use binlog::request::Start;
use tokio::time::sleep;

use super::control::Control;
use super::lost::Lost;
use super::probe::{Kind, Visible, XA_COMMIT_US, place};
use super::seen::{Identity, Now, Seen};

const NO_LOG: Lost = Lost::Useless("the server has no binary log");

/// Where the log is followed from: behind all that is visible.
pub(super) async fn start(control: &mut Control<'_>, identity: Identity) -> Result<Seen, Lost> {
    if !logs_all(control).await? {
        return Err(Lost::Useless("the server does not log what it replicates (log_slave_updates)"));
    }
    control.end().await?;
    let rows = control.ask(control.kind.visible()).await?;
    match control.kind.read_visible(&rows).ok_or(NO_LOG)? {
        Visible::Set(set) => {
            let mode = control.ask("SELECT @@global.gtid_mode AS mode").await?;
            if mode.text(0, "mode").is_none_or(|mode| !mode.eq_ignore_ascii_case("ON")) {
                return Err(Lost::Useless("the server has no GTIDs (gtid_mode = ON)"));
            }
            // The server says where that is when it has found it.
            Ok(Seen::new(identity, Start::MySql(set), None))
        }
        Visible::Before(position) => {
            let behind = gtids_before(control, &position).await?;
            let behind =
                behind.ok_or(Lost::Useless("the server does not tell the GTIDs of a place in its log"))?;
            place(&position).ok_or(NO_LOG)?;
            // In front of the place, an `XA COMMIT` may still be on its way to the engine.
            // Following begins behind that, and drops the answers from before.
            sleep(Duration::from_micros(XA_COMMIT_US)).await;
            Ok(Seen::new(identity, behind, Some(position)))
        }
    }
}

/// What the server says of its log, of which so much was seen `gap_us` ago.
pub(super) async fn now(
    control: &mut Control<'_>,
    seen: &Seen,
    identity: &Identity,
    gap_us: u64,
) -> Result<Now, Lost> {
    let end = control.end().await?;
    let has = match (control.kind, seen.at()) {
        (Kind::MySql { .. }, _) => {
            let rows = control.ask(control.kind.visible()).await?;
            match control.kind.read_visible(&rows) {
                Some(Visible::Set(set)) => Some(Start::MySql(set)),
                _ => None,
            }
        }
        (Kind::MariaDb, Some(at)) => gtids_before(control, at).await?,
        (Kind::MariaDb, None) => None,
    };
    Ok(Now { identity: identity.clone(), has, end, gap_us })
}

/// The last transactions in front of a place in the log of a MariaDB; nothing if there is no such
/// place.
async fn gtids_before(control: &mut Control<'_>, position: &Position) -> Result<Option<Start>, Lost> {
    let Position { file, offset } = position;
    let quoted = file.replace(['\'', '\\'], "");
    let statement = format!("SELECT BINLOG_GTID_POS('{quoted}', {offset}) AS gtids");
    let rows = control.ask(&statement).await?;
    Ok(rows.text(0, "gtids").and_then(|gtids| gtids.parse().ok()).map(Start::MariaDb))
}

/// Asks whether a server logs what it gets from others.
const LOGGING: &str = "SHOW GLOBAL VARIABLES WHERE Variable_name IN \
    ('log_slave_updates', 'log_replica_updates', 'gtid_slave_pos', 'wsrep_on')";

/// Asks how many threads of a MariaDB apply what is replicated. What comes without GTIDs, or has
/// not come yet, leaves no other sign.
const REPLICATING: &str = "SHOW GLOBAL STATUS LIKE 'Slaves_running'";

/// Whether the log has all that changes at the server.
async fn logs_all(control: &mut Control<'_>) -> Result<bool, Lost> {
    let rows = control.ask(LOGGING).await?;
    let is_on = |name| rows.variable(name).is_some_and(|value| value.eq_ignore_ascii_case("ON"));
    if is_on("log_slave_updates") || is_on("log_replica_updates") {
        return Ok(true);
    }
    match control.kind {
        Kind::MySql { .. } => Ok(false),
        Kind::MariaDb => {
            let threads = control.ask(REPLICATING).await?;
            let replicates = threads.variable("Slaves_running").is_none_or(|running| running != "0");
            let has_replicated = rows.variable("gtid_slave_pos").is_some_and(|gtids| !gtids.is_empty());
            Ok(!replicates && !has_replicated && !is_on("wsrep_on"))
        }
    }
}
