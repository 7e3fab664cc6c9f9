//! Results, read packet by packet.

use tokio::io::{AsyncRead, AsyncWrite};
use wire::codec::Reader;
use wire::{Capabilities, Codec as _, StatusFlags, WireError, packet};

use super::ClientError;
use crate::packets::Packets;

/// Shortest packet with header `0xfe` that is a row and no end: the first cell has at least 2^24
/// bytes then.
const LONG_ROW_LEN: usize = 0xff_ffff;
/// Packets with header `0xfe` below this length are classic EOF packets.
const EOF_LEN_MAX: usize = 9;

/// A column of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name or alias.
    pub name: String,
    /// `MYSQL_TYPE_*`.
    pub kind: u8,
}

/// One result of a statement: what its OK packet says, or columns and rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueryResult {
    /// The columns; none if this is the result of a statement that returns no rows.
    pub columns: Vec<Column>,
    /// The rows' packets as they came: text or, from prepared statements, binary.
    pub rows: Vec<Vec<u8>>,
    /// Rows changed.
    pub affected_rows: u64,
    /// The first generated key.
    pub last_insert_id: u64,
    /// The flags of the last packet.
    pub status: StatusFlags,
    /// Number of warnings.
    pub warnings: u16,
    /// What the server says about it, for people.
    pub info: String,
    /// The raw session state changes of the last packet.
    pub session_state: Vec<u8>,
}

impl QueryResult {
    /// The cells of all rows of a text result; `None` is NULL.
    ///
    /// # Errors
    /// When a row is not made of length-encoded strings.
    pub fn text(&self) -> Result<Vec<Vec<Option<String>>>, WireError> {
        self.rows.iter().map(|row| text_row(row)).collect()
    }

    /// The first cell of the first row of a text result, if it is there and not NULL.
    pub fn first(&self) -> Option<String> {
        text_row(self.rows.first()?).ok()?.into_iter().next()?
    }

    fn ended(&mut self, ok: &packet::Ok<'_>) {
        self.affected_rows = ok.affected_rows;
        self.last_insert_id = ok.last_insert_id;
        self.status = ok.status;
        self.warnings = ok.warnings;
        self.info = String::from_utf8_lossy(ok.info).into_owned();
        self.session_state = ok.session_state.map(|state| state.as_bytes().to_vec()).unwrap_or_default();
    }
}

fn text_row(row: &[u8]) -> Result<Vec<Option<String>>, WireError> {
    const NULL: u8 = 0xfb;
    let mut reader = Reader::new(row);
    let mut cells = Vec::new();
    while !reader.is_empty() {
        if reader.peek() == Some(NULL) {
            reader.u8("NULL")?;
            cells.push(None);
        } else {
            cells.push(Some(String::from_utf8_lossy(reader.lenenc_bytes("cell")?).into_owned()));
        }
    }
    Ok(cells)
}

/// Reads one result.
pub(crate) async fn read<S: AsyncRead + AsyncWrite + Unpin>(
    packets: &mut Packets<S>,
) -> Result<QueryResult, ClientError> {
    let capabilities = packets.capabilities();
    let first = packets.read().await?;
    let mut result = QueryResult::default();
    match first.first() {
        Some(0x00) => {
            result.ended(&packet::Ok::decode(&first, capabilities)?);
            Ok(result)
        }
        Some(&packet::Err::HEADER) => Err(ClientError::from_packet(&first, capabilities)),
        Some(&packet::LocalInfile::HEADER) => Err(ClientError::Unexpected("a request for a file")),
        _ => {
            let count = packet::ColumnCount::decode(&first, capabilities)?;
            // MariaDB leaves out what it has said of a prepared statement before.
            if count.metadata_follows != Some(false) {
                result.columns = read_columns(packets, count.count).await?;
            }
            let at_end = match read_eof(packets).await? {
                Some(eof) => {
                    (result.status, result.warnings) = (eof.status, eof.warnings);
                    eof.status.contains(StatusFlags::CURSOR_EXISTS)
                }
                None => false,
            };
            if !at_end {
                read_rows(packets, &mut result).await?;
            }
            Ok(result)
        }
    }
}

/// Reads this many column definitions.
pub(super) async fn read_columns<S: AsyncRead + AsyncWrite + Unpin>(
    packets: &mut Packets<S>,
    count: u64,
) -> Result<Vec<Column>, ClientError> {
    let mut columns = Vec::new();
    for _ in 0..count {
        let payload = packets.read().await?;
        // A result may end with an error at any packet; no definition begins so.
        if payload.first() == Some(&packet::Err::HEADER) {
            return Err(ClientError::from_packet(&payload, packets.capabilities()));
        }
        let column = packet::Column::decode(&payload, packets.capabilities())?;
        columns.push(Column { name: String::from_utf8_lossy(column.name).into_owned(), kind: column.kind });
    }
    Ok(columns)
}

/// Reads the EOF packet after columns, which only old clients get.
pub(super) async fn read_eof<S: AsyncRead + AsyncWrite + Unpin>(
    packets: &mut Packets<S>,
) -> Result<Option<packet::Eof>, ClientError> {
    let capabilities = packets.capabilities();
    if capabilities.contains(Capabilities::DEPRECATE_EOF) {
        return Ok(None);
    }
    let payload = packets.read().await?;
    Ok(Some(packet::Eof::decode(&payload, capabilities)?))
}

/// Reads rows up to the packet that ends them.
pub(super) async fn read_rows<S: AsyncRead + AsyncWrite + Unpin>(
    packets: &mut Packets<S>,
    result: &mut QueryResult,
) -> Result<(), ClientError> {
    let capabilities = packets.capabilities();
    loop {
        let payload = packets.read().await?;
        match payload.first() {
            Some(&packet::Err::HEADER) => return Err(ClientError::from_packet(&payload, capabilities)),
            Some(&packet::Eof::HEADER)
                if capabilities.contains(Capabilities::DEPRECATE_EOF) && payload.len() < LONG_ROW_LEN =>
            {
                result.ended(&packet::Ok::decode(&payload, capabilities)?);
                return Ok(());
            }
            Some(&packet::Eof::HEADER) if payload.len() < EOF_LEN_MAX => {
                let eof = packet::Eof::decode(&payload, capabilities)?;
                (result.status, result.warnings) = (eof.status, eof.warnings);
                return Ok(());
            }
            _ => {}
        }
        result.rows.push(payload);
    }
}
