//! Commands that set a connection up for a session, sent in one write with the client's command, so
//! that a connection that changes hands costs no round trip.
//!
//! The command is on its way before the server has accepted the commands in front of it. So
//! settings are only sent that way if the same server has [accepted](AcceptedSettings) them from
//! the same user before. Should it refuse one of these now, nothing of the reply to the command
//! reaches the client, and the connection is closed; but a write may have been done without the
//! setting.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::mem;

use session::state::results::Asking;
use tokio::time::Instant;
use wire::frame::put_message;
use wire::reply::Event;
use wire::{Capabilities, StatusFlags};

use crate::last_id::last_id_behind;
use crate::limits::{INTERNAL_BYTES_MAX, TAKEN_MAX};
use crate::pipeline::{Expected, Owner, Pipeline};
use crate::purpose::Purpose;
use crate::{InternalQuery, Reply};

/// Commands that set a connection up, until the last one is answered. Their replies are in the
/// connection's `Pipeline`.
#[derive(Debug)]
pub struct Setup {
    /// Packets in front of the commands; they have no reply.
    closings: Vec<u8>,
    /// The commands; empty once they were sent.
    commands: Vec<(Purpose, InternalQuery)>,
    /// The beginning of the reply that is being read.
    bytes: Vec<u8>,
    capabilities: Capabilities,
    /// The session that waits for its last key.
    asking: Option<Asking>,
    /// The connection's status, as the replies have told it last.
    status: Option<StatusFlags>,
}

/// A server has refused what it had taken before: the payload of its ERR packet. Nothing if its
/// answer makes no sense.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused(pub Vec<u8>);

impl Setup {
    /// `commands` behind the packets `closings`, which are not answered. None if there are no
    /// commands.
    pub fn new(
        closings: Vec<u8>,
        commands: Vec<(Purpose, InternalQuery)>,
        capabilities: Capabilities,
        asking: Option<Asking>,
    ) -> Option<Box<Self>> {
        let is_any = !commands.is_empty();
        is_any.then(|| {
            Box::new(Self { closings, commands, bytes: Vec::new(), capabilities, asking, status: None })
        })
    }

    /// The packets to be sent in front of the next command, whose replies are owed from now on;
    /// none the second time.
    pub(crate) fn take_packets(&mut self, pipeline: &mut Pipeline) -> Option<Vec<u8>> {
        if self.is_sent() {
            return None;
        }
        let mut packets = mem::take(&mut self.closings);
        for (purpose, (payload, answer)) in mem::take(&mut self.commands) {
            put_message(&mut packets, 0, &payload);
            pipeline.expect(Expected::new(answer, Owner::Setup(purpose)), self.capabilities);
        }
        Some(packets)
    }

    /// Whether the commands were sent.
    pub(crate) const fn is_sent(&self) -> bool {
        self.commands.is_empty()
    }

    /// The connection's status, if the replies tell it.
    pub(crate) const fn status(&self) -> Option<StatusFlags> {
        self.status
    }

    /// Reads a part of the reply to the command with this purpose, and puts into `last_id` what its
    /// end tells of `LAST_INSERT_ID()`. Whether it leaves warnings.
    pub(crate) fn read(
        &mut self,
        purpose: Purpose,
        bytes: &[u8],
        event: Event,
        last_id: &mut Option<u64>,
    ) -> Result<bool, Refused> {
        self.bytes.extend_from_slice(bytes);
        match event {
            Event::More if self.bytes.len() <= INTERNAL_BYTES_MAX => Ok(false),
            Event::Changed => Ok(false),
            Event::More | Event::LocalInfile => Err(Refused(Vec::new())),
            Event::Done(outcome) => {
                let reply = Reply { outcome, prepared: None, bytes: mem::take(&mut self.bytes) };
                if purpose.is_refused(reply.error()) {
                    return Err(Refused(reply.payload().to_vec()));
                }
                self.status = outcome.status().or(self.status);
                *last_id = last_id_behind(*last_id, purpose, &reply, &mut self.asking);
                Ok(reply.warns())
            }
        }
    }
}

/// What servers have taken of a worker's sessions, as hashes, and when they have done so last.
#[derive(Debug, Default)]
pub struct AcceptedSettings {
    hashes: RefCell<HashMap<u64, Instant>>,
    state: RandomState,
}

impl AcceptedSettings {
    /// This server has taken a command with this payload from this user now.
    pub fn note(&self, server: u64, user: &[u8], payload: &[u8]) {
        let mut hashes = self.hashes.borrow_mut();
        if hashes.len() >= TAKEN_MAX {
            hashes.clear();
        }
        hashes.insert(self.state.hash_one((server, user, payload)), Instant::now());
    }

