//! The changes of a session that OK packets tell: read as they pass, and taken out where the client
//! has not asked for them.
//!
//! A packet that a read has cut is held back until the rest of it comes. What is not an OK packet,
//! and what is too long to be one that servers send, passes as it is.

use gtid::Gtid;
use wire::frame::{HEADER_LEN, Header, put_message};
use wire::packet::{self, SessionState, StateChange};
use wire::{Capabilities, Codec as _, StatusFlags};

use super::gtids::{LAST_GTID, last_at_mariadb, last_of};
use crate::limits::TRACKERS_BYTES_MAX;
use crate::tier::{self, Age};

/// What OK packets are read with: their server was asked for all of it.
const TOLD: Capabilities = Capabilities::PROTOCOL_41.union(Capabilities::SESSION_TRACK);

/// What of the changes the client gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeps {
    /// All of them.
    All,
    /// All but GTIDs.
    Others,
    /// None: it has no capability for that.
    Nothing,
}

/// What an OK packet tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Told {
    /// The last transaction.
    pub gtid: Option<Gtid>,
    /// The age of the answer, which comes from the query cache of another proxy.
    pub age: Option<Age>,
}

/// The answer that passes.
#[derive(Debug)]
pub struct Trackers {
    keeps: Keeps,
    /// The client gets the ages of answers.
    keeps_ages: bool,
    /// The client has asked MariaDB for `last_gtid` itself.
    keeps_last_gtid: bool,
    /// The beginning of a packet that the last read has cut.
    held: Vec<u8>,
    /// What was held and read, up to where `passed` is, as the client gets it.
    told: Vec<u8>,
    /// Bytes of what was held and read that are told.
    passed: usize,
}

impl Trackers {
    /// For a client that gets this, and the ages of answers if it `keeps_ages`.
    pub const fn new(keeps: Keeps, keeps_ages: bool) -> Self {
        Self { keeps, keeps_ages, keeps_last_gtid: false, held: Vec::new(), told: Vec::new(), passed: 0 }
    }

    /// What the client gets from now on.
    pub const fn keep(&mut self, keeps: Keeps) {
        self.keeps = keeps;
    }

    /// Whether the client gets MariaDB's `last_gtid` from now on, whatever else it gets.
    pub const fn keep_last_gtid(&mut self, keeps: bool) {
        self.keeps_last_gtid = keeps;
    }

    /// Another answer begins. Of one that was cut short the client gets nothing more.
    pub fn begin(&mut self) {
        self.held.clear();
        self.told.clear();
        self.passed = 0;
    }

    /// The last `len` bytes of what has come, of which `read` is what the last read has brought,
    /// are a packet that tells of changes: looks at it. Returns what it tells.
    pub fn look(&mut self, read: &[u8], len: usize) -> Option<Told> {
        let end = self.held.len() + read.len();
        // Its beginning may be told already.
        let begin = end.checked_sub(len).filter(|begin| *begin >= self.passed)?;
        let packet = [self.held.get(begin..).unwrap_or_default(), self.read_from(read, begin)].concat();
        let (header, payload) = packet.split_first_chunk::<HEADER_LEN>()?;
        let ok = packet::Ok::decode(payload, TOLD).ok()?;
        let state = ok.session_state?;
        let told = Told { gtid: told(state), age: tier::age(state) };
        if self.keeps != Keeps::All || told.age.is_some() && !self.keeps_ages {
            let before = self.take(read, begin);
            self.told.extend_from_slice(&before);
            let rest = self.without(ok, state);
            put_message(&mut self.told, Header::parse(*header).seq, &rest);
            self.passed = end;
        }
        Some(told)
    }

