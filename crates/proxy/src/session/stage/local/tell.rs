//! Answers to questions about where statements go and what the session knows: `EXPLAIN ROUTE`, the
//! trace of the last statement, `PROXYSQL INTERNAL SESSION`.

use command::{Command, Copied};
use front::login::ok;
use legs::backlog::skip_command;
use legs::entry::BookEntry;
use legs::facts::replies::write_to_client;
use legs::facts::shown::begin_own;
use legs::internal::internals;
use legs::leg::Leg;
use legs::reply::{answer_here, refuse_here};
use route::Explanation;
use wire::command::Kind;
use wire::frame::put_message;
use wire::packet::TextRow;
use wire::{Capabilities, StatusFlags, packet};

use crate::ending::Ending;
use crate::error::ClientError;
use crate::session::cx::Cx;
use crate::session::explained::explain_command;
use crate::session::shards::explain::explain_shards;
use crate::statement::Ask;

/// `utf8mb4_general_ci`, the collation of all cells.
const COLLATION: u16 = 45;

/// What a question is answered with.
enum Told {
    Done,
    Rows(Vec<[String; 3]>),
    /// The name of the column, and its cell.
    Json(&'static str, String),
    Refused(ClientError),
}

impl Cx<'_> {
    /// Answers a question, which is in the backlog.
    pub(crate) async fn tell(&mut self, kind: Kind, ask: Ask) -> Result<(), Ending> {
        let command = self.io.command(self.leg.state.identity.capabilities).filter(Command::is_whole);
        let copied = command.map(|command| command.copied());
        let told = match ask {
            Ask::Route { json, from } => {
                match explain_route(self.entry, self.leg, copied.as_ref(), from).await? {
                    Some(explanation) if json => Told::Json("EXPLAIN", explanation.json()),
                    Some(explanation) => Told::Rows(explanation.rows()),
                    None => Told::Refused(ClientError::NothingToExplain),
                }
            }
            Ask::Trace { json } => match &self.leg.state.trace {
                Some(trace) if json => Told::Json("EXPLAIN", trace.json()),
                Some(trace) => Told::Rows(trace.rows()),
                None => Told::Refused(ClientError::NotTraced),
            },
            Ask::Internals => Told::Json("session_info", internals(self.entry, self.io, self.leg)),
            Ask::UnknownInternal => Told::Refused(ClientError::UnknownInternal),
            Ask::Tracing(on) => {
                if on != self.leg.state.trace.is_some() {
                    self.leg.state.trace = on.then(Box::default);
                }
                Told::Done
            }
        };
        let name: [&str; 1];
        let (columns, rows) = match told {
            Told::Done => {
                return answer_here(
                    self.entry,
                    self.io,
                    self.leg,
                    kind,
                    &ok(self.leg.state.identity.capabilities, self.leg.state.status),
                )
                .await;
            }
            Told::Refused(error) => return refuse_here(self.entry, self.io, self.leg, kind, &error).await,
            Told::Rows(rows) => (&Explanation::COLUMNS[..], rows.into_iter().map(Vec::from).collect()),
            Told::Json(column, json) => {
                name = [column];
                (&name[..], vec![vec![json]])
            }
        };
        begin_own(self.entry, self.io, &mut self.leg.state, &mut self.leg.flight, kind);
        let seq = skip_command(self.entry, self.io, self.leg).await?;
        let packets = result(seq, columns, rows, self.leg.state.status, self.leg.state.identity.capabilities);
        write_to_client(self.entry, self.io, &mut self.leg.state, &packets).await?;
        self.entry.answered_here(&self.leg.links, 0);
        Ok(())
    }
}

/// Explains the statement in the backlog that begins `from` bytes behind the beginning of its
/// text.
async fn explain_route(
    entry: &BookEntry,
    leg: &mut Leg,
    copied: Option<&Copied>,
    from: usize,
) -> Result<Option<Explanation>, Ending> {
    let Some(command) = copied.map(Copied::command) else { return Ok(None) };
    if entry.worker.has_shards.get() {
        return Box::pin(explain_shards(entry, leg, command, from)).await;
    }
    Ok(explain_command(entry, leg, command, from))
}

/// The packets of a result of texts, the first one with sequence id `seq`.
fn result(
    seq: u8,
    columns: &[&str],
    rows: Vec<Vec<String>>,
    status: StatusFlags,
    capabilities: Capabilities,
) -> Vec<u8> {
    let columns: Vec<_> =
        columns.iter().map(|name| packet::Column::text(name.as_bytes(), COLLATION)).collect();
    let mut out = Vec::new();
    let mut seq = packet::put_head(&mut out, seq, &columns, status, capabilities);
    let mut row = Vec::new();
    for cells in rows {
        row.clear();
        TextRow::put(&mut row, cells.into_iter().map(Some));
        seq = put_message(&mut out, seq, &row);
    }
    packet::put_end(&mut out, seq, status, capabilities);
    out
}
