//! Answers as packets.

use testkit::client::Client;
use wire::command::Kind;
use wire::packet::Column;
use wire::{Capabilities, Codec as _, packet};

/// A whole answer to one statement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    /// The definitions of the columns, as they came.
    pub(crate) columns: Vec<Vec<u8>>,
    pub(crate) rows: Vec<Vec<u8>>,
    pub(crate) warnings: u16,
    /// Code and text.
    pub(crate) error: Option<(u16, String)>,
}

/// An OK packet that ends rows is shorter.
const END_LEN_MAX: usize = 0x00ff_ffff;

/// Sends a statement.
pub(crate) async fn ask(client: &mut Client, sql: &[u8]) {
    client.send_command(Kind::Query, sql).await.unwrap_or_else(|error| panic!("cannot send: {error}"));
}

/// Reads the answer to a statement.
pub(crate) async fn read(client: &mut Client) -> Answer {
    let capabilities = client.capabilities();
    let mut answer = Answer::default();
    let head = next(client).await;
    match head.first() {
        Some(&packet::Err::HEADER) => answer.fail(&head, capabilities),
        Some(&0) => answer.end(&head, capabilities),
        _ => {
            let count = packet::ColumnCount::decode(&head, capabilities).map_or(0, |head| head.count);
            for _ in 0..count {
                answer.columns.push(next(client).await);
            }
            if !capabilities.contains(Capabilities::DEPRECATE_EOF) {
                next(client).await;
            }
            answer.read_rows(client, capabilities).await;
        }
    }
    answer
}

/// Runs one statement.
pub(crate) async fn query(client: &mut Client, sql: &str) -> Answer {
    ask(client, sql.as_bytes()).await;
    read(client).await
}

async fn next(client: &mut Client) -> Vec<u8> {
    client.packets().read().await.unwrap_or_else(|error| panic!("no answer: {error}"))
}

impl Answer {
    async fn read_rows(&mut self, client: &mut Client, capabilities: Capabilities) {
        loop {
            let row = next(client).await;
            match row.first() {
                Some(0xfe) if row.len() < END_LEN_MAX => return self.end(&row, capabilities),
                Some(&packet::Err::HEADER) => return self.fail(&row, capabilities),
                _ => self.rows.push(row),
            }
        }
    }

    fn end(&mut self, payload: &[u8], capabilities: Capabilities) {
        if !capabilities.contains(Capabilities::DEPRECATE_EOF) && payload.first() == Some(&0xfe) {
            let eof = packet::Eof::decode(payload, capabilities);
            self.warnings = eof.map_or(0, |eof| eof.warnings);
        } else {
            let ok = packet::Ok::decode(payload, capabilities);
            self.warnings = ok.map_or(0, |ok| ok.warnings);
        }
    }

    fn fail(&mut self, payload: &[u8], capabilities: Capabilities) {
        let error = packet::Err::decode(payload, capabilities);
        let text = |error: packet::Err<'_>| (error.code, String::from_utf8_lossy(error.message).into_owned());
        self.error = Some(error.map_or((0, String::new()), text));
    }

    /// The types of the columns.
    pub(crate) fn kinds(&self) -> Vec<u8> {
        self.decoded().iter().map(|column| column.kind).collect()
    }

    /// The definitions of the columns.
    pub(crate) fn decoded(&self) -> Vec<Column<'_>> {
        let columns = self.columns.iter();
        let decoded: Result<Vec<_>, _> =
            columns.map(|column| Column::decode(column, Capabilities::PROTOCOL_41)).collect();
        decoded.unwrap_or_else(|error| panic!("no column: {error}"))
    }
}