    /// The payload of an OK packet that has told these changes, with those that the client gets.
    fn without(&self, ok: packet::Ok<'_>, state: SessionState<'_>) -> Vec<u8> {
        let status = ok.status - StatusFlags::SESSION_STATE_CHANGED;
        if self.keeps == Keeps::Nothing {
            return packet::Ok { status, session_state: None, ..ok }.encode(Capabilities::PROTOCOL_41);
        }
        let is_kept = |change: &StateChange<'_>| match change {
            StateChange::Gtids(_) => self.keeps == Keeps::All,
            StateChange::SystemVariable { name: LAST_GTID, .. } => {
                self.keeps == Keeps::All || self.keeps_last_gtid
            }
            change => self.keeps_ages || !tier::is_of_age(change),
        };
        let kept: Vec<_> = state.iter().filter_map(Result::ok).filter(is_kept).collect();
        let bytes = SessionState::encode(&kept);
        let session_state = (!kept.is_empty()).then(|| SessionState::new(&bytes));
        packet::Ok { status, session_state, ..ok }.encode(TOLD)
    }

    /// What the client gets of what was held and read; nothing if that is what was read. Of the
    /// end, `cut` bytes may be the beginning of such a packet.
    pub fn pass(&mut self, read: &[u8], cut: usize) -> Option<Vec<u8>> {
        let all = self.held.len() + read.len();
        let may_hold = cut <= TRACKERS_BYTES_MAX && cut <= all - self.passed;
        let end = if may_hold { all - cut } else { all };
        if self.held.is_empty() && self.passed == 0 && end == all {
            return None;
        }
        let rest = self.take(read, end);
        let mut told = std::mem::take(&mut self.told);
        told.extend_from_slice(&rest);
        let cut = [self.held.get(end..).unwrap_or_default(), self.read_from(read, end)].concat();
        (self.held, self.passed) = (cut, 0);
        Some(told)
    }

    /// What was held and read and is not told yet, up to here.
    fn take(&self, read: &[u8], end: usize) -> Vec<u8> {
        let held = self.held.get(self.passed..end.min(self.held.len())).unwrap_or_default();
        let from = self.passed.max(self.held.len()) - self.held.len();
        let read = read.get(from..end.saturating_sub(self.held.len())).unwrap_or_default();
        [held, read].concat()
    }

    /// What of `read` is behind this place.
    fn read_from<'a>(&self, read: &'a [u8], place: usize) -> &'a [u8] {
        read.get(place.saturating_sub(self.held.len())..).unwrap_or_default()
    }
}

/// The last transaction that is among these changes.
fn told(state: SessionState<'_>) -> Option<Gtid> {
    let gtids = state.iter().filter_map(|change| match change {
        Ok(StateChange::Gtids(text)) => last_of(text),
        Ok(StateChange::SystemVariable { name: LAST_GTID, value }) => last_at_mariadb(value),
        _ => None,
    });
    gtids.last()
}

/// The last transaction that an OK packet tells, given as its payload.
pub fn told_in(payload: &[u8]) -> Option<Gtid> {
    packet::Ok::decode(payload, TOLD).ok()?.session_state.and_then(told)
}

#[cfg(test)]
mod tests {
    use wire::packet::OkHeader;
    use wire::reply::{Answer, Event, ReplyScanner};

    use super::*;

    const UUID: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
    const MORE: StatusFlags = StatusFlags::MORE_RESULTS;

    fn ok(header: OkHeader, status: StatusFlags, changes: &[StateChange<'_>]) -> Vec<u8> {
        let state = SessionState::encode(changes);
        let state = (!changes.is_empty()).then(|| SessionState::new(&state));
        packet::Ok { header, session_state: state, info: b"x", ..packet::Ok::plain(status) }.encode(TOLD)
    }

    fn messages(payloads: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        payloads.iter().fold(1, |seq, payload| put_message(&mut bytes, seq, payload));
        bytes
    }

    /// What the client gets of an answer that comes in these pieces, and what was told.
    fn pass(keeps: Keeps, pieces: &[&[u8]]) -> (Vec<u8>, Vec<Gtid>) {
        let caps = TOLD | Capabilities::DEPRECATE_EOF;
        let mut reply = ReplyScanner::new(Answer::Result, caps).stopping_at_changes(true);
        let (mut trackers, mut out, mut gtids) = (Trackers::new(keeps, false), Vec::new(), Vec::new());
        for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
            let mut scanned = 0;
            let event = loop {
                let scan = reply.scan(&piece[scanned..]).unwrap();
                scanned += scan.len;
                match scan.event {
                    Event::Changed => {}
                    Event::Done(outcome)
                        if outcome.status().unwrap().contains(StatusFlags::SESSION_STATE_CHANGED) => {}
                    event => break event,
                }
                let told = trackers.look(&piece[..scanned], reply.last_len().unwrap());
                gtids.extend(told.and_then(|told| told.gtid));
                if scan.event != Event::Changed {
                    break scan.event;
                }
            };
            assert_eq!(scanned, piece.len());
            let cut = if event == Event::More { reply.cut_len() } else { 0 };
            out.extend_from_slice(trackers.pass(piece, cut).as_deref().unwrap_or(piece));
        }
        (out, gtids)
    }

