//! Two sessions that get the same commands, one from the server itself and one through the proxy,
//! and must get the same answers, byte for byte.
//!
//! Nothing here knows where an answer ends, so that nothing can be wrong in the way the proxy is.
//! Behind each command the server gets `COM_STATISTICS`: all packets before its answer, which looks
//! like nothing else and leaves a session as it was, are the answer. The proxy is then sent the
//! command alone, and must return exactly these packets.
//!
//! One thing differs: MariaDB counts prepared statements over all sessions. Commands therefore name
//! statements by their place among those that the session has prepared, from 1; on the way to and
//! from each side it becomes its id.

use std::fmt;
use std::time::Duration;

use testkit::client::{Client, Options};
use testkit::server::{PASSWORD, USER};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use wire::Capabilities;
use wire::command::Kind;
use wire::frame::put_message;

use crate::{Backend, Proxy};

/// Longest time between two packets.
const PACKET_TIME_MAX: Duration = Duration::from_secs(30);
/// What the answer to `COM_STATISTICS` begins with.
const MARK: &[u8] = b"Uptime: ";

/// One packet as it came: sequence id and payload.
#[derive(Clone, PartialEq, Eq)]
pub struct Frame {
    /// Its place in the answer.
    pub seq: u8,
    /// What it carries.
    pub payload: Vec<u8>,
}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.payload.get(..200).unwrap_or(&self.payload);
        write!(f, "{}:{}:{}", self.seq, self.payload.len(), shown.escape_ascii())
    }
}

/// Two sessions that are the same but for the way to the server.
#[derive(Debug)]
pub struct Twin {
    direct: Side,
    proxied: Side,
    /// What both sides agreed on with the server.
    pub capabilities: Capabilities,
}

impl Twin {
    /// Logs in twice, with the account that has all privileges, to the schema `test`.
    ///
    /// # Panics
    /// When that fails, or server and proxy do not offer the same of `capabilities`.
    pub async fn new(db: &Backend, proxy: &Proxy, capabilities: Capabilities, collation: u16) -> Self {
        let options =
            |options: Options| options.schema("test").capabilities(capabilities).collation(collation);
        let (direct, ours) = Side::new(options(Options::tcp(db.server.address(), USER, PASSWORD))).await;
        let (proxied, theirs) = Side::new(options(proxy.options())).await;
        assert_eq!(theirs, ours, "what the proxy offers");
        Self { direct, proxied, capabilities: ours }
    }

    /// The payload of `COM_QUERY` in this session.
    pub fn query(&self, sql: impl AsRef<[u8]>) -> Vec<u8> {
        let mut payload = vec![Kind::Query as u8];
        if self.capabilities.contains(Capabilities::QUERY_ATTRIBUTES) {
            payload.extend_from_slice(&[0, 1]); // no attributes, in one set
        }
        payload.extend_from_slice(sql.as_ref());
        payload
    }

    /// Runs a statement on both sides; returns the answer.
    ///
    /// # Panics
    /// As [`same`](Self::same).
    pub async fn same_query(&mut self, sql: impl AsRef<[u8]>) -> Vec<Frame> {
        let payload = self.query(sql);
        self.same(&payload).await
    }

    /// Sends both sides the same command; returns the answer, which is the same.
    ///
    /// # Panics
    /// When it is not.
    pub async fn same(&mut self, command: &[u8]) -> Vec<Frame> {
        self.direct.send(&[&self.direct.with_id(command), &[Kind::Statistics as u8]]).await;
        let expected = self.direct.up_to_mark().await;
        let expected = self.direct.without_ids(command, expected);
        self.proxied.send(&[&self.proxied.with_id(command)]).await;
        self.proxied.expect(&expected, command).await;
        self.proxied.send(&[&[Kind::Statistics as u8]]).await;
        assert_eq!(self.proxied.up_to_mark().await, [], "comes after the answer to {:?}", Shown(command));
        expected
    }

