//! A small client of HTTP/1.1: requests as text, replies as they come.

use std::fmt::Write as _;
use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use super::PATIENCE;

/// A reply.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) code: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Reply {
    /// The body as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The code and the word of an error.
    pub(crate) fn refusal(&self) -> (u16, String) {
        (self.code, self.json()["error"].as_str().unwrap_or_default().to_owned())
    }

    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

/// A request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Request {
    head: String,
    body: String,
    from: Option<SocketAddr>,
}

impl Request {
    /// `GET` of a path, or another method.
    pub(crate) fn new(method: &str, path: &str) -> Self {
        let head = format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n");
        Self { head, ..Self::default() }
    }

    /// With a header.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        write!(self.head, "{name}: {value}\r\n").unwrap();
        self
    }

    /// With a body of this kind.
    pub(crate) fn body(mut self, kind: &str, body: &str) -> Self {
        body.clone_into(&mut self.body);
        let length = body.len().to_string();
        self.header("Content-Type", kind).header("Content-Length", &length)
    }

    /// From this address.
    pub(crate) fn from(mut self, address: &str) -> Self {
        self.from = Some(address.parse().unwrap());
        self
    }

    async fn send(&self, to: SocketAddr) -> BufReader<TcpStream> {
        let socket = TcpSocket::new_v4().unwrap();
        if let Some(from) = self.from {
            socket.bind(from).unwrap();
        }
        let mut stream = socket.connect(to).await.unwrap();
        let text = format!("{}\r\n{}", self.head, self.body);
        stream.write_all(text.as_bytes()).await.unwrap();
        BufReader::new(stream)
    }

    /// Sends it, and reads the whole reply.
    pub(crate) async fn ask(&self, to: SocketAddr) -> Reply {
        let talk = async {
            let mut stream = self.send(to).await;
            let (code, head) = head(&mut stream).await;
            let mut body = Vec::new();
            stream.read_to_end(&mut body).await.unwrap();
            Reply { code, head, body: String::from_utf8_lossy(&body).into_owned() }
        };
        timeout(PATIENCE, talk).await.expect("a reply that ends")
    }

    /// Sends it, and reads the head of a stream; the reply where there is none.
    pub(crate) async fn stream(&self, to: SocketAddr) -> Result<Events, Reply> {
        let talk = async {
            let mut stream = self.send(to).await;
            let (code, head) = head(&mut stream).await;
            if code == 200 {
                return Ok(Events(stream));
            }
            let mut body = String::new();
            stream.read_to_string(&mut body).await.unwrap();
            Err(Reply { code, head, body })
        };
        timeout(PATIENCE, talk).await.expect("the head of a stream")
    }
}

async fn head(stream: &mut BufReader<TcpStream>) -> (u16, String) {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(stream.read_line(&mut head).await.unwrap() > 0, "the connection ended: {head}");
    }
    let code = head.split(' ').nth(1).unwrap().parse().unwrap();
    (code, head)
}

/// A connection that is kept for further requests.
#[derive(Debug)]
pub(crate) struct Kept(BufReader<TcpStream>);

impl Kept {
    /// Connects.
    pub(crate) async fn open(to: SocketAddr) -> Self {
        Self(BufReader::new(TcpStream::connect(to).await.unwrap()))
    }

    /// Sends `GET`, and reads the reply.
    pub(crate) async fn ask(&mut self, path: &str, authorization: &str) -> Reply {
        let text =
            format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {authorization}\r\n\r\n");
        let talk = async {
            self.0.write_all(text.as_bytes()).await.unwrap();
            let (code, head) = head(&mut self.0).await;
            let mut reply = Reply { code, head, body: String::new() };
            let length = reply.header("Content-Length").unwrap().parse().unwrap();
            let mut body = vec![0; length];
            self.0.read_exact(&mut body).await.unwrap();
            reply.body = String::from_utf8(body).unwrap();
            reply
        };
        timeout(PATIENCE, talk).await.expect("a reply")
    }

    /// Whether the server ends the connection.
    pub(crate) async fn is_over(&mut self) -> bool {
        let mut byte = [0];
        timeout(PATIENCE, self.0.read(&mut byte))
            .await
            .expect("the end of the connection")
            .is_ok_and(|read| read == 0)
    }
}

/// A stream of events.
#[derive(Debug)]
pub(crate) struct Events(BufReader<TcpStream>);

/// One event.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) id: String,
    pub(crate) data: Value,
}

impl Events {
    /// The next event; nothing if the stream ends.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        let (mut name, mut id, mut data) = (String::new(), String::new(), None);
        let read = async {
            loop {
                let mut line = String::new();
                if self.0.read_line(&mut line).await.unwrap_or(0) == 0 {
                    return None;
                }
                if let Some(value) = line.strip_prefix("event: ") {
                    value.trim_end().clone_into(&mut name);
                } else if let Some(value) = line.strip_prefix("id: ") {
                    value.trim_end().clone_into(&mut id);
                } else if let Some(value) = line.strip_prefix("data: ") {
                    data = Some(serde_json::from_str(value).unwrap());
                }
                if line == "\n"
                    && let Some(data) = data.take()
                {
                    return Some(Event { name: name.clone(), id: id.clone(), data });
                }
                // What frames the parts of a reply without a length.
            }
        };
        timeout(PATIENCE, read).await.expect("an event, or the end of the stream")
    }
}
