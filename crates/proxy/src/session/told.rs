//! What a `SET` has set that is not written in it: `SET sql_mode = @before`. Its server is asked
//! right behind, while the client has its answer already, and what it tells can be said elsewhere.
//! Until then, and if it cannot be asked, the session keeps its connection.

use wire::frame::{HEADER_LEN, Header};
use wire::reply::Answer;
use wire::{Capabilities, Codec as _, StatusFlags, packet};

use super::Session;
use crate::ending::Ending;
use crate::state::{Pin, set};
use upstream::Reply;

/// The types of numbers in definitions of columns: `MYSQL_TYPE_TINY` to `MYSQL_TYPE_DOUBLE`,
/// `_LONGLONG`, `_INT24`, `_YEAR`, `_NEWDECIMAL`.
const NUMBERS: [u8; 9] = [1, 2, 3, 4, 5, 8, 9, 13, 246];

/// What stands for a value that is none in a row of text.
const NULL: u8 = 0xfb;

impl Session {
    /// The statement that ran has set this variable to what the server knows: asks, if somebody
    /// could want to know.
    pub(super) async fn ask_what_is_set(&mut self, name: &str) -> Result<(), Ending> {
        let hostgroup = self.state.link.hostgroup;
        // Sessions that have one connection to one server need not know.
        let matters = self.shares(hostgroup) || !self.has_one_way();
        // The question would take away what the client may ask for, or be told as a part of its
        // transaction.
        let hides = [Pin::Warnings, Pin::FoundRows, Pin::Prepare]
            .iter()
            .any(|pin| self.state.pins.holds(*pin, hostgroup))
            || self.state.link.status.contains(StatusFlags::IN_TRANSACTION);
        if !matters || hides || self.links.in_use.is_none() {
            return Ok(());
        }
        let question = self.query(format!("SELECT @@session.{name}").as_bytes());
        // If that fails, the client hears of it with its next statement.
        let replies = self.internal_query(&[(question, Answer::Result)]).await?.unwrap_or_default();
        self.links.hide_last_result(&mut self.state);
        let told = replies.first().and_then(|reply| {
            let (value, is_number) = value_of(reply, self.capabilities())?;
            set::of_told(name, value, is_number)
        });
        if let Some(setting) = told {
            self.state.note_told(&self.identity, setting);
            self.note_own_limit();
        }
        Ok(())
    }
}

/// The value in an answer of one row and one column, which is short, and whether it is a number.
fn value_of(reply: &Reply, caps: Capabilities) -> Option<(Option<&[u8]>, bool)> {
    let column = packet::Column::decode(packet_at(&reply.bytes, 1)?, caps).ok()?;
    let is_number = NUMBERS.contains(&column.kind);
    match reply.only_row()?.split_first()? {
        (&NULL, []) => Some((None, is_number)),
        (len, value) => (usize::from(*len) == value.len()).then_some((Some(value), is_number)),
    }
}

/// The payload of one of the packets in an answer.
fn packet_at(mut packets: &[u8], at: usize) -> Option<&[u8]> {
    for place in 0.. {
        let (header, behind) = packets.split_first_chunk::<HEADER_LEN>()?;
        let (payload, rest) = behind.split_at_checked(Header::parse(*header).len as usize)?;
        if place == at {
            return Some(payload);
        }
        packets = rest;
    }
    None
}
