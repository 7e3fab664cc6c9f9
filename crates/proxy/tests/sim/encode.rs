//! Answers of the model server as bytes.

use wire::frame::put_message;
use wire::{Capabilities, Codec as _, StatusFlags, packet};

use super::model::Answer;

/// `utf8mb4_general_ci`.
const UTF8MB4: u16 = 45;

/// How names of columns begin by which rows of shards are merged.
pub(super) const HIDDEN_KEY: &str = "pointsman_key_";

/// `MYSQL_TYPE_LONGLONG`, the collation of numbers.
const LONGLONG: u8 = 8;
const BINARY: u16 = 63;

/// Whom an answer is for, and what it says of the session.
#[derive(Debug, Clone)]
pub(super) struct Encoder {
    pub(super) capabilities: Capabilities,
    pub(super) status: StatusFlags,
    pub(super) warnings: u16,
    /// Changes of the session that an OK tells.
    pub(super) told: Option<Vec<u8>>,
}

impl Encoder {
    /// An answer, whose rows are binary for executions.
    pub(super) fn answer(&self, answer: &Answer, is_binary: bool) -> Vec<u8> {
        let mut payloads = Vec::new();
        match answer {
            Answer::Ok { affected, last_id } => {
                let (affected_rows, last_insert_id) = (*affected, *last_id);
                let ok = packet::Ok {
                    affected_rows,
                    last_insert_id,
                    warnings: self.warnings,
                    session_state: self.told.as_deref().map(packet::SessionState::new),
                    ..packet::Ok::plain(self.status)
                };
                payloads.push(ok.encode(self.capabilities));
            }
            Answer::Error { code, message } => {
                let err =
                    packet::Err { code: *code, sql_state: Some(*b"HY000"), message: message.as_bytes() };
                payloads.push(err.encode(self.capabilities));
            }
            Answer::Rows { columns, rows } => {
                self.put_count(&mut payloads, columns);
                let cells = |row: &Vec<_>| if is_binary { keyed(columns, row) } else { text(row) };
                payloads.extend(rows.iter().map(cells));
                payloads.push(self.end(self.status));
            }
        }
        messages(&payloads)
    }

    /// The columns of a cursor, whose rows are not there yet.
    pub(super) fn cursor(&self, columns: &[String]) -> Vec<u8> {
        let open = Self { status: self.status | StatusFlags::CURSOR_EXISTS, ..self.clone() };
        let mut payloads = Vec::new();
        open.put_count(&mut payloads, columns);
        if self.capabilities.contains(Capabilities::DEPRECATE_EOF) {
            payloads.push(open.end(open.status));
        }
        messages(&payloads)
    }

    /// Rows of a cursor.
    pub(super) fn fetched(&self, rows: &[Vec<Option<String>>], is_over: bool) -> Vec<u8> {
        let flag = if is_over { StatusFlags::LAST_ROW_SENT } else { StatusFlags::CURSOR_EXISTS };
        let mut payloads: Vec<_> = rows.iter().map(|row| binary(row)).collect();
        payloads.push(self.end(self.status | flag));
        messages(&payloads)
    }

    /// A statement is prepared.
    pub(super) fn prepared(&self, id: u32, params: u16, columns: &[String]) -> Vec<u8> {
        let ok = packet::PrepareOk {
            statement_id: id,
            columns: columns.len().try_into().unwrap_or(u16::MAX),
            params,
            warnings: 0,
            metadata_follows: None,
        };
        let mut payloads = vec![ok.encode(self.capabilities)];
        let names: Vec<String> = (0..params).map(|_| "?".to_owned()).collect();
        for columns in [&names, columns].into_iter().filter(|columns| !columns.is_empty()) {
            self.put_columns(&mut payloads, columns);
        }
        messages(&payloads)
    }

    /// The packet behind the last row.
    fn end(&self, status: StatusFlags) -> Vec<u8> {
        let warnings = self.warnings;
        if self.capabilities.contains(Capabilities::DEPRECATE_EOF) {
            let header = packet::OkHeader::Eof;
            return packet::Ok { header, warnings, ..packet::Ok::plain(status) }.encode(self.capabilities);
        }
        packet::Eof { warnings, status }.encode(self.capabilities)
    }

    fn put_count(&self, payloads: &mut Vec<Vec<u8>>, columns: &[String]) {
        let count = packet::ColumnCount { count: columns.len() as u64, metadata_follows: None };
        payloads.push(count.encode(self.capabilities));
        self.put_columns(payloads, columns);
    }

    fn put_columns(&self, payloads: &mut Vec<Vec<u8>>, columns: &[String]) {
        let text = |name: &String| {
            let column = packet::Column::text(name.as_bytes(), UTF8MB4);
            let is_key = name.starts_with(HIDDEN_KEY);
            let column =
                if is_key { packet::Column { kind: LONGLONG, collation: BINARY, ..column } } else { column };
            column.encode(self.capabilities)
        };
        payloads.extend(columns.iter().map(text));
        if !self.capabilities.contains(Capabilities::DEPRECATE_EOF) {
            payloads.push(packet::Eof { warnings: 0, status: self.status }.encode(self.capabilities));
        }
    }
}

fn messages(payloads: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    payloads.iter().fold(1, |seq, payload| put_message(&mut bytes, seq, payload));
    bytes
}

/// A row of a text result.
pub(super) fn text(row: &[Option<String>]) -> Vec<u8> {
    let mut payload = Vec::new();
    packet::TextRow::put(&mut payload, row.iter().map(Option::as_deref));
    payload
}

/// A row of strings with a hidden key behind them, if there is one, which is a number.
fn keyed(columns: &[String], row: &[Option<String>]) -> Vec<u8> {
    match (columns.last(), row.split_last()) {
        (Some(name), Some((Some(key), rest))) if name.starts_with(HIDDEN_KEY) => {
            let key: u64 = key.parse().unwrap_or_default();
            let mut payload = binary(rest);
            // The key has its place among those of NULLs.
            let (without, with) = ((rest.len() + 2).div_ceil(8), (row.len() + 2).div_ceil(8));
            for at in without..with {
                payload.insert(at + 1, 0);
            }
            payload.extend(key.to_le_bytes());
            payload
        }
        _ => binary(row),
    }
}

/// A row of strings, as executions of prepared statements have it.
pub(super) fn binary(row: &[Option<String>]) -> Vec<u8> {
    let mut payload = vec![0];
    let mut nulls = vec![0; (row.len() + 2).div_ceil(8)];
    for (index, _) in row.iter().enumerate().filter(|(_, cell)| cell.is_none()) {
        nulls[(index + 2) / 8] |= 1 << ((index + 2) % 8);
    }
    payload.extend(nulls);
    for cell in row.iter().flatten() {
        wire::codec::put_lenenc_bytes(&mut payload, cell.as_bytes());
    }
    payload
}
