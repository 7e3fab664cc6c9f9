#![expect(clippy::cast_possible_truncation, reason = "ids and patterns wrap")]

use proptest::{collection::vec, prelude::*};

use super::*;
use crate::compress::{FrameHeader, MIN_COMPRESS_LEN};
use crate::frame::MAX_PAYLOAD;

const METHODS: [Method; 3] = [Method::Zlib, Method::Zstd { level: 1 }, Method::Zstd { level: 22 }];

/// All plain text of `bytes`, which come in pieces of the `cuts`' lengths and are read through
/// `room` bytes at a time.
fn inflate_all(
    method: Method,
    bytes: &[u8],
    cuts: &[usize],
    room: usize,
) -> Result<(Vec<u8>, Vec<u8>), WireError> {
    let mut codecs = Codecs::new(6);
    let mut inflater = Inflater::new(method);
    let (mut plain, mut frames) = (Vec::new(), Vec::new());
    let (mut rest, mut cuts) = (bytes, cuts.iter());
    let mut buffer = vec![0; room];
    while !rest.is_empty() {
        let len = cuts.next().map_or(rest.len(), |&cut| cut.clamp(1, rest.len()));
        let (mut piece, after) = rest.split_at(len);
        rest = after;
        loop {
            let done = inflater.inflate(&mut codecs, piece, &mut buffer)?;
            piece = &piece[done.read..];
            plain.extend_from_slice(&buffer[..done.written]);
            frames.extend(done.frame);
            if (done.read, done.written) == (0, 0) {
                break;
            }
        }
    }
    Ok((plain, frames))
}

fn frame(method: Method, plain: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    Codecs::new(6).put_frame(method, 0, plain, &mut out);
    out
}

proptest! {
    #[test]
    fn any_split_and_any_room_give_the_same_plain_text(
        method in prop::sample::select(&METHODS[..]),
        texts in vec((any::<u8>(), 0..3000usize, any::<bool>()), 1..5),
        cuts in vec(1usize..300, 0..20),
        room in 1usize..2000,
    ) {
        let mut codecs = Codecs::new(6);
        let (mut bytes, mut plain) = (Vec::new(), Vec::new());
        for (seq, (byte, len, mixed)) in texts.iter().enumerate() {
            let text: Vec<u8> =
                (0..*len).map(|i| if *mixed { byte.wrapping_mul(i as u8).rotate_left(3) } else { *byte }).collect();
            codecs.put_frame(method, seq as u8, &text, &mut bytes);
            plain.extend(text);
        }
        let (got, frames) = inflate_all(method, &bytes, &cuts, room).unwrap();
        prop_assert!(got == plain);
        prop_assert_eq!(frames, (0..texts.len() as u8).collect::<Vec<_>>());
    }

    #[test]
    fn whatever_the_header_claims_nothing_panics(
        method in prop::sample::select(&METHODS[..]),
        (len, plain_len) in (0..400u32, 0..4000u32),
        behind in vec(any::<u8>(), 0..400),
    ) {
        let mut bytes = FrameHeader { len, seq: 0, plain_len }.to_bytes().to_vec();
        bytes.extend(frame(method, &[7; 2000]).split_off(FRAME_HEADER_LEN));
        bytes.extend(behind);
        let whole = inflate_all(method, &bytes, &[], 100);
        prop_assert_eq!(whole.is_err(), inflate_all(method, &bytes, &[1; 2000], 7).is_err());
    }
}

