//! What the proxy says to a server in front of a client's command, in one write with it, so that a connection that changes hands
//! costs no round trip.
//!
//! The command is on its way before the server has taken what is said in front of it. So settings are only said that way if the same
//! server has [taken](Taken) them from the same user before. Should it refuse one of these now, nothing of the answer to the command
//! reaches the client, and the connection is closed; but a write may have been done without the setting.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher as _, RandomState};
use std::mem;

use tokio::time::Instant;
use wire::frame::{HEADER_LEN, put_message};
use wire::reply::{Answer, Event, ReplyScanner};
use wire::{Capabilities, StatusFlags};

use super::lend::{Purpose, number};
use super::{Asked, Reply};
use crate::limits::{ERRAND_BYTES_MAX, TAKEN_MAX};
use crate::state::results::Asking;

/// What is said first, and what has not been answered of it.
#[derive(Debug)]
pub(crate) struct Prologue {
    /// What is to be sent with the next command; empty once it was.
    packets: Vec<u8>,
    /// What the answers are for that have not come, in order.
    expected: VecDeque<(Purpose, Answer)>,
    /// Reads the answer that is on its way.
    scanner: ReplyScanner,
    /// What has come of that.
    bytes: Vec<u8>,
    capabilities: Capabilities,
    /// Who waits to be told the last key.
    asking: Option<Asking>,
    /// What `LAST_INSERT_ID()` is there, once the server has told it.
    last_id: Option<u64>,
    /// Only the server knows that now: a statement of `init_connect` has generated a key.
    hides_last_id: bool,
    /// The connection's status, as the answers have told it last.
    status: Option<StatusFlags>,
    /// Whether there are warnings in the answers.
    warns: bool,
}

/// A server has refused what it had taken before: the payload of its ERR packet. Nothing if its answer makes no sense.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refused(pub(crate) Vec<u8>);

impl Prologue {
    /// Says `commands` behind `packets`, which are not answered. None if there are no commands.
    pub(crate) fn new(
        mut packets: Vec<u8>,
        commands: Vec<(Purpose, Asked)>,
        capabilities: Capabilities,
        asking: Option<Asking>,
    ) -> Option<Self> {
        let (_, (_, first)) = commands.first()?;
        let scanner = ReplyScanner::new(*first, capabilities);
        let mut expected = VecDeque::with_capacity(commands.len());
        for (purpose, (payload, answer)) in commands {
            put_message(&mut packets, 0, &payload);
            expected.push_back((purpose, answer));
        }
        Some(Self {
            packets,
            expected,
            scanner,
            bytes: Vec::new(),
            capabilities,
            asking,
            last_id: None,
            hides_last_id: false,
            status: None,
            warns: false,
        })
    }

    /// What is to be sent in front of the next command; nothing the second time.
    pub(crate) fn take_packets(&mut self) -> Vec<u8> {
        mem::take(&mut self.packets)
    }

    /// Whether all of it was answered.
    pub(crate) fn is_over(&self) -> bool {
        self.expected.is_empty()
    }

    /// What `LAST_INSERT_ID()` is there now, as far as is known, if that was `before` when nothing had been answered.
    pub(crate) fn last_id(&self, before: Option<u64>) -> Option<u64> {
        if self.hides_last_id { None } else { self.last_id.or(before) }
    }

    /// The connection's status, if the answers tell it.
    pub(crate) const fn status(&self) -> Option<StatusFlags> {
        self.status
    }

    /// Whether the answers leave warnings there.
    pub(crate) const fn warns(&self) -> bool {
        self.warns
    }

    /// Reads what `input` has of the answers, and returns how many bytes that is. There are none before it was sent.
    pub(crate) fn hear(&mut self, input: &[u8]) -> Result<usize, Refused> {
        let mut heard = 0;
        if !self.packets.is_empty() {
            return Ok(heard);
        }
        while !self.is_over() {
            let rest = input.get(heard..).unwrap_or_default();
            let scan = self.scanner.scan(rest).map_err(|_| Refused(Vec::new()))?;
            heard += scan.len;
            self.bytes.extend_from_slice(rest.get(..scan.len).unwrap_or_default());
            match scan.event {
                Event::More if self.bytes.len() <= ERRAND_BYTES_MAX => return Ok(heard),
                Event::Changed => {}
                Event::More | Event::LocalInfile => return Err(Refused(Vec::new())),
                Event::Done(outcome) => {
                    let bytes = mem::take(&mut self.bytes);
                    self.answered(&Reply { outcome, prepared: None, bytes })?;
                }
            }
        }
        Ok(heard)
    }

    /// The next answer is complete.
    fn answered(&mut self, reply: &Reply) -> Result<(), Refused> {
        let Some((purpose, _)) = self.expected.pop_front() else { return Err(Refused(Vec::new())) };
        if purpose.is_refused(reply) {
            return Err(Refused(reply.bytes.get(HEADER_LEN..).unwrap_or_default().to_vec()));
        }
        self.warns |= reply.warns();
        self.status = reply.outcome.status().or(self.status);
        match purpose {
            Purpose::LastId => {
                self.last_id = number(reply);
                if let Some((asking, last_id)) = self.asking.take().zip(self.last_id) {
                    asking.told(last_id);
                }
            }
            Purpose::Reset => self.last_id = Some(0),
            Purpose::Initial => self.hides_last_id |= reply.has_key(),
            _ => {}
        }
        if let Some((_, next)) = self.expected.front() {
            self.scanner = ReplyScanner::new(*next, self.capabilities);
        }
        Ok(())
    }
}

