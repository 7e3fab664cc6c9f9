//! Query caches one behind the other: what a proxy and the proxy in front of it tell each other, so
//! that times to live add up to no more than the outer one.
//!
//! - The outer proxy names itself by a connection attribute when it logs in to a server.
//! - The inner proxy says in the OK of the login that it understands.
//! - The OK at the end of an answer from the inner cache tells the [`Age`] of the answer, as values
//!   of system variables (`SESSION_TRACK_SYSTEM_VARIABLES`). The outer proxy takes them out.
//!
//! An OK packet can tell this if the client has `SESSION_TRACK`, and rows end with one if it has
//! `DEPRECATE_EOF`. Both are agreed on by the outer proxy's client. Without them, the inner proxy
//! gives the outer one no answers from its cache.

use wire::codec::{Reader, put_lenenc_bytes};
use wire::frame::{HEADER_LEN, Header, put_message};
use wire::packet::{self, OkHeader, SessionState, StateChange};
use wire::{Capabilities, Codec as _, StatusFlags};

/// The connection attribute of a proxy that may cache answers.
const ATTRIBUTE: &[u8] = b"_pointsman_cache";
/// The version of what both tell each other: the value of the attribute, and of the answer to it.
const VERSION: &[u8] = b"2";
/// The version of a proxy that cannot be told ages.
const UNTOLD: &[u8] = b"0";
/// The variable by which the OK of a login says that ages are told.
const TELLS: &[u8] = b"pointsman_cache";
/// The variable whose value is the age of an answer in milliseconds.
const AGE: &[u8] = b"pointsman_cache_age_ms";
/// The variable whose value is [`Age::exact_us`].
const EXACT: &[u8] = b"pointsman_cache_exact_us";
/// Bytes of the attributes of a login that servers take.
const ATTRIBUTES_BYTES_MAX: usize = 65_535;
/// Bytes of the OK packet at the end of an answer, with its header.
const END: usize = HEADER_LEN + 7;

/// What OK packets are read and written with that tell an age.
const TOLD: Capabilities =
    Capabilities::PROTOCOL_41.union(Capabilities::SESSION_TRACK).union(Capabilities::DEPRECATE_EOF);

/// What the inner proxy tells of an answer from its cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Age {
    /// Milliseconds since the answer was fetched.
    pub ms: u32,
    /// The answer has all that was visible at the server so many microseconds before the inner
    /// proxy got the query. Nothing if that is not known of any moment.
    pub exact_us: Option<u64>,
}

/// Whether a client is a proxy that may cache answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Tier {
    /// It is none.
    #[default]
    Client,
    /// It is one, and is told the ages of answers.
    Told,
    /// It is one, or cannot name itself to servers as one, and cannot be told ages.
    Untold,
}

impl Tier {
    /// That of a client with these attributes and capabilities.
    pub fn of(attributes: Option<&[u8]>, capabilities: Capabilities) -> Self {
        let attributes = attributes.unwrap_or_default();
        match named(attributes) {
            None if attributes.len() + entry(VERSION).len() > ATTRIBUTES_BYTES_MAX => Self::Untold,
            None => Self::Client,
            Some(VERSION) if capabilities.contains(TOLD) => Self::Told,
            Some(_) => Self::Untold,
        }
    }

    /// Whether it gets the ages that servers tell. What a proxy of another version and an inner one
    /// have agreed on is theirs.
    pub fn keeps_ages(self) -> bool {
        self != Self::Client
    }

    /// That of the outer proxy at the inner one, as far as attributes tell it. Those of its login
    /// are these, or what [`announced`] makes of them if it names itself.
    pub fn at_inner(attributes: Option<&[u8]>, capabilities: Capabilities, names_itself: bool) -> Self {
        if !names_itself {
            return Self::of(attributes, TOLD);
        }
        match Self::of(attributes, capabilities) {
            Self::Client | Self::Told => Self::Told,
            Self::Untold => Self::Untold,
        }
    }
}

/// The attributes of a login to a server on behalf of a client with these attributes and
/// capabilities.
///
/// An inner proxy must not take a client for one that is told ages because this proxy asks for
/// `SESSION_TRACK` on its own.
pub fn announced(attributes: Option<&[u8]>, capabilities: Capabilities) -> Vec<u8> {
    let tier = Tier::of(attributes, capabilities);
    let attributes = attributes.unwrap_or_default();
    let entry = match tier {
        Tier::Told => return attributes.to_vec(),
        Tier::Client => entry(VERSION),
        Tier::Untold if named(attributes).is_none() => return attributes.to_vec(),
        Tier::Untold => entry(UNTOLD),
    };
    let has_room = attributes.len() + entry.len() <= ATTRIBUTES_BYTES_MAX;
    let rest = if has_room { attributes } else { &[] };
    // In front: the client's bytes may be no attributes, and the first of a name counts.
    [&entry, rest].concat()
}

/// The attribute with this value, as it is on the wire.
fn entry(version: &[u8]) -> Vec<u8> {
    let mut entry = Vec::new();
    put_lenenc_bytes(&mut entry, ATTRIBUTE);
    put_lenenc_bytes(&mut entry, version);
    entry
}

