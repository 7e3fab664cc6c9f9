//! One HTTP request with a deadline: `POST /v1/traces` to a collector, over plain HTTP.

use std::fmt;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::time::{Duration, Instant};

use crate::limits::{CONNECT_SHARE_MIN, POST_TIME_MAX, REPLY_BYTES_MAX};

/// Path of the requests (OTLP 1.x, "OTLP/HTTP Request").
const PATH: &str = "/v1/traces";

/// Why a collector has no spans.
#[derive(Debug)]
pub(crate) enum PostError {
    /// The collector cannot be reached, or does not answer in time.
    Io(io::Error),
    /// The reply is no HTTP.
    NoHttp,
    /// The collector refuses the request with this status.
    Refused(u16),
}

impl fmt::Display for PostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::NoHttp => write!(f, "the reply is no HTTP"),
            Self::Refused(status) => write!(f, "the reply is HTTP {status}"),
        }
    }
}

impl From<io::Error> for PostError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Sends `body`, which is JSON, to the collector at `address`, `host:port`. Blocks for five seconds
/// at most, and as long as the system takes to resolve a name.
///
/// # Errors
///
/// The collector has not answered with a status of 200 to 299.
pub(crate) fn post(address: &str, body: &str) -> Result<(), PostError> {
    let found: Vec<SocketAddr> = address.to_socket_addrs()?.collect();
    let deadline = Instant::now() + POST_TIME_MAX;
    let mut stream = connect(&found, deadline)?;
    let len = body.len();
    let head = format!(
        "POST {PATH} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Content-Length: {len}\r\nUser-Agent: pointsman\r\nConnection: close\r\n\r\n"
    );
    let sent = send(&mut stream, head.as_bytes(), deadline)
        .and_then(|()| send(&mut stream, body.as_bytes(), deadline));
    // A collector that refuses early may take no more, and says why.
    let reply = receive(&mut stream, deadline);
    match (sent, reply.as_deref().ok().and_then(status)) {
        (_, Some(status)) if !(200..=299).contains(&status) => Err(PostError::Refused(status)),
        (Err(error), _) => Err(error.into()),
        (Ok(()), Some(_)) => Ok(()),
        (Ok(()), None) => Err(reply.map_or_else(PostError::Io, |_| PostError::NoHttp)),
    }
}

/// A connection to the first address that accepts one. Each gets its share of the time that is
/// left, so that one that does not answer leaves some to the others.
fn connect(addresses: &[SocketAddr], deadline: Instant) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for (address, untried) in addresses.iter().zip((1..=addresses.len()).rev()) {
        let share = left(deadline)? / u32::try_from(untried).unwrap_or(u32::MAX);
        match TcpStream::connect_timeout(address, share.max(CONNECT_SHARE_MIN)) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Sends all of `bytes`, however slowly the peer takes them, until `deadline`.
fn send(stream: &mut TcpStream, mut bytes: &[u8], deadline: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.set_write_timeout(Some(left(deadline)?))?;
        match stream.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(sent) => bytes = bytes.get(sent..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The reply as far as its status line, or up to its end if that comes first.
fn receive(stream: &mut TcpStream, deadline: Instant) -> io::Result<Vec<u8>> {
    let mut reply = Vec::new();
    let mut buffer = [0; 1024];
    while reply.len() < REPLY_BYTES_MAX && !reply.contains(&b'\n') {
        stream.set_read_timeout(Some(left(deadline)?))?;
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => reply.extend_from_slice(buffer.get(..read).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(reply)
}

/// The time that is left.
fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// The status of a reply.
fn status(reply: &[u8]) -> Option<u16> {
    let line = reply.split(|&byte| byte == b'\n').next()?;
    let mut words = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
    words.next().filter(|version| version.starts_with("HTTP/1."))?;
    words.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// The outcome of a request that gets this reply, and the request.
    fn posted(reply: &'static str) -> (Result<(), PostError>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let collector = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            let mut buffer = [0; 1024];
            while !request.ends_with(b"{\"a\":1}") {
                let read = stream.read(&mut buffer).unwrap();
                assert!(read > 0, "the request is cut");
                request.extend_from_slice(&buffer[..read]);
            }
            stream.write_all(reply.as_bytes()).unwrap();
            String::from_utf8(request).unwrap()
        });
        let outcome = post(&address, "{\"a\":1}");
        (outcome, collector.join().unwrap())
    }

    #[test]
    fn a_status_of_200_to_299_is_success() {
        let (outcome, request) = posted("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
        outcome.unwrap();
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("POST /v1/traces HTTP/1.1\r\nHost: 127.0.0.1:"), "{head}");
        assert!(head.contains("\r\nContent-Type: application/json\r\nContent-Length: 7\r\n"), "{head}");
        assert_eq!(body, "{\"a\":1}");
        assert!(posted("HTTP/1.0 202 Accepted\n\n").0.is_ok());
    }

    #[test]
    fn other_replies_are_errors() {
        assert!(matches!(posted("HTTP/1.1 503 Busy\r\n\r\n").0, Err(PostError::Refused(503))));
        for reply in ["", "220 mail\r\n", "HTTP/1.1\r\n", "HTTP/1.1 2x0\r\n"] {
            assert!(matches!(posted(reply).0, Err(PostError::NoHttp)), "{reply}");
        }
    }

    #[test]
    fn a_collector_that_is_down_is_an_error() {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        assert!(matches!(post(&address, "{}"), Err(PostError::Io(_))));
        assert!(matches!(post("", "{}"), Err(PostError::Io(_))));
    }

    #[test]
    fn a_time_that_is_over_is_an_error() {
        assert_eq!(left(Instant::now()).unwrap_err().kind(), io::ErrorKind::TimedOut);
    }
}
