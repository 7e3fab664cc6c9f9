//! The format description: how the events of a file are laid out.

use wire::codec::Reader;

use crate::checksum::{CHECKSUM_LEN, Checksum, crc32};
use crate::error::Broken;
use crate::header::{HEADER_LEN, Header};
use crate::kind;

/// The version of binary logs since MySQL 5.0.
const BINLOG_VERSION: u16 = 4;
/// Bytes of the server's version, filled up with zeros.
const VERSION_LEN: usize = 50;
/// `BINLOG_CHECKSUM_ALG_OFF`.
const OFF: u8 = 0;
/// `BINLOG_CHECKSUM_ALG_CRC32`.
const CRC32: u8 = 1;

/// A format description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Format<'a> {
    /// The server's version.
    pub(crate) version: &'a [u8],
    /// How events of the file end.
    pub(crate) checksum: Checksum,
}

/// Reads a format description: its header, and its body with the checksum, for which there is room
/// in any case.
pub(crate) fn read<'a>(header: &[u8; HEADER_LEN], body: &'a [u8]) -> Result<Format<'a>, Broken> {
    let error = |error| Broken::Event { kind: kind::FORMAT_DESCRIPTION, error };
    let mut reader = Reader::new(body);
    if reader.u16("version of the log").map_err(error)? != BINLOG_VERSION {
        return Err(Broken::Format("not version 4 of the binary log"));
    }
    let version = reader.bytes(VERSION_LEN, "server version").map_err(error)?;
    reader.u32("time").map_err(error)?;
    if usize::from(reader.u8("length of headers").map_err(error)?) != HEADER_LEN {
        return Err(Broken::Format("headers of events are not 19 bytes long"));
    }
    // The lengths of the types' fixed parts fill the rest, up to the algorithm.
    let rest = reader.left().saturating_sub(CHECKSUM_LEN + 1);
    reader.bytes(rest, "lengths of fixed parts").map_err(error)?;
    let checksum = match reader.u8("checksum algorithm").map_err(error)? {
        OFF => Checksum::None,
        CRC32 => Checksum::Crc32,
        _ => return Err(Broken::Format("unknown checksum algorithm")),
    };
    let said = reader.u32("checksum").map_err(error)?;
    // Servers without checksums do not keep that of this event right. One that would be right with
    // another algorithm says that the algorithm has arrived as another one.
    if (said == sum(header, body)) != (checksum == Checksum::Crc32) {
        return Err(Broken::Checksum { kind: kind::FORMAT_DESCRIPTION });
    }
    let version = version.split(|byte| *byte == 0).next().unwrap_or_default();
    Ok(Format { version, checksum })
}

/// The checksum that a format description has if events have one: that of its bytes without the
/// flag that the file is open.
fn sum(header: &[u8; HEADER_LEN], body: &[u8]) -> u32 {
    let [front @ .., low, high] = header;
    let flags = u16::from_le_bytes([*low, *high]) & !Header::IN_USE;
    let end = body.len().saturating_sub(CHECKSUM_LEN + 1);
    let fields = body.get(..end).unwrap_or_default();
    crc32(&[front, &flags.to_le_bytes(), fields, &[CRC32]])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A format description that ends with this algorithm and the right checksum.
    fn description(header: &[u8; HEADER_LEN], algorithm: u8) -> Vec<u8> {
        let mut body = BINLOG_VERSION.to_le_bytes().to_vec();
        body.extend(b"10.11.19-MariaDB-log");
        body.resize(2 + VERSION_LEN, 0);
        body.extend([0, 0, 0, 0, 19, 56, 13, 0, algorithm, 0, 0, 0, 0]);
        let at = body.len() - CHECKSUM_LEN;
        let sum = if algorithm == CRC32 { sum(header, &body) } else { 0 };
        body[at..].copy_from_slice(&sum.to_le_bytes());
        body
    }

    #[test]
    fn it_says_how_events_end() {
        let mut header = [1; HEADER_LEN];
        for (algorithm, checksum) in [(OFF, Checksum::None), (CRC32, Checksum::Crc32)] {
            let body = description(&header, algorithm);
            let format = read(&header, &body).unwrap();
            assert_eq!((format.version, format.checksum), (&b"10.11.19-MariaDB-log"[..], checksum));
        }
        let body = description(&header, OFF);
        for len in 0..2 + VERSION_LEN + 10 {
            read(&header, &body[..len]).unwrap_err();
        }
        let mut body = description(&header, CRC32);
        header[17] ^= 1;
        read(&header, &body).unwrap();
        for at in [54, body.len() - 5] {
            body[at] ^= 1;
            assert_eq!(read(&header, &body), Err(Broken::Checksum { kind: kind::FORMAT_DESCRIPTION }));
            body[at] ^= 1;
        }
    }

    #[test]
    fn other_formats_are_refused() {
        let header = [1; HEADER_LEN];
        let body = description(&header, 2);
        assert_eq!(read(&header, &body), Err(Broken::Format("unknown checksum algorithm")));
        for at in [0, 2 + VERSION_LEN + 4] {
            let mut wrong = description(&header, OFF);
            wrong[at] = 3;
            assert!(matches!(read(&header, &wrong), Err(Broken::Format(_))));
        }
    }
}