    /// Whether it has, since `opened`: as long as a connection lives that was opened then, it is
    /// the same server.
    pub fn has(&self, server: u64, user: &[u8], payload: &[u8], opened: Instant) -> bool {
        let hash = self.state.hash_one((server, user, payload));
        self.hashes.borrow().get(&hash).is_some_and(|taken| *taken >= opened)
    }

    /// One of them was refused: all are asked about again.
    pub fn clear(&self) {
        self.hashes.borrow_mut().clear();
    }
}

#[cfg(test)]
mod tests {
    use wire::reply::Answer;

    use super::*;
    use crate::pipeline::Segment;

    const OK: &[u8] = b"\x07\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00";
    const ERR: &[u8] = b"\x09\x00\x00\x01\xff\x19\x04#42000";
    const ROW: &[u8] = b"\x01\x00\x00\x01\x01\x17\x00\x00\x02\x03def\x00\x00\x00\x01x\x00\x0c\x3f\x00\x01\x00\x00\x00\x08\x81\x00\x00\x00\x00\
        \x05\x00\x00\x03\xfe\x00\x00\x02\x00\x03\x00\x00\x04\x0242\x05\x00\x00\x05\xfe\x00\x00\x02\x00";

    fn setup(purposes: &[Purpose]) -> Setup {
        let commands = purposes.iter().map(|purpose| (*purpose, (b"\x03SET".to_vec(), Answer::Result)));
        *Setup::new(vec![9], commands.collect(), Capabilities::PROTOCOL_41, None).unwrap()
    }

    /// `LAST_INSERT_ID()` behind commands with these purposes that have these replies.
    fn answered(purposes: &[Purpose], replies: &[&[u8]]) -> Result<Option<u64>, Refused> {
        let (mut setup, mut pipeline, mut last_id) = (setup(purposes), Pipeline::default(), Some(5));
        setup.take_packets(&mut pipeline).unwrap();
        for reply in replies {
            let Segment { owner, bytes, event } = pipeline.cut(reply).unwrap();
            let Owner::Setup(purpose) = owner else { panic!("{owner:?}") };
            setup.read(purpose, bytes, event, &mut last_id)?;
        }
        assert_eq!(pipeline.owner().is_none(), purposes.len() == replies.len());
        Ok(last_id)
    }

    #[test]
    fn commands_go_out_once() {
        let (mut setup, mut pipeline) = (setup(&[Purpose::Setting, Purpose::Setting]), Pipeline::default());
        assert!(!setup.is_sent());
        let packets = setup.take_packets(&mut pipeline);
        assert_eq!(packets.as_deref(), Some(&b"\x09\x04\0\0\0\x03SET\x04\0\0\0\x03SET"[..]));
        assert!(setup.is_sent());
        assert_eq!(setup.take_packets(&mut pipeline), None);
        assert!(Setup::new(Vec::new(), Vec::new(), Capabilities::PROTOCOL_41, None).is_none());
    }

    #[test]
    fn a_reply_is_read_in_pieces() {
        let (mut setup, mut last_id) = (setup(&[Purpose::LastId]), None);
        let mut pipeline = Pipeline::default();
        setup.take_packets(&mut pipeline);
        for byte in ROW {
            let segment = pipeline.cut(std::slice::from_ref(byte)).unwrap();
            setup.read(Purpose::LastId, segment.bytes, segment.event, &mut last_id).unwrap();
        }
        assert_eq!(last_id, Some(42));
    }

    #[test]
    fn a_key_that_a_first_statement_has_generated_is_hidden() {
        let keyed = b"\x07\x00\x00\x01\x00\x01\x09\x02\x00\x00\x00";
        for (reply, last_id) in [(OK, Some(0)), (&keyed[..], None)] {
            assert_eq!(answered(&[Purpose::Reset, Purpose::Initial], &[OK, reply]), Ok(last_id));
        }
    }

    #[test]
    fn a_refusal_is_noticed() {
        let refusal = Refused(ERR[4..].to_vec());
        assert_eq!(answered(&[Purpose::Schema], &[ERR]).unwrap_err(), refusal);
        assert_eq!(answered(&[Purpose::Setting, Purpose::Schema], &[OK, ERR]).unwrap_err(), refusal);
    }

    #[test]
    fn what_was_taken_is_known_by_server_and_user() {
        let (taken, opened) = (AcceptedSettings::default(), Instant::now());
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
