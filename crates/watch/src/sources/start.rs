//! Where the log of a server is followed from, and whether it can be.

use binlog::Position;
use binlog::request::Start;

use super::control::{Control, Lost};
use super::probe::{Kind, Visible, place};
use crate::question::Rows;

/// Where the log is followed from: behind all that is visible.
pub(super) async fn start(control: &mut Control<'_>) -> Result<(Start, cache::Position), Lost> {
    const NO_LOG: Lost = Lost::Useless("the server has no binary log");
    if !logs_all(&control.ask(LOGGING).await?, control.kind) {
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
            Ok((Start::MySql(set), cache::Position::default()))
        }
        Visible::Before(position) => {
            let Position { file, offset } = &position;
            let quoted = file.replace(['\'', '\\'], "");
            let statement = format!("SELECT BINLOG_GTID_POS('{quoted}', {offset}) AS gtids");
            let rows = control.ask(&statement).await?;
            let gtids = rows.text(0, "gtids").and_then(|gtids| gtids.parse().ok());
            let gtids =
                gtids.ok_or(Lost::Useless("the server does not tell the GTIDs of a place in its log"))?;
            Ok((Start::MariaDb(gtids), place(&position).ok_or(NO_LOG)?))
        }
    }
}

/// Asks whether a server logs what it gets from others.
const LOGGING: &str = "SHOW GLOBAL VARIABLES WHERE Variable_name IN \
    ('log_slave_updates', 'log_replica_updates', 'gtid_slave_pos', 'wsrep_on')";

/// Whether the answer says that the log has all that changes at the server.
fn logs_all(rows: &Rows, kind: Kind) -> bool {
    let is_on = |name| rows.variable(name).is_some_and(|value| value.eq_ignore_ascii_case("ON"));
    let may_replicate = match kind {
        Kind::MySql { .. } => true,
        Kind::MariaDb => {
            is_on("wsrep_on") || rows.variable("gtid_slave_pos").is_some_and(|gtids| !gtids.is_empty())
        }
    };
    !may_replicate || is_on("log_slave_updates") || is_on("log_replica_updates")
}
