//! Version 1: `PROXY TCP4 192.0.2.1 192.0.2.2 56324 3306` and CRLF.

use std::net::{IpAddr, SocketAddr};

use super::{Addresses, HeaderError, Parsed, ProxyHeader, V1_LEN_MAX};

/// What every line begins with.
pub(super) const SIGNATURE: &[u8] = b"PROXY ";

/// Bytes of the shortest line, `PROXY UNKNOWN` and CRLF.
pub(super) const LEN_MIN: usize = 15;

/// Spaces in a line with addresses.
const SPACES: usize = 5;

/// Reads a line that begins with as much of the signature as there is.
pub(super) fn parse(input: &[u8]) -> Result<Parsed, HeaderError> {
    let line = input.get(..V1_LEN_MAX).unwrap_or(input);
    let Some(end) = line.windows(2).position(|pair| pair == b"\r\n") else {
        return match line.len() {
            V1_LEN_MAX => Err(HeaderError::LineTooLong),
            len => Ok(Parsed::More(missing(line).max(LEN_MIN.saturating_sub(len)))),
        };
    };
    let text = line.get(SIGNATURE.len()..end).and_then(|text| std::str::from_utf8(text).ok());
    let header = fields(text.ok_or(HeaderError::Line("protocol"))?)?;
    Ok(Parsed::Complete { header, len: end + 2 })
}

/// Bytes that a line which has no CRLF yet needs at least: each space that is missing has something
/// behind it.
fn missing(line: &[u8]) -> usize {
    if line.last() == Some(&b'\r') {
        return 1;
    }
    let has_addresses = [b"PROXY TCP4 ", b"PROXY TCP6 "].iter().any(|start| line.starts_with(*start));
    let spaces = line.split(|byte| *byte == b' ').skip(1).count();
    let rest = if has_addresses { 2 * SPACES.saturating_sub(spaces) } else { 0 };
    // Never beyond the longest line, so that a reader's buffer has a bound.
    (rest + 2).min(V1_LEN_MAX - line.len())
}

/// Reads what stands between the signature and CRLF.
fn fields(text: &str) -> Result<ProxyHeader, HeaderError> {
    let mut parts = text.split(' ');
    let is_v4 = match parts.next() {
        Some("TCP4") => true,
        Some("TCP6") => false,
        // Whatever follows it is to be ignored.
        Some("UNKNOWN") => return Ok(ProxyHeader::Unknown),
        _ => return Err(HeaderError::Line("protocol")),
    };
    let mut address = |field| {
        let ip = parts.next().and_then(|part| part.parse::<IpAddr>().ok());
        ip.filter(|ip| ip.is_ipv4() == is_v4).ok_or(HeaderError::Line(field))
    };
    let (from, to) = (address("source address")?, address("destination address")?);
    let mut port = |field| parts.next().and_then(|part| decimal(part).ok()).ok_or(HeaderError::Line(field));
    let (from_port, to_port) = (port("source port")?, port("destination port")?);
    if parts.next().is_some() {
        return Err(HeaderError::Line("end"));
    }
    let ends = (SocketAddr::new(from, from_port), SocketAddr::new(to, to_port));
    Ok(ProxyHeader::Tcp(Addresses::new(ends.0, ends.1)))
}

/// A port: digits alone, and no zero in front of others.
fn decimal(text: &str) -> Result<u16, HeaderError> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    let port = text.parse().ok().filter(|_| plain);
    port.ok_or(HeaderError::Line("port"))
}

/// Appends the line.
pub(super) fn write(header: &ProxyHeader, out: &mut Vec<u8>) {
    let line = match header {
        ProxyHeader::Local | ProxyHeader::Unknown => "PROXY UNKNOWN\r\n".to_owned(),
        ProxyHeader::Tcp(Addresses { source, destination }) => {
            let family = if source.is_ipv4() { "TCP4" } else { "TCP6" };
            let (from, to) = (source.ip(), destination.ip());
            let (from_port, to_port) = (source.port(), destination.port());
            format!("PROXY {family} {from} {to} {from_port} {to_port}\r\n")
        }
    };
    out.extend_from_slice(line.as_bytes());
}
