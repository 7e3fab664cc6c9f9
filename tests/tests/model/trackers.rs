//! What differs between two MariaDB servers in what they say about changes of the session: the order of variables, which follows from
//! addresses in their memory, and the flag in packets that have no changes in them, where it is left from a login.

use wire::codec::Reader;
use wire::{Capabilities, Codec as _, StatusFlags, packet};

/// Sorts the changes of session variables in an OK packet, in place; takes the flag out of an EOF packet.
pub(crate) fn sort(payload: &mut [u8], capabilities: Capabilities) {
    if let [packet::Eof::HEADER, _, _, _, high] = payload {
        *high &= !(StatusFlags::SESSION_STATE_CHANGED.bits().to_be_bytes()[0]);
        return;
    }
    let Some(sorted) = sorted(payload, capabilities) else { return };
    let from = payload.len() - sorted.len();
    payload[from..].copy_from_slice(&sorted);
}

/// The end of an OK packet with the changes in another order; `None` if there is none.
fn sorted(payload: &[u8], capabilities: Capabilities) -> Option<Vec<u8>> {
    if !matches!(payload.first(), Some(0 | 0xfe)) || !capabilities.contains(Capabilities::SESSION_TRACK) {
        return None;
    }
    let ok = packet::Ok::decode(payload, capabilities).ok()?;
    if !ok.status.contains(StatusFlags::SESSION_STATE_CHANGED) {
        return None;
    }
    let raw = ok.session_state?.as_bytes();
    let mut changes = Vec::new();
    let mut rest = raw;
    while !rest.is_empty() {
        let mut reader = Reader::new(rest);
        reader.u8("kind").ok()?;
        reader.lenenc_bytes("change").ok()?;
        let len = rest.len() - reader.left();
        let (change, behind) = rest.split_at(len);
        changes.push(change);
        rest = behind;
    }
    changes.sort_unstable();
    payload.ends_with(raw).then(|| changes.concat())
}