    /// Sends all commands at once, and reads the answers afterwards. Statements must have been
    /// prepared before.
    ///
    /// # Panics
    /// When the answers differ.
    pub async fn same_ahead(&mut self, commands: &[Vec<u8>]) {
        let mark = [Kind::Statistics as u8];
        let with_ids: Vec<_> = commands.iter().map(|command| self.proxied.with_id(command)).collect();
        let all: Vec<&[u8]> = with_ids.iter().flat_map(|command| [&command[..], &mark]).collect();
        let mut expected = Vec::new();
        for command in commands {
            self.direct.send(&[&self.direct.with_id(command), &mark]).await;
            let answer = self.direct.up_to_mark().await;
            expected.push(self.direct.without_ids(command, answer));
        }
        // A peer that writes without reading may block once all buffers are full.
        let bytes = messages(&all);
        let Side { stream, statements } = &mut self.proxied;
        let (mut reader, mut writer) = stream.get_mut().split();
        let mut reader = BufReader::new(&mut reader);
        let write = async { writer.write_all(&bytes).await.unwrap_or_else(|error| panic!("{error}")) };
        let read = async {
            for (command, expected) in commands.iter().zip(&expected) {
                let mut got = up_to_mark(&mut reader).await;
                for frame in &mut got {
                    mask(statements, command, frame);
                }
                assert_eq!(&got, expected, "the answer to {:?}", Shown(command));
            }
        };
        tokio::join!(write, read);
    }

    /// Runs `LOAD DATA LOCAL` on both sides and gives them `data` if they ask for it; returns the
    /// last packet.
    ///
    /// # Panics
    /// When the answers differ.
    pub async fn same_load(&mut self, sql: &str, data: &[&[u8]]) -> Frame {
        let command = self.query(sql);
        let mut answers = Vec::new();
        for side in [&mut self.direct, &mut self.proxied] {
            side.send(&[&command]).await;
            let mut frames = vec![side.frame().await];
            if frames[0].payload.first() == Some(&wire::packet::LocalInfile::HEADER) {
                let mut bytes = Vec::new();
                let mut seq = 2;
                for part in data.iter().chain([&&b""[..]]) {
                    seq = put_message(&mut bytes, seq, part);
                }
                side.write(&bytes).await;
                frames.push(side.frame().await);
            }
            side.send(&[&[Kind::Statistics as u8]]).await;
            frames.extend(side.up_to_mark().await);
            answers.push(frames);
        }
        assert_eq!(answers[1], answers[0], "{sql}");
        answers[0].pop().unwrap_or_else(|| panic!("no answer to {sql}"))
    }

    /// Sends both sides a command that ends the session; returns what comes before the end, which
    /// is the same.
    ///
    /// # Panics
    /// When it is not, or there is no end.
    pub async fn same_end(mut self, command: &[u8]) -> Vec<u8> {
        let mut ends = Vec::new();
        for side in [&mut self.direct, &mut self.proxied] {
            side.send(&[command]).await;
            let mut rest = Vec::new();
            let read = tokio::time::timeout(PACKET_TIME_MAX, side.stream.read_to_end(&mut rest)).await;
            read.unwrap_or_else(|_| panic!("no end after {rest:?}"))
                .unwrap_or_else(|error| panic!("{error} after {rest:?}"));
            ends.push(rest);
        }
        assert_eq!(ends[1], ends[0], "after {:?}", Shown(command));
        ends.swap_remove(0)
    }
}

/// A command in the message of an assertion.
struct Shown<'a>(&'a [u8]);

impl fmt::Debug for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.0.get(..300).unwrap_or(self.0);
        write!(f, "{} ({} bytes)", shown.escape_ascii(), self.0.len())
    }
}

fn messages(payloads: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for payload in payloads {
        put_message(&mut bytes, 0, payload);
    }
    bytes
}

/// One session, as packets.
#[derive(Debug)]
struct Side {
    stream: BufReader<TcpStream>,
    /// The ids of all statements that were prepared.
    statements: Vec<u32>,
}

impl Side {
    async fn new(options: Options) -> (Self, Capabilities) {
        let address = options.address().unwrap_or_else(|| panic!("no address in {options:?}"));
        let mut stream =
            TcpStream::connect(address).await.unwrap_or_else(|error| panic!("{address}: {error}"));
        let _ = stream.set_nodelay(true);
        let client =
            Client::over(&mut stream, &options).await.unwrap_or_else(|error| panic!("{options:?}: {error}"));
        let capabilities = client.capabilities();
        (Self { stream: BufReader::new(stream), statements: Vec::new() }, capabilities)
    }

    async fn send(&mut self, commands: &[&[u8]]) {
        self.write(&messages(commands)).await;
    }

