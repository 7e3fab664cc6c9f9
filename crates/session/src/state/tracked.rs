//! What a server has told the proxy of a client's transaction, in the answer to a command of the
//! proxy's own, and the client has not heard yet: that an error has ended it. Of that servers tell
//! nothing with the error, but with the next OK packet, whatever command that answers.

use wire::frame::{HEADER_LEN, Header, Packet, put_message};
use wire::packet::{self, SessionState, StateChange};
use wire::{Capabilities, Codec as _, StatusFlags};

/// Changes of a session as an OK packet has told them, one behind the other.
#[derive(Debug, PartialEq, Eq)]
pub struct Tracked(Box<[u8]>);

impl Tracked {
    /// What an answer, packets with their headers, tells of a transaction with its last packet;
    /// nothing if that tells none.
    pub fn in_answer(answer: &[u8], caps: Capabilities) -> Option<Self> {
        let state = changes_in(Packet::last(answer)?.payload, caps)?;
        let told: Vec<_> = state.iter().filter_map(Result::ok).filter(is_of_transaction).collect();
        (!told.is_empty()).then(|| Self(SessionState::encode(&told).into()))
    }

    /// A part of an answer whose last packet, of `len` bytes with its header, is OK, with this in
    /// that packet as well, unless the server tells the client of a transaction itself. `None` if
    /// there is no such packet.
    pub fn told_in(&self, part: &[u8], len: usize, caps: Capabilities) -> Option<Vec<u8>> {
        let (before, packet) = part.split_at_checked(part.len().checked_sub(len)?)?;
        let (header, payload) = packet.split_first_chunk::<HEADER_LEN>()?;
        let ok = packet::Ok::decode(payload, caps).ok()?;
        let own = ok.session_state.map_or(&[][..], |state| state.as_bytes());
        if SessionState::new(own).iter().filter_map(Result::ok).any(|change| is_of_transaction(&change)) {
            return Some(part.to_vec());
        }
        let all = [own, &self.0].concat();
        let status = ok.status | StatusFlags::SESSION_STATE_CHANGED;
        let ok = packet::Ok { status, session_state: Some(SessionState::new(&all)), ..ok };
        let mut out = before.to_vec();
        put_message(&mut out, Header::parse(*header).seq, &ok.encode(caps));
        Some(out)
    }
}

/// The changes that an OK packet tells, given as its payload.
fn changes_in(payload: &[u8], caps: Capabilities) -> Option<SessionState<'_>> {
    let is_end = caps.contains(Capabilities::DEPRECATE_EOF) || payload.first() == Some(&0);
    packet::Ok::decode(payload, caps).ok().filter(|_| is_end)?.session_state
}

/// Whether it is one of those that servers tell of transactions (`session_track_transaction_info`).
const fn is_of_transaction(change: &StateChange<'_>) -> bool {
    matches!(change, StateChange::TransactionState(_) | StateChange::TransactionCharacteristics(_))
}

#[cfg(test)]
mod tests {
    use wire::packet::OkHeader;

    use super::*;

    const CAPS: Capabilities =
        Capabilities::PROTOCOL_41.union(Capabilities::SESSION_TRACK).union(Capabilities::DEPRECATE_EOF);

    fn ok(header: OkHeader, changes: &[StateChange<'_>]) -> Vec<u8> {
        let state = SessionState::encode(changes);
        let session_state = (!changes.is_empty()).then(|| SessionState::new(&state));
        let status = StatusFlags::AUTOCOMMIT;
        packet::Ok { header, session_state, info: b"x", ..packet::Ok::plain(status) }.encode(CAPS)
    }

    fn packets(payloads: &[&[u8]]) -> Vec<u8> {
        let mut bytes = Vec::new();
        payloads.iter().fold(1, |seq, payload| put_message(&mut bytes, seq, payload));
        bytes
    }

    #[test]
    fn what_the_proxy_was_told_of_a_transaction_the_client_is_told_next() {
        let (schema, over) = (StateChange::Schema(b"s"), StateChange::TransactionState(b"________"));
        let begun = StateChange::TransactionState(b"T_______");
        let how = StateChange::TransactionCharacteristics(b"");
        let answer = packets(&[b"\x01", b"\x02no", &ok(OkHeader::Eof, &[schema, how, over])]);
        let tracked = Tracked::in_answer(&answer, CAPS).unwrap();
        for (header, own, told) in [
            (OkHeader::Ok, &[][..], &[how, over][..]),
            (OkHeader::Eof, &[], &[how, over]),
            (OkHeader::Ok, &[schema], &[schema, how, over]),
            (OkHeader::Ok, &[begun], &[begun]),
        ] {
            let (own, told) = (ok(header, own), ok(header, told));
            let part = tracked.told_in(&packets(&[b"\x01", &own]), HEADER_LEN + own.len(), CAPS);
            assert_eq!(part, Some(packets(&[b"\x01", &told])), "{header:?}");
        }
    }

    #[test]
    fn nothing_is_told_where_nothing_was_tracked_or_can_be_said() {
        let schema = ok(OkHeader::Ok, &[StateChange::Schema(b"s")]);
        assert_eq!(Tracked::in_answer(&packets(&[&schema]), CAPS), None);
        assert_eq!(Tracked::in_answer(&packets(&[b"\xff\x01\x02"]), CAPS), None);
        assert_eq!(Tracked::in_answer(b"\x05\0\0", CAPS), None, "it is cut short");
        let over = Tracked(SessionState::encode(&[StateChange::TransactionState(b"____")]).into());
        assert_eq!(over.told_in(b"\0\0\x02", 11, CAPS), None, "its beginning was told before");
        assert_eq!(over.told_in(&packets(&[b"\xfe\0\0\x02\0"]), 9, CAPS - Capabilities::DEPRECATE_EOF), None);
    }
}