    #[test]
    fn c18_the_packets_of_all_results_are_looked_at_wherever_reads_cut_them() {
        let gtid = |number| format!("{UUID}:{number}");
        let (first, last) = (gtid(4), gtid(5));
        let [first, last] = [&first, &last].map(|text| StateChange::Gtids(text.as_bytes()));
        let schema = StateChange::Schema(b"shop");
        let column = packet::Column::text(b"a", 45).encode(TOLD);
        let answer = |first: &[StateChange<'_>], rows: &[StateChange<'_>], last: &[StateChange<'_>]| {
            messages(&[
                ok(OkHeader::Ok, MORE, first),
                vec![1],
                column.clone(),
                b"\0".to_vec(),
                b"\xfb".to_vec(),
                ok(OkHeader::Eof, MORE, rows),
                ok(OkHeader::Ok, MORE, &[]),
                ok(OkHeader::Ok, StatusFlags::empty(), last),
            ])
        };
        let told = answer(&[first], &[schema], &[schema, last]);
        let of = |keeps| match keeps {
            Keeps::All => told.clone(),
            Keeps::Others => answer(&[], &[schema], &[schema]),
            Keeps::Nothing => answer(&[], &[], &[]),
        };
        let expected = [4, 5].map(|number| gtid(number).parse().unwrap());
        for keeps in [Keeps::All, Keeps::Others, Keeps::Nothing] {
            for at in 0..=told.len() {
                let (one, two) = told.split_at(at);
                let (got, gtids) = pass(keeps, &[one, two]);
                assert_eq!(got, of(keeps), "{keeps:?}, cut at {at}");
                assert_eq!(gtids, expected, "{keeps:?}, cut at {at}");
            }
            let single: Vec<_> = told.chunks(1).collect();
            assert_eq!(pass(keeps, &single), (of(keeps), expected.to_vec()), "{keeps:?}, byte by byte");
        }
    }

    #[test]
    fn mariadbs_last_gtid_is_taken_out_unless_the_client_has_asked_for_it() {
        let last = StateChange::SystemVariable { name: b"last_gtid", value: b"0-1-7" };
        let zone = StateChange::SystemVariable { name: b"time_zone", value: b"UTC" };
        let of =
            |changes: &[StateChange<'_>]| messages(&[ok(OkHeader::Ok, StatusFlags::AUTOCOMMIT, changes)]);
        let told = of(&[zone, last]);
        let gtid: Gtid = "0-1-7".parse().unwrap();
        for (keeps, expected) in
            [(Keeps::All, told.clone()), (Keeps::Others, of(&[zone])), (Keeps::Nothing, of(&[]))]
        {
            assert_eq!(pass(keeps, &[&told]), (expected, vec![gtid]), "{keeps:?}");
        }
        let mut trackers = Trackers::new(Keeps::Others, false);
        trackers.keep_last_gtid(true);
        assert_eq!(trackers.look(&told, told.len()).unwrap().gtid, Some(gtid));
        assert_eq!(trackers.pass(&told, 0).as_deref().unwrap_or(&told), told);
    }

    #[test]
    fn the_age_of_an_answer_is_taken_out_wherever_reads_cut_it() {
        let column = packet::Column::text(b"a", 45).encode(TOLD);
        let rows = [vec![1], column, b"\x017".to_vec()];
        let mut plain = Vec::new();
        let end = packet::Ok { header: OkHeader::Eof, ..packet::Ok::plain(StatusFlags::AUTOCOMMIT) };
        rows.iter().chain([&end.encode(TOLD)]).fold(1, |seq, one| put_message(&mut plain, seq, one));
        let mut told = plain.clone();
        let age = Age { ms: 1234, exact_us: Some(0) };
        tier::tell(&mut told, age);
        for keeps in [Keeps::All, Keeps::Others, Keeps::Nothing] {
            for at in 0..=told.len() {
                let (one, two) = told.split_at(at);
                assert_eq!(pass(keeps, &[one, two]).0, plain, "{keeps:?}, cut at {at}");
            }
        }
        let len = told.len() - plain.len() + HEADER_LEN + 7;
        let mut trackers = Trackers::new(Keeps::All, true);
        assert_eq!(trackers.look(&told, len).unwrap().age, Some(age));
        assert_eq!(trackers.pass(&told, 0), None, "a proxy gets it");
    }

    #[test]
    fn rows_are_not_held_back() {
        let mut trackers = Trackers::new(Keeps::Others, false);
        let row = [b'x'; 100];
        assert_eq!(trackers.pass(&row, 0), None, "as it is");
        assert_eq!(trackers.pass(&row, 10).as_deref(), Some(&row[..90]));
        assert_eq!(trackers.pass(&row, 0).map(|told| told.len()), Some(110));
        let long = vec![0; TRACKERS_BYTES_MAX + 2];
        assert_eq!(trackers.pass(&long, TRACKERS_BYTES_MAX + 1), None, "there is an end to what is held");
        assert_eq!(trackers.look(&long, 2 * TRACKERS_BYTES_MAX), None);
        assert_eq!(trackers.pass(&row, TRACKERS_BYTES_MAX), None, "its beginning is told");
    }
}