/// The value of the attribute.
fn named(attributes: &[u8]) -> Option<&[u8]> {
    attribute(attributes, ATTRIBUTE)
}

/// The value of the connection attribute with this name, of attributes as they are on the wire.
pub fn attribute<'a>(attributes: &'a [u8], wanted: &[u8]) -> Option<&'a [u8]> {
    let mut reader = Reader::new(attributes);
    while !reader.is_empty() {
        let name = reader.lenenc_bytes("attribute").ok()?;
        let value = reader.lenenc_bytes("attribute").ok()?;
        if name == wanted {
            return Some(value);
        }
    }
    None
}

/// The payload of the OK of a login, which says that ages are told.
pub fn welcome(status: StatusFlags) -> Vec<u8> {
    let state = SessionState::encode(&[StateChange::SystemVariable { name: TELLS, value: VERSION }]);
    packet::Ok { session_state: Some(SessionState::new(&state)), ..packet::Ok::plain(status) }.encode(TOLD)
}

/// Whether the OK of a login, given as its payload, says that ages are told.
pub fn is_welcome(payload: &[u8], capabilities: Capabilities) -> bool {
    let state = packet::Ok::decode(payload, capabilities).ok().and_then(|ok| ok.session_state);
    let tells = StateChange::SystemVariable { name: TELLS, value: VERSION };
    capabilities.contains(TOLD) && state.is_some_and(|state| state.iter().flatten().any(|one| one == tells))
}

/// Makes the OK packet at the end of an answer tell its age.
pub fn tell(answer: &mut Vec<u8>, age: Age) {
    let Some(at) = answer.len().checked_sub(END) else { return };
    let end = answer.split_off(at);
    let Some((header, payload)) = end.split_first_chunk::<HEADER_LEN>() else { return };
    let Ok(ok) = packet::Ok::decode(payload, TOLD) else {
        answer.extend_from_slice(&end);
        return;
    };
    let (ms, exact_us) = (age.ms.to_string(), age.exact_us.map(|us| us.to_string()));
    let mut changes = vec![StateChange::SystemVariable { name: AGE, value: ms.as_bytes() }];
    changes.extend(
        exact_us.as_ref().map(|us| StateChange::SystemVariable { name: EXACT, value: us.as_bytes() }),
    );
    let state = SessionState::encode(&changes);
    let told = packet::Ok { header: OkHeader::Eof, session_state: Some(SessionState::new(&state)), ..ok };
    put_message(answer, Header::parse(*header).seq, &told.encode(TOLD));
}

/// The age that changes tell. One that is no number is as old as can be.
pub fn age(state: SessionState<'_>) -> Option<Age> {
    let value = |wanted: &[u8]| {
        state.iter().flatten().find_map(|change| match change {
            StateChange::SystemVariable { name, value } if name == wanted => Some(value),
            _ => None,
        })
    };
    let text = |value| std::str::from_utf8(value).ok();
    let ms = text(value(AGE)?).and_then(|text| text.parse().ok()).unwrap_or(u32::MAX);
    let exact_us = value(EXACT).and_then(text).and_then(|text| text.parse().ok());
    Some(Age { ms, exact_us })
}

/// Whether a change tells something of an age.
pub fn is_of_age(change: &StateChange<'_>) -> bool {
    matches!(change, StateChange::SystemVariable { name: AGE | EXACT, .. })
}