#[test]
fn what_is_short_or_random_is_stored() {
    let mut noise = 1u32;
    let random: Vec<u8> = std::iter::repeat_with(|| {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        noise.to_be_bytes()[0]
    })
    .take(500)
    .collect();
    for method in METHODS {
        for plain in [&[7; MIN_COMPRESS_LEN - 1][..], &random, &[]] {
            let bytes = frame(method, plain);
            let header = FrameHeader::parse(*bytes.first_chunk().unwrap());
            assert_eq!((header.len as usize, header.plain_len), (plain.len(), 0));
            assert_eq!(&bytes[FRAME_HEADER_LEN..], plain);
        }
        let bytes = frame(method, &[7; MIN_COMPRESS_LEN]);
        let header = FrameHeader::parse(*bytes.first_chunk().unwrap());
        assert!(header.plain_len as usize == MIN_COMPRESS_LEN && bytes.len() < MIN_COMPRESS_LEN);
    }
}

#[test]
fn the_longest_frame_passes_and_its_expander_is_let_go() {
    for method in METHODS {
        let plain: Vec<u8> = (0..MAX_PAYLOAD).map(|i| (i / 3) as u8).collect();
        let bytes = frame(method, &plain);
        assert!(bytes.len() < plain.len() / 10);
        let (got, _) = inflate_all(method, &bytes, &[9, 1, 5000], 64 << 10).unwrap();
        assert!(got == plain, "{method:?}");
    }
}

#[test]
fn frames_that_do_not_hold_what_they_claim_are_refused() {
    for method in METHODS {
        let good = frame(method, &[7; 1000]);
        let claim = |len: i32, plain_len: u32| {
            let mut bytes = good.clone();
            let header = FrameHeader::parse(*bytes.first_chunk().unwrap());
            let len = header.len.checked_add_signed(len).unwrap();
            bytes[..FRAME_HEADER_LEN].copy_from_slice(&FrameHeader { len, seq: 0, plain_len }.to_bytes());
            bytes.push(0);
            inflate_all(method, &bytes[..FRAME_HEADER_LEN + len as usize], &[], 4096).map(drop)
        };
        assert_eq!(claim(0, 1000), Ok(()));
        for (len, plain_len) in [(0, 999), (0, 1001), (0, 0xff_ffff), (1, 1000), (-1, 1000), (-9, 1000)] {
            let refused = claim(len, plain_len);
            assert!(
                matches!(refused, Err(WireError::BadFrame(_))),
                "{method:?} {len} {plain_len}: {refused:?}"
            );
        }
        let empty = FrameHeader { len: 0, seq: 0, plain_len: 5 }.to_bytes();
        assert!(inflate_all(method, &empty, &[], 10).is_err());
        let nothing = FrameHeader { len: 0, seq: 0, plain_len: 0 }.to_bytes();
        assert_eq!(inflate_all(method, &nothing, &[], 10), Ok((vec![], vec![0])));
        let noise = [&FrameHeader { len: 20, seq: 0, plain_len: 50 }.to_bytes()[..], &[0x5a; 20]].concat();
        assert!(inflate_all(method, &noise, &[], 100).is_err());
    }
}

#[test]
fn the_last_byte_waits_for_the_end_of_a_good_frame() {
    for method in METHODS {
        let plain = vec![7; 5000];
        let bytes = frame(method, &plain);
        let mut codecs = Codecs::new(6);
        let mut inflater = Inflater::new(method);
        let mut written = 0;
        for (i, byte) in bytes.iter().enumerate() {
            let mut room = [0; 6000];
            let mut piece = std::slice::from_ref(byte);
            loop {
                let done = inflater.inflate(&mut codecs, piece, &mut room).unwrap();
                piece = &piece[done.read..];
                written += done.written;
                if (done.read, done.written) == (0, 0) {
                    break;
                }
            }
            let whole = i + 1 == bytes.len();
            assert!(if whole { written == 5000 } else { written < 5000 }, "{method:?}: {written} at {i}");
        }
    }
    let mut bytes = frame(Method::Zlib, &[7; 5000]);
    *bytes.last_mut().unwrap() ^= 1;
    for cuts in [&[][..], &[9], &[1; 100]] {
        assert!(inflate_all(Method::Zlib, &bytes, cuts, 8000).is_err(), "the checksum is wrong");
    }
}