    async fn write(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).await.unwrap_or_else(|error| panic!("cannot send: {error}"));
    }

    async fn frame(&mut self) -> Frame {
        frame(&mut self.stream).await
    }

    async fn up_to_mark(&mut self) -> Vec<Frame> {
        up_to_mark(&mut self.stream).await
    }

    /// The command with the id of its statement instead of the place.
    fn with_id(&self, command: &[u8]) -> Vec<u8> {
        let mut command = command.to_vec();
        if let [kind, id @ ..] = &mut command[..]
            && OF_STATEMENTS.iter().any(|of| *of as u8 == *kind)
            && let Some(bytes) = id.first_chunk_mut()
            && let Some(place) = u32::from_le_bytes(*bytes).checked_sub(1)
            && let Some(known) = usize::try_from(place).ok().and_then(|place| self.statements.get(place))
        {
            *bytes = known.to_le_bytes();
        }
        command
    }

    /// An answer with places instead of the ids of statements.
    fn without_ids(&mut self, command: &[u8], mut answer: Vec<Frame>) -> Vec<Frame> {
        for frame in &mut answer {
            mask(&mut self.statements, command, frame);
        }
        answer
    }

    /// Reads as many packets as are expected, and compares each as it comes.
    async fn expect(&mut self, expected: &[Frame], command: &[u8]) {
        for (index, expected_frame) in expected.iter().enumerate() {
            let read = tokio::time::timeout(PACKET_TIME_MAX, read_frame(&mut self.stream)).await;
            let mut got = read.unwrap_or_else(|_| {
                panic!("packet {index} of {expected:?} does not come, after {:?}", Shown(command))
            });
            mask(&mut self.statements, command, &mut got);
            assert_eq!(&got, expected_frame, "packet {index} of the answer to {:?}", Shown(command));
        }
    }
}

/// Commands that begin with the id of a statement.
const OF_STATEMENTS: [Kind; 6] = [
    Kind::StmtExecute,
    Kind::SendLongData,
    Kind::StmtClose,
    Kind::StmtReset,
    Kind::StmtFetch,
    Kind::StmtBulkExecute,
];

/// Puts the place of a statement where its id is: in the answer to its preparation, which also
/// makes it known, and in the message of an error.
fn mask(statements: &mut Vec<u32>, command: &[u8], frame: &mut Frame) {
    let prepare = command.first() == Some(&(Kind::StmtPrepare as u8));
    match &mut frame.payload[..] {
        [0, a, b, c, d, ..] if prepare && frame.seq == 1 => {
            statements.push(u32::from_le_bytes([*a, *b, *c, *d]));
            let place = u32::try_from(statements.len()).unwrap_or_default();
            [*a, *b, *c, *d] = place.to_le_bytes();
        }
        [0xff, ..] => {
            let mut message = frame.payload.escape_ascii().to_string();
            for (index, id) in statements.iter().enumerate() {
                message = message.replace(&format!("({id})"), &format!("(statement {})", index + 1));
            }
            frame.payload = message.into_bytes();
        }
        _ => {}
    }
}

/// Reads up to the answer to `COM_STATISTICS`, and returns what came before it.
async fn up_to_mark(stream: &mut (impl tokio::io::AsyncRead + Unpin)) -> Vec<Frame> {
    let mut frames = Vec::new();
    loop {
        let frame = frame(stream).await;
        if frame.payload.starts_with(MARK) {
            return frames;
        }
        frames.push(frame);
    }
}

/// Reads one packet, which must come in time.
async fn frame(stream: &mut (impl tokio::io::AsyncRead + Unpin)) -> Frame {
    let read = tokio::time::timeout(PACKET_TIME_MAX, read_frame(stream)).await;
    read.unwrap_or_else(|_| panic!("no packet comes"))
}

async fn read_frame(stream: &mut (impl tokio::io::AsyncRead + Unpin)) -> Frame {
    let mut header = [0; 4];
    stream.read_exact(&mut header).await.unwrap_or_else(|error| panic!("no packet: {error}"));
    let [a, b, c, seq] = header;
    let len = u32::from_le_bytes([a, b, c, 0]);
    let mut payload = vec![0; usize::try_from(len).unwrap_or_default()];
    stream.read_exact(&mut payload).await.unwrap_or_else(|error| panic!("half a packet: {error}"));
    Frame { seq, payload }
}
