//! Answers as packets, and their cells.

use testkit::client::{Client, Statement, Value};
use wire::codec::Reader;
use wire::command::{Kind, take_value};
use wire::packet::{Column, TextRow};
use wire::{Capabilities, Codec as _, packet};

/// A row: its cells as text, or as the binary protocol has them; `None` is NULL.
pub(crate) type Cells = Vec<Option<Vec<u8>>>;

/// A whole answer to one statement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    /// The definitions of the columns, as they came.
    pub(crate) columns: Vec<Vec<u8>>,
    /// The packets of the rows.
    pub(crate) packets: Vec<Vec<u8>>,
    /// The same, read.
    pub(crate) rows: Vec<Cells>,
    pub(crate) warnings: u16,
    /// What the OK packet says of a change: rows, the first id, and the text for people.
    pub(crate) change: Option<(u64, u64, String)>,
    /// Code and text.
    pub(crate) error: Option<(u16, String)>,
    /// Whether the rows are binary.
    pub(crate) is_binary: bool,
}

/// An OK packet that ends rows is shorter.
const END_LEN_MAX: usize = 0x00ff_ffff;

/// Runs a statement, with values if it has placeholders for them.
pub(crate) async fn query(client: &mut Client, sql: &[u8], values: Option<&[Value]>) -> Answer {
    let Some(values) = values else {
        let sent = client.send_command(Kind::Query, sql).await;
        sent.unwrap_or_else(|error| panic!("cannot send: {error}"));
        return read(client, false).await;
    };
    let sql = String::from_utf8_lossy(sql);
    let statement: Statement = match client.prepare(&sql).await {
        Ok(statement) => statement,
        Err(error) => {
            let error = Some((error.code().unwrap_or_default(), error.to_string()));
            return Answer { error, is_binary: true, ..Answer::default() };
        }
    };
    let sent = client.send_execute(&statement, values).await;
    sent.unwrap_or_else(|error| panic!("cannot send: {error}"));
    let answer = read(client, true).await;
    client.close(statement).await.unwrap_or_else(|error| panic!("cannot send: {error}"));
    answer
}

/// Reads the answer to a statement.
async fn read(client: &mut Client, is_binary: bool) -> Answer {
    let capabilities = client.capabilities();
    let mut answer = Answer { is_binary, ..Answer::default() };
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
    let columns = answer.decoded();
    answer.rows = answer.packets.iter().map(|row| cells(row, is_binary, &columns)).collect();
    answer
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
                _ => self.packets.push(row),
            }
        }
    }

    fn end(&mut self, payload: &[u8], capabilities: Capabilities) {
        if !capabilities.contains(Capabilities::DEPRECATE_EOF) && payload.first() == Some(&0xfe) {
            let eof = packet::Eof::decode(payload, capabilities);
            self.warnings = eof.map_or(0, |eof| eof.warnings);
        } else {
            let ok = packet::Ok::decode(payload, capabilities);
            let ok = ok.unwrap_or_else(|error| panic!("no OK: {error}"));
            self.warnings = ok.warnings;
            if self.columns.is_empty() {
                let info = String::from_utf8_lossy(ok.info).into_owned();
                self.change = Some((ok.affected_rows, ok.last_insert_id, info));
            }
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

/// The cells of a row with these columns.
pub(crate) fn cells(row: &[u8], is_binary: bool, columns: &[Column<'_>]) -> Cells {
    if !is_binary {
        let row = TextRow::decode(row, Capabilities::PROTOCOL_41);
        let row = row.unwrap_or_else(|error| panic!("no row: {error}"));
        return row.iter().map(|cell| cell.map(<[u8]>::to_vec)).collect();
    }
    let (nulls, values) = row[1..].split_at((columns.len() + 2).div_ceil(8));
    let mut values = Reader::new(values);
    let mut cell = |(at, column): (usize, &Column<'_>)| {
        let is_null = nulls[(at + 2) / 8] & (1 << ((at + 2) % 8)) != 0;
        let value = (!is_null).then(|| take_value(&mut values, column.kind.into()));
        value.map(|value| same_width(column, value.unwrap_or_else(|error| panic!("no cell: {error}"))))
    };
    let cells = columns.iter().enumerate().map(&mut cell).collect();
    assert!(values.is_empty(), "a row is too long");
    cells
}

/// `UNSIGNED_FLAG` of a column.
const UNSIGNED: u16 = 32;

/// Integers in eight bytes: an expression has another type of integer if it went through a
/// temporary table.
fn same_width(column: &Column<'_>, value: &[u8]) -> Vec<u8> {
    let mut value = value.to_vec();
    if matches!(column.kind, 1 | 2 | 3 | 8 | 9 | 13) {
        let is_negative = value.last().is_some_and(|byte| byte & 0x80 != 0);
        value.resize(8, if is_negative && column.flags & UNSIGNED == 0 { 0xff } else { 0 });
    }
    value
}
