//! The client's reply, packet by packet, with sequence ids of its own.

use planner::seen::Names;
use wire::frame::{put_packet, put_with};
use wire::packet::{Column, ColumnCount, Eof, Ok as OkPacket, OkHeader};
use wire::{Capabilities, Codec, StatusFlags};

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
        self.put(&ColumnCount { count: columns as u64, metadata_follows: None }, out);
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
            self.put(&column, out);
        }
        if !self.caps.contains(Capabilities::DEPRECATE_EOF) {
            self.put(&Eof { warnings: 0, status }, out);
        }
    }

    /// A packet.
    pub(super) fn put<'a>(&mut self, packet: &impl Codec<'a>, out: &mut Vec<u8>) {
        self.seq = put_packet(out, self.seq, packet, self.caps);
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
        if self.caps.contains(Capabilities::DEPRECATE_EOF) {
            self.put(&OkPacket { header: OkHeader::Eof, ..*ok }, out);
        } else {
            self.put(&Eof { warnings: ok.warnings, status: ok.status }, out);
        }
    }
}