/// What servers have taken of a worker's sessions, as hashes, and when they have done so last.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    hashes: RefCell<HashMap<u64, Instant>>,
    state: RandomState,
}

impl Taken {
    /// This server has taken a command with this payload from this user now.
    pub(crate) fn note(&self, server: u64, user: &[u8], payload: &[u8]) {
        let mut hashes = self.hashes.borrow_mut();
        if hashes.len() >= TAKEN_MAX {
            hashes.clear();
        }
        hashes.insert(self.state.hash_one((server, user, payload)), Instant::now());
    }

    /// Whether it has, since `opened`: as long as a connection lives that was opened then, it is the same server.
    pub(crate) fn has(&self, server: u64, user: &[u8], payload: &[u8], opened: Instant) -> bool {
        let hash = self.state.hash_one((server, user, payload));
        self.hashes.borrow().get(&hash).is_some_and(|taken| *taken >= opened)
    }

    /// One of them was refused: all are asked about again.
    pub(crate) fn clear(&self) {
        self.hashes.borrow_mut().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OK: &[u8] = b"\x07\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00";
    const ERR: &[u8] = b"\x09\x00\x00\x01\xff\x19\x04#42000";
    const ROW: &[u8] = b"\x01\x00\x00\x01\x01\x17\x00\x00\x02\x03def\x00\x00\x00\x01x\x00\x0c\x3f\x00\x01\x00\x00\x00\x08\x81\x00\x00\x00\x00\
        \x05\x00\x00\x03\xfe\x00\x00\x02\x00\x03\x00\x00\x04\x0242\x05\x00\x00\x05\xfe\x00\x00\x02\x00";

    fn saying(purposes: &[Purpose]) -> Prologue {
        let commands = purposes.iter().map(|purpose| (*purpose, (b"\x03SET".to_vec(), Answer::Result)));
        Prologue::new(vec![9], commands.collect(), Capabilities::PROTOCOL_41, None).unwrap()
    }

    fn said(purposes: &[Purpose]) -> Prologue {
        let mut prologue = saying(purposes);
        prologue.take_packets();
        prologue
    }

    #[test]
    fn what_is_said_goes_out_once() {
        let mut prologue = saying(&[Purpose::Setting, Purpose::Setting]);
        assert_eq!(prologue.take_packets(), b"\x09\x04\0\0\0\x03SET\x04\0\0\0\x03SET");
        assert_eq!(prologue.take_packets(), b"");
        assert_eq!(saying(&[Purpose::Setting]).hear(OK), Ok(0), "it is the answer to something else");
        assert!(Prologue::new(Vec::new(), Vec::new(), Capabilities::PROTOCOL_41, None).is_none());
    }

    #[test]
    fn c01_answers_are_told_from_the_one_behind_them_wherever_they_are_cut() {
        let input = [OK, ROW, OK, b"rest"].concat();
        for cut in 0..input.len() {
            let mut prologue = said(&[Purpose::Setting, Purpose::LastId, Purpose::Setting]);
            let (first, second) = input.split_at(cut);
            let mut heard = prologue.hear(first).unwrap();
            if !prologue.is_over() {
                assert_eq!(heard, cut, "all of it belongs to the answers");
                heard += prologue.hear(second).unwrap();
            }
            assert_eq!((heard, prologue.is_over()), (input.len() - 4, true), "cut at {cut}");
        }
    }

    #[test]
    fn a_key_that_a_first_statement_has_generated_is_nobodys() {
        let keyed = b"\x07\x00\x00\x01\x00\x01\x09\x02\x00\x00\x00";
        for (answer, last_id) in [(OK, Some(0)), (&keyed[..], None)] {
            let mut prologue = said(&[Purpose::Reset, Purpose::Initial]);
            assert_eq!(prologue.hear(OK), Ok(OK.len()));
            assert_eq!(prologue.hear(answer), Ok(answer.len()));
            assert_eq!(prologue.last_id(Some(5)), last_id);
        }
    }

    #[test]
    fn a_refusal_is_noticed() {
        assert_eq!(said(&[Purpose::Schema]).hear(ERR), Err(Refused(ERR[4..].to_vec())));
        let mut second = said(&[Purpose::Setting, Purpose::Schema]);
        assert_eq!(second.hear(OK), Ok(OK.len()));
        assert_eq!(second.hear(ERR), Err(Refused(ERR[4..].to_vec())));
        assert_eq!(
            said(&[Purpose::Schema]).hear(b"\x01\x00\x00\x07\x00"),
            Err(Refused(Vec::new())),
            "no answer"
        );
    }

    #[test]
    fn what_was_taken_is_known_by_server_and_user() {
        let (taken, opened) = (Taken::default(), Instant::now());
        taken.note(1, b"a", b"SET x");
        assert!(taken.has(1, b"a", b"SET x", opened));
        assert!(!taken.has(2, b"a", b"SET x", opened) && !taken.has(1, b"b", b"SET x", opened));
        let later = Instant::now() + std::time::Duration::from_secs(1);
        assert!(!taken.has(1, b"a", b"SET x", later), "it may be another server by now");
        for n in 0..TAKEN_MAX {
            taken.note(1, b"a", &n.to_le_bytes());
        }
        assert!(taken.hashes.borrow().len() <= TAKEN_MAX);
        taken.clear();
        assert!(!taken.has(1, b"a", b"SET x", opened));
    }
}
