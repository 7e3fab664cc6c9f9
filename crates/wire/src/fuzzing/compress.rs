//! The compressed protocol out of any bytes, split in any way.

use super::input::pieces;
use crate::{
    WireError,
    compress::{Codecs, Inflater, Method, Numbering, Peer},
};

/// Bytes at the front that say how the rest is split.
const LENGTHS: usize = 4;

/// Bytes of plain text that are read at once, and that a case may have in all.
const ROOM: usize = 1 << 12;
const PLAIN_LEN_MAX: usize = 1 << 20;

/// Expands `data` behind its first bytes, in one piece and in others; and sends it through frames
/// and back.
///
/// The first byte chooses method and peer, the next four are the lengths of the pieces.
pub fn compress(data: &[u8]) {
    let (&first, data) = data.split_first().unwrap_or((&0, &[]));
    let (lengths, bytes) = data.split_at_checked(LENGTHS).unwrap_or((&[], data));
    let method = if first & 1 == 0 { Method::Zlib } else { Method::Zstd { level: 1 + first % 19 } };
    let peer = if first & 2 == 0 { Peer::Client } else { Peer::Server };
    let mut codecs = Codecs::new(first % 10);
    let whole = receive(&mut codecs, method, peer, bytes, &[]);
    let parts = receive(&mut codecs, method, peer, bytes, lengths);
    match (whole, parts) {
        (Ok(whole), Ok(parts)) => assert!(whole == parts, "the plain text depends on the split"),
        (whole, parts) => assert_eq!(whole.is_err(), parts.is_err(), "what is refused depends on the split"),
    }
    round_trip(&mut codecs, method, bytes, lengths);
}

/// The plain text of `bytes`, with the ids of the packets in it set; cut where there is too much of
/// it.
fn receive(
    codecs: &mut Codecs,
    method: Method,
    peer: Peer,
    bytes: &[u8],
    lengths: &[u8],
) -> Result<Vec<u8>, WireError> {
    let mut inflater = Inflater::new(method);
    let mut numbering = Numbering::new(peer);
    let mut plain = Vec::new();
    let mut buffer = vec![0; ROOM];
    for mut piece in pieces(bytes, lengths) {
        loop {
            let done = inflater.inflate(codecs, piece, &mut buffer)?;
            let written = buffer.get_mut(..done.written).unwrap_or_default();
            numbering.receive(written);
            plain.extend_from_slice(written);
            piece = piece.get(done.read..).unwrap_or_default();
            if let Some(seq) = done.frame {
                numbering.receive_frame(seq)?;
            }
            if plain.len() > PLAIN_LEN_MAX {
                return Err(WireError::TooLong { limit: PLAIN_LEN_MAX });
            }
            if (done.read, done.written) == (0, 0) {
                break;
            }
        }
    }
    Ok(plain)
}

/// What is sent through frames arrives as it was, but for the ids that are set anew.
fn round_trip(codecs: &mut Codecs, method: Method, plain: &[u8], lengths: &[u8]) {
    let mut frames = Vec::new();
    let mut numbering = Numbering::new(Peer::Server);
    let mut arrived = Vec::new();
    for mut piece in pieces(plain, lengths) {
        while !piece.is_empty() {
            let (len, seq) = numbering.send(piece);
            assert!(len > 0, "a frame without content");
            let (now, later) = piece.split_at_checked(len).unwrap_or((piece, &[]));
            codecs.put_frame(method, seq, now, &mut frames);
            piece = later;
        }
    }
    let mut inflater = Inflater::new(method);
    let mut buffer = vec![0; ROOM];
    let mut rest = &frames[..];
    loop {
        let done = inflater.inflate(codecs, rest, &mut buffer).unwrap_or_else(|error| {
            unreachable!("a frame of our own is refused: {error}");
        });
        arrived.extend_from_slice(buffer.get(..done.written).unwrap_or_default());
        rest = rest.get(done.read..).unwrap_or_default();
        if (done.read, done.written) == (0, 0) {
            break;
        }
    }
    assert!(arrived == plain, "what was sent has not arrived");
}
