//! What differs between two MariaDB servers in what they say about changes of the session: the
//! order of variables, which follows from addresses in their memory, and the flag in packets that
//! have no changes in them, where it is left from a login.

use wire::codec::Reader;
use wire::{Capabilities, Codec as _, StatusFlags, packet};

/// The change of the schema.
const SCHEMA: u8 = 1;

/// Sorts the changes of session variables in an OK packet, in place; takes the flag out of an EOF
/// packet.
pub(crate) fn sort(payload: &mut [u8], capabilities: Capabilities) {
    if let [packet::Eof::HEADER, _, _, _, high] = payload {
        *high &= !(StatusFlags::SESSION_STATE_CHANGED.bits().to_be_bytes()[0]);
        return;
    }
    let Some(sorted) = sorted(payload, capabilities) else { return };
    let from = payload.len() - sorted.len();
    payload[from..].copy_from_slice(&sorted);
}

/// Takes the schema out of the changes in an OK packet, for a command that does not change it. A
/// `CALL` of a procedure in another schema leaves at MariaDB that the schema has changed, which is
/// told with the next change of something else; so does a login.
pub(crate) fn forget_schema(payload: &mut Vec<u8>, capabilities: Capabilities) {
    let Some((at, changes)) = changes(payload, capabilities) else { return };
    let kept: Vec<u8> = changes.into_iter().filter(|change| change[0] != SCHEMA).flatten().collect();
    if kept.is_empty() {
        // MySQL sets the flag once more behind an error in a procedure, and has nothing to tell.
        let Ok(mut ok) = packet::Ok::decode(payload, capabilities) else { return };
        let is_end = payload.first() == Some(&packet::Eof::HEADER);
        ok.status.remove(StatusFlags::SESSION_STATE_CHANGED);
        ok.session_state = None;
        let mut plain = ok.encode(capabilities);
        plain[0] = if is_end { packet::Eof::HEADER } else { 0 };
        *payload = plain;
        return;
    }
    payload.truncate(at);
    payload.extend(kept);
    // In front of them is the length of all.
    payload[at - 1] = 0;
}

/// The end of an OK packet with the changes in another order; `None` if there is none.
fn sorted(payload: &[u8], capabilities: Capabilities) -> Option<Vec<u8>> {
    let (_, mut changes) = changes(payload, capabilities)?;
    changes.sort_unstable();
    Some(changes.concat())
}

/// Where in an OK packet the changes begin, and each of them; `None` if there are none.
fn changes(payload: &[u8], capabilities: Capabilities) -> Option<(usize, Vec<Vec<u8>>)> {
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
        changes.push(change.to_vec());
        rest = behind;
    }
    payload.ends_with(raw).then(|| (payload.len() - raw.len(), changes))
}
