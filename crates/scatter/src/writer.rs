//! The client's reply, packet by packet, with sequence ids of its own.

use planner::seen::Names;
use wire::frame::{put_packet, put_with};
use wire::packet::{Column, ColumnCount, Eof, Err, Ok as OkPacket, OkHeader, PrepareOk};
use wire::{Capabilities, StatusFlags};

use super::definitions::logical;

/// Writes packets for one client.
#[derive(Debug)]
pub(super) struct Writer {
    caps: Capabilities,
    seq: u8,
}

impl Writer {
    /// A writer for a client with these capabilities; the first packet gets the sequence id `seq`.
    pub(super) const fn new(caps: Capabilities, seq: u8) -> Self {
        Self { caps, seq }
    }

    /// The first packet has this sequence id.
    pub(super) const fn begin_at(&mut self, seq: u8) {
        self.seq = seq;
    }

    /// Begins a result with so many columns.
    pub(super) fn begin(&mut self, columns: usize, out: &mut Vec<u8>) {
        let count = ColumnCount { count: columns as u64, metadata_follows: None };
        self.seq = put_packet(out, self.seq, &count, self.caps);
    }

    /// Definitions, with the names that clients know, and their end for clients that wait for it.
    pub(super) fn definitions<'a>(
        &mut self,
        columns: impl Iterator<Item = &'a Column<'a>>,
        names: Option<&Names>,
        status: StatusFlags,
        out: &mut Vec<u8>,
    ) {
        for column in columns {
            let column = names.map_or(*column, |names| logical(column, names));
            self.seq = put_packet(out, self.seq, &column, self.caps);
        }
        if !self.caps.contains(Capabilities::DEPRECATE_EOF) {
            self.seq = put_packet(out, self.seq, &Eof { warnings: 0, status }, self.caps);
        }
    }

    /// Tells what is prepared.
    pub(super) fn prepared(&mut self, prepared: &PrepareOk, out: &mut Vec<u8>) {
        self.seq = put_packet(out, self.seq, prepared, self.caps);
    }

    /// A message whose payload `write` appends.
    pub(super) fn with<E>(
        &mut self,
        out: &mut Vec<u8>,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.seq = put_with(out, self.seq, write)?;
        Ok(())
    }

    /// Ends rows.
    pub(super) fn end_rows(&mut self, ok: &OkPacket<'_>, out: &mut Vec<u8>) {
        self.seq = if self.caps.contains(Capabilities::DEPRECATE_EOF) {
            put_packet(out, self.seq, &OkPacket { header: OkHeader::Eof, ..*ok }, self.caps)
        } else {
            put_packet(out, self.seq, &Eof { warnings: ok.warnings, status: ok.status }, self.caps)
        };
    }

    /// Replies with OK.
    pub(super) fn ok(&mut self, ok: &OkPacket<'_>, out: &mut Vec<u8>) {
        self.seq = put_packet(out, self.seq, ok, self.caps);
    }

    /// Ends the reply with an error.
    pub(super) fn error(&mut self, error: &Err<'_>, out: &mut Vec<u8>) {
        self.seq = put_packet(out, self.seq, error, self.caps);
    }
}