/// The OK packet at the end of an answer as its server would have sent it, with its header; nothing
/// if it tells something else than an age.
pub fn plain_end(end: &[u8]) -> Option<Vec<u8>> {
    let (header, payload) = end.split_first_chunk::<HEADER_LEN>()?;
    let ok = packet::Ok::decode(payload, TOLD).ok()?;
    if !ok.session_state?.iter().all(|change| change.is_ok_and(|change| is_of_age(&change))) {
        return None;
    }
    let status = ok.status - StatusFlags::SESSION_STATE_CHANGED;
    let mut out = Vec::new();
    let plain = packet::Ok { status, session_state: None, ..ok };
    put_message(&mut out, Header::parse(*header).seq, &plain.encode(TOLD));
    Some(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The end of an answer: an OK packet.
    const PLAIN: [u8; END] = [7, 0, 0, 9, 0xfe, 0, 0, 2, 0, 0, 0];

    #[test]
    fn a_proxy_is_known_by_its_attribute() {
        let own = announced(None, TOLD);
        assert_eq!(own, b"\x10_pointsman_cache\x012");
        assert_eq!(announced(Some(&own), TOLD), own, "once is enough");
        let with = announced(Some(b"\x01a\x01b"), TOLD);
        assert_eq!(with, [&own[..], b"\x01a\x01b"].concat());
        assert_eq!(Tier::of(Some(b"\x01a\x01b"), TOLD), Tier::Client);
        assert_eq!(Tier::of(Some(&with), TOLD), Tier::Told);
        assert_eq!(Tier::of(Some(&with), TOLD - Capabilities::DEPRECATE_EOF), Tier::Untold);
        assert_eq!(Tier::of(Some(&with), TOLD - Capabilities::SESSION_TRACK), Tier::Untold);
        assert_eq!(Tier::of(Some(b"\x10_pointsman_cache\x011"), TOLD), Tier::Untold, "another version");
        assert_eq!(Tier::of(Some(b"\x10_point"), TOLD), Tier::Client, "no attributes");
    }

    #[test]
    fn a_client_with_no_room_for_the_attribute_gets_no_answers_from_caches() {
        let full = vec![0; ATTRIBUTES_BYTES_MAX - 10];
        assert_eq!(Tier::of(Some(&full), TOLD), Tier::Untold);
        assert_eq!(announced(Some(&full), TOLD), full);
    }

    /// The inner proxy sees the capabilities of the proxy in the middle, which may be more.
    #[test]
    fn a_proxy_that_cannot_be_told_ages_is_not_announced_as_one_that_can() {
        let outer = announced(None, TOLD);
        let lacks = [Capabilities::SESSION_TRACK, Capabilities::DEPRECATE_EOF].map(|one| TOLD - one);
        for capabilities in lacks {
            let own = announced(Some(&outer), capabilities);
            assert_eq!(own, [b"\x10_pointsman_cache\x010", &outer[..]].concat());
            assert_eq!(Tier::of(Some(&own), TOLD), Tier::Untold);
        }
        let mut full = outer;
        full.resize(ATTRIBUTES_BYTES_MAX, 0);
        assert_eq!(announced(Some(&full), lacks[0]), b"\x10_pointsman_cache\x010");
    }

    #[test]
    fn a_proxy_is_taken_for_what_its_logins_say() {
        let full = vec![0; ATTRIBUTES_BYTES_MAX - 10];
        let others = [&b"\x01a\x01b"[..], b"\x10_point", b"\x10_pointsman_cache\x013", &full];
        let proxy = announced(None, TOLD);
        for attributes in others.into_iter().chain([&proxy[..]]).map(Some).chain([None]) {
            for capabilities in [TOLD, TOLD - Capabilities::SESSION_TRACK] {
                let own = announced(attributes, capabilities);
                let at_inner = |names_itself| Tier::at_inner(attributes, capabilities, names_itself);
                assert_eq!(at_inner(true), Tier::of(Some(&own), TOLD), "{attributes:?}");
                assert_eq!(at_inner(false), Tier::of(attributes, TOLD), "{attributes:?}");
            }
        }
    }

    #[test]
    fn a_login_is_answered_with_what_is_told() {
        let payload = welcome(StatusFlags::AUTOCOMMIT);
        assert!(is_welcome(&payload, TOLD));
        assert!(!is_welcome(&payload, Capabilities::PROTOCOL_41));
        assert!(!is_welcome(&packet::Ok::plain(StatusFlags::AUTOCOMMIT).encode(TOLD), TOLD));
    }

    proptest! {
        #[test]
        fn an_age_is_told_and_taken_out(before: Vec<u8>, ms: u32, exact_us: Option<u64>) {
            let mut answer = [&before[..], &PLAIN].concat();
            tell(&mut answer, Age { ms, exact_us });
            let end = answer.get(before.len()..).unwrap();
            let state = packet::Ok::decode(&end[HEADER_LEN..], TOLD).unwrap().session_state.unwrap();
            prop_assert_eq!(age(state), Some(Age { ms, exact_us }));
            prop_assert!(state.iter().flatten().all(|change| is_of_age(&change)));
            prop_assert_eq!(plain_end(end).unwrap(), PLAIN);
        }

        #[test]
        fn any_bytes_are_taken(bytes: Vec<u8>, ms: u32) {
            let _ = (plain_end(&bytes), is_welcome(&bytes, TOLD), named(&bytes));
            let mut answer = bytes;
            tell(&mut answer, Age { ms, exact_us: None });
        }
    }

    #[test]
    fn other_changes_are_not_lost() {
        let changes = [StateChange::Schema(b"a"), StateChange::SystemVariable { name: AGE, value: b"7" }];
        let state = SessionState::encode(&changes);
        let ok = packet::Ok {
            session_state: Some(SessionState::new(&state)),
            ..packet::Ok::plain(StatusFlags::AUTOCOMMIT)
        };
        let mut end = Vec::new();
        put_message(&mut end, 1, &ok.encode(TOLD));
        assert_eq!(plain_end(&end), None);
    }

    #[test]
    fn what_makes_no_sense_is_as_old_as_can_be_and_exact_as_of_no_moment() {
        let of = |changes: &[(&[u8], &[u8])]| {
            let change = |(name, value)| StateChange::SystemVariable { name, value };
            let state = SessionState::encode(&changes.iter().copied().map(change).collect::<Vec<_>>());
            age(SessionState::new(&state))
        };
        let old = Some(Age { ms: u32::MAX, exact_us: None });
        assert_eq!(of(&[(AGE, b"x"), (EXACT, b"-1")]), old);
        assert_eq!(of(&[(EXACT, b"7"), (AGE, b"\xff")]), old.map(|age| Age { exact_us: Some(7), ..age }));
        assert_eq!(of(&[(EXACT, b"7")]), None, "the age comes with it");
    }
}
