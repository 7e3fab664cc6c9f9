//! Version 2: a signature of twelve bytes, version and command, family and transport, a length,
//! then as many bytes with addresses and additional fields. Integers are big-endian.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::{Addresses, HeaderError, Parsed, ProxyHeader, V2_LEN_MAX};

/// What every header begins with.
pub(super) const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

/// Bytes in front of the addresses, and of the shortest header.
pub(super) const LEN_MIN: usize = 16;

/// The upper half of the byte behind the signature.
const VERSION: u8 = 2;

/// The commands, in its lower half.
const LOCAL: u8 = 0;
const PROXY: u8 = 1;

/// Family and transport of TCP over IPv4, and bytes of its two addresses and ports.
const TCP4: u8 = 0x11;
const TCP4_LEN: u16 = 12;

/// The same over IPv6.
const TCP6: u8 = 0x21;
const TCP6_LEN: u16 = 36;

/// The family of Unix sockets, and bytes of its two paths.
const UNIX: u8 = 3;
const UNIX_LEN: u16 = 216;

/// Reads a header that begins with as much of the signature as there is.
pub(super) fn parse(input: &[u8]) -> Result<Parsed, HeaderError> {
    let Some((start, rest)) = input.split_first_chunk::<LEN_MIN>() else {
        return Ok(Parsed::More(LEN_MIN - input.len()));
    };
    let [.., command, kind, high, low] = *start;
    let version = command >> 4;
    if version != VERSION {
        return Err(HeaderError::Undefined { field: "version", value: version });
    }
    let announced = u16::from_be_bytes([high, low]);
    let len = LEN_MIN + usize::from(announced);
    if len > V2_LEN_MAX {
        return Err(HeaderError::TooLong(len));
    }
    let needed = match command & 0xf {
        // Whatever follows it is to be ignored.
        LOCAL => 0,
        PROXY => addresses_len(kind)?,
        value => return Err(HeaderError::Undefined { field: "command", value }),
    };
    if announced < needed {
        return Err(HeaderError::TooShort { len: announced, needed });
    }
    if let missing @ 1.. = len.saturating_sub(input.len()) {
        return Ok(Parsed::More(missing));
    }
    let header = if command & 0xf == LOCAL { ProxyHeader::Local } else { addresses(kind, rest) };
    Ok(Parsed::Complete { header, len })
}

/// Bytes that the addresses of a family take; additional fields stand behind them.
fn addresses_len(kind: u8) -> Result<u16, HeaderError> {
    let (family, transport) = (kind >> 4, kind & 0xf);
    if transport > 2 {
        return Err(HeaderError::Undefined { field: "transport", value: transport });
    }
    match family {
        0 => Ok(0),
        1 => Ok(TCP4_LEN),
        2 => Ok(TCP6_LEN),
        UNIX => Ok(UNIX_LEN),
        value => Err(HeaderError::Undefined { field: "family", value }),
    }
}

/// The addresses in `body`, which is long enough for them.
fn addresses(kind: u8, body: &[u8]) -> ProxyHeader {
    let ends = match kind {
        TCP4 => ends::<4, Ipv4Addr>(body, Ipv4Addr::from),
        TCP6 => ends::<16, Ipv6Addr>(body, Ipv6Addr::from),
        _ => None,
    };
    ends.map_or(ProxyHeader::Unknown, ProxyHeader::Tcp)
}

/// Source, destination, source port and destination port.
fn ends<const N: usize, A: Into<IpAddr>>(body: &[u8], ip: fn([u8; N]) -> A) -> Option<Addresses> {
    let (from, rest) = body.split_first_chunk::<N>()?;
    let (to, rest) = rest.split_first_chunk::<N>()?;
    let (from_port, rest) = rest.split_first_chunk::<2>()?;
    let (to_port, _) = rest.split_first_chunk::<2>()?;
    let end =
        |address: &[u8; N], port: &[u8; 2]| SocketAddr::new(ip(*address).into(), u16::from_be_bytes(*port));
    Some(Addresses::new(end(from, from_port), end(to, to_port)))
}

/// Appends the header, without additional fields.
pub(super) fn write(header: &ProxyHeader, out: &mut Vec<u8>) {
    let (command, kind, len) = match header {
        ProxyHeader::Local => (LOCAL, 0, 0),
        ProxyHeader::Unknown => (PROXY, 0, 0),
        ProxyHeader::Tcp(ends) if ends.source.is_ipv4() => (PROXY, TCP4, TCP4_LEN),
        ProxyHeader::Tcp(_) => (PROXY, TCP6, TCP6_LEN),
    };
    out.extend_from_slice(SIGNATURE);
    out.extend_from_slice(&[VERSION << 4 | command, kind]);
    out.extend_from_slice(&len.to_be_bytes());
    if let ProxyHeader::Tcp(Addresses { source, destination }) = header {
        for end in [source, destination] {
            match end {
                SocketAddr::V4(end) => out.extend_from_slice(&end.ip().octets()),
                SocketAddr::V6(end) => out.extend_from_slice(&end.ip().octets()),
            }
        }
        out.extend_from_slice(&source.port().to_be_bytes());
        out.extend_from_slice(&destination.port().to_be_bytes());
    }
}
