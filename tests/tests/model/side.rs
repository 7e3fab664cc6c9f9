//! One connection as packets, to the server itself or to the proxy.
//!
//! Nothing here knows where an answer ends. The server itself gets `COM_STATISTICS` behind each
//! command: what comes before its answer is the answer to the command. The proxy gets the commands
//! alone, and has to return exactly these packets.

mod user;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use testkit::client::{Client, Options, ServerInfo};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;
use wire::auth::NONCE_LEN;
use wire::command::Kind;
use wire::frame::put_message;
use wire::{Capabilities, StatusFlags, packet};

use crate::step::{Command, Login, Names};
use crate::trackers;

/// Longest time between two packets: a session may have to wait for others to give a connection
/// back.
const PACKET_TIME_MAX: Duration = Duration::from_mins(2);
/// What the answer to `COM_STATISTICS` begins with.
const MARK: &[u8] = b"Uptime: ";
/// What stands in the place of the connection's id.
const MASKED: &[u8] = b"\x02ID";

/// What the description of a column begins with.
const COLUMN: &[u8] = b"\x03def";

/// One packet as it came: sequence id and payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) seq: u8,
    pub(crate) payload: Vec<u8>,
}

/// What a command got.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) frames: Vec<Frame>,
    /// Whether the connection ended behind it.
    pub(crate) ended: bool,
}

/// A connection that is logged in.
pub(crate) struct Side {
    stream: BufReader<TcpStream>,
    pub(crate) names: Names,
    pub(crate) capabilities: Capabilities,
    server: ServerInfo,
    /// Whether it does not count how the server has found its rows.
    hides_plan: bool,
    nonce: [u8; NONCE_LEN],
}

impl Side {
    /// Logs in; the error is what the other side has to hear as well.
    pub(crate) async fn connect(address: SocketAddr, login: &Login) -> Result<Self, String> {
        let mut stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
        let _ = stream.set_nodelay(true);
        let options = options(address, login);
        let connected = timeout(PACKET_TIME_MAX, Client::over(&mut stream, &options)).await;
        let client = connected.map_err(|_| "the login does not end")?.map_err(|error| error.to_string())?;
        let server = client.server().clone();
        let capabilities = client.capabilities();
        let names = Names { own_id: server.connection_id, ..Names::default() };
        let (stream, nonce) = (BufReader::new(stream), server.nonce);
        Ok(Self { stream, names, capabilities, nonce, hides_plan: false, server })
    }

    /// The same, with ends of rows that do not tell how the server has found these: an answer from
    /// the cache does not.
    pub(crate) const fn without_plans(mut self, hides: bool) -> Self {
        self.hides_plan = hides;
        self
    }

    /// Runs a command at the server itself.
    pub(crate) async fn ask(&mut self, command: &Command) -> io::Result<Answer> {
        let payload = command.payload(&self.names);
        self.note(command);
        self.send(&[&payload, &[Kind::Statistics as u8]]).await?;
        let mut answer = self.up_to_mark().await?;
        self.mask(command, &mut answer);
        Ok(answer)
    }

    /// Reads the answer of the server itself to a command that it has already.
    pub(crate) async fn finish(&mut self, command: &Command) -> io::Result<Answer> {
        self.send(&[&[Kind::Statistics as u8]]).await?;
        let mut answer = self.up_to_mark().await?;
        self.mask(command, &mut answer);
        Ok(answer)
    }

    /// Runs `LOAD DATA LOCAL`; gives the file if it is asked for.
    pub(crate) async fn load(&mut self, sql: &str, data: &[u8]) -> io::Result<Answer> {
        self.send(&[&Command::Query(sql.to_owned()).payload(&self.names)]).await?;
        let Some(first) = self.frame().await? else { return Ok(Answer { frames: Vec::new(), ended: true }) };
        if first.payload.first() == Some(&packet::LocalInfile::HEADER) {
            let mut bytes = Vec::new();
            let seq = put_message(&mut bytes, 2, data);
            if !data.is_empty() {
                put_message(&mut bytes, seq, b"");
            }
            self.write(&bytes).await?;
        }
        self.send(&[&[Kind::Statistics as u8]]).await?;
        let rest = self.up_to_mark().await?;
        Ok(Answer { frames: [vec![first], rest.frames].concat(), ended: rest.ended })
    }

    /// Sends commands and reads nothing.
    pub(crate) async fn say(&mut self, commands: &[Command]) -> io::Result<()> {
        let mut payloads = Vec::new();
        for command in commands {
            payloads.push(command.payload(&self.names));
            self.note(command);
        }
        self.send(&payloads.iter().map(|payload| &payload[..]).collect::<Vec<_>>()).await
    }

    /// Reads what should be this answer; the error is what came instead, and why it is wrong.
    pub(crate) async fn expect(
        &mut self,
        command: &Command,
        expected: &Answer,
    ) -> Result<(), (Answer, String)> {
        let mut got = Answer::default();
        for (index, frame) in expected.frames.iter().enumerate() {
            let read = self.frame().await;
            let next = match read {
                Ok(Some(next)) => next,
                Ok(None) => {
                    got.ended = true;
                    return Err((got, format!("the connection ends in place of packet {index}")));
                }
                Err(error) => return Err((got, format!("packet {index} does not come: {error}"))),
            };
            let mut one = Answer { frames: vec![next], ended: false };
            self.mask(command, &mut one);
            let is_same = one.frames[0] == *frame;
            got.frames.append(&mut one.frames);
            if !is_same {
                self.read_more(&mut got).await;
                return Err((got, format!("packet {index} is another one")));
            }
        }
        if expected.ended {
            return match self.frame().await {
                Ok(None) => Ok(()),
                Ok(Some(frame)) => {
                    got.frames.push(frame);
                    Err((got, "another packet comes in place of the end".to_owned()))
                }
                Err(error) => Err((got, format!("the connection does not end: {error}"))),
            };
        }
        Ok(())
    }

    /// Whether bytes have come that were not asked for.
    pub(crate) fn has_more(&self) -> bool {
        !self.stream.buffer().is_empty()
    }

    /// Ends with `COM_QUIT`, and waits until the other side has closed.
    pub(crate) async fn quit(mut self) -> Result<(), String> {
        self.send(&[&[Kind::Quit as u8]]).await.map_err(|error| error.to_string())?;
        self.at_end().await
    }

    /// Waits for the end.
    pub(crate) async fn at_end(&mut self) -> Result<(), String> {
        match self.frame().await {
            Ok(None) => Ok(()),
            Ok(Some(frame)) => Err(format!("{frame:?} comes in place of the end")),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Waits for the end of a connection that was killed, before which there may be an answer or
    /// not.
    pub(crate) async fn at_end_or_error(&mut self) -> Result<(), String> {
        loop {
            match self.frame().await {
                Ok(None) => return Ok(()),
                Ok(Some(_)) => {}
                Err(error) => return Err(format!("the connection does not end: {error}")),
            }
        }
    }

    /// Begins a command, and leaves.
    pub(crate) async fn tear(mut self) -> io::Result<()> {
        self.write(b"\x40\x00\x00\x00\x03DELETE FROM t").await
    }

    async fn send(&mut self, payloads: &[&[u8]]) -> io::Result<()> {
        let mut bytes = Vec::new();
        for payload in payloads {
            put_message(&mut bytes, 0, payload);
        }
        self.write(&bytes).await
    }

    async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self.stream.get_mut().write_all(bytes).await {
            // The answer says why.
            Err(error)
                if matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset) =>
            {
                Ok(())
            }
            written => written,
        }
    }

    async fn up_to_mark(&mut self) -> io::Result<Answer> {
        let mut answer = Answer::default();
        loop {
            match self.frame().await? {
                Some(frame) if frame.payload.starts_with(MARK) => return Ok(answer),
                Some(frame) => answer.frames.push(frame),
                None => {
                    answer.ended = true;
                    return Ok(answer);
                }
            }
        }
    }

    /// What else comes at once, for the message about a difference.
    async fn read_more(&mut self, got: &mut Answer) {
        while got.frames.len() < 40
            && let Ok(Ok(Some(frame))) = timeout(Duration::from_millis(200), self.frame()).await
        {
            got.frames.push(frame);
        }
    }

    /// Reads one packet; `None` at the end.
    async fn frame(&mut self) -> io::Result<Option<Frame>> {
        let read = timeout(PACKET_TIME_MAX, read_frame(&mut self.stream)).await;
        read.unwrap_or_else(|_| Err(io::Error::new(io::ErrorKind::TimedOut, "nothing comes")))
    }

    /// Puts slots and fixed bytes where the names of this side are.
    fn mask(&mut self, command: &Command, answer: &mut Answer) {
        for frame in &mut answer.frames {
            match &mut frame.payload[..] {
                [0, a, b, c, d, ..] if frame.seq == 1 && matches!(command, Command::Prepare(..)) => {
                    if let Command::Prepare(slot, _) = command {
                        self.names.slots.insert(*slot, u32::from_le_bytes([*a, *b, *c, *d]));
                        [*a, *b, *c, *d] = [*slot, 0, 0, 0];
                    }
                }
                // MySQL tells how many warnings there were before, if its diagnostics were not
                // emptied since.
                [0, 0, 0, _, _, warnings, _, ..]
                    if matches!(command, Command::Plain(Kind::InitDb | Kind::Ping, _)) =>
                {
                    *warnings = 0;
                }
                // The same in the form of an end of rows, with and without `DEPRECATE_EOF`.
                [0xfe, 0, 0, _, _, warnings, _] | [0xfe, warnings, _, _, _]
                    if matches!(command, Command::Plain(Kind::SetOption, _)) =>
                {
                    *warnings = 0;
                }
                [0xff, ..] if command.names_statement() => mask_statements(&self.names, &mut frame.payload),
                _ => mask_told(&self.names, &mut frame.payload),
            }
            mask_parameter(&mut frame.payload);
            if self.hides_plan {
                mask_plan(&mut frame.payload);
            }
            trackers::sort(&mut frame.payload, self.capabilities);
            if !command.may_change_schema() {
                trackers::forget_schema(&mut frame.payload, self.capabilities);
            }
            if command.is_naming(&self.names) {
                mask_id(self.names.own_id, &mut frame.payload);
            }
        }
    }

    /// What a command that is sent now changes, whatever the answer is.
    fn note(&mut self, command: &Command) {
        if matches!(command, Command::Plain(Kind::ResetConnection, _)) {
            // Their numbers may be those of others from now on.
            self.names.slots.clear();
        }
        if let Command::Prepare(slot, _) | Command::Close(slot) = command {
            self.names.slots.remove(slot);
            self.names.naming.remove(slot);
            if command.is_naming(&self.names) {
                self.names.naming.insert(*slot);
            }
        }
    }
}

impl fmt::Debug for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Side").field("names", &self.names).finish_non_exhaustive()
    }
}

/// How this login is made.
pub(crate) fn options(address: SocketAddr, login: &Login) -> Options {
    let options = Options::tcp(address, login.account, login.password)
        .capabilities(login.capabilities)
        .collation(login.collation);
    match &login.schema {
        Some(schema) => options.schema(schema),
        None => options,
    }
}

/// Error messages name statements by their ids.
fn mask_statements(names: &Names, payload: &mut Vec<u8>) {
    for (slot, id) in &names.slots {
        let name = format!("({id})");
        if let Some(at) = payload.windows(name.len()).position(|part| part == name.as_bytes()) {
            payload.splice(at..at + name.len(), format!("(slot {slot})").into_bytes());
        }
    }
}

/// The character set, the length and the flags of a column that is nothing but a parameter, and the
/// flags of one that is made of one: they follow from when its type was told on this connection.
fn mask_parameter(payload: &mut [u8]) {
    // It may have a second name where there is a cursor. Two of them have an alias.
    const PARAMETERS: [&[u8]; 4] = [
        b"\x03def\0\0\0\x01?\0\x0c",
        b"\x03def\0\0\0\x01?\x01?\x0c",
        b"\x03def\0\0\0\x05value\0\x0c",
        b"\x03def\0\0\0\x05value\x05value\x0c",
    ];
    const MADE_OF_THEM: [&[u8]; 2] =
        [b"\x03def\0\0\0\x0eCONCAT(?, 'x')\0\x0c", b"\x03def\0\0\0\x0eCONCAT(?, 'x')\x0eCONCAT(?, 'x')\x0c"];
    let end_of = |all: &[&[u8]]| all.iter().find(|one| payload.starts_with(one)).map(|one| one.len());
    let masked = match (end_of(&PARAMETERS), end_of(&MADE_OF_THEM)) {
        // The type is between them.
        (Some(at), _) => (at..at + 6).chain(at + 7..at + 9),
        (None, Some(at)) => (0..0).chain(at + 7..at + 9),
        (None, None) => return,
    };
    for place in masked {
        if let Some(byte) = payload.get_mut(place) {
            *byte = 0;
        }
    }
}

/// The flags of an end of rows that tell whether an index was used, and whether the query was slow.
fn mask_plan(payload: &mut [u8]) {
    const OF_PLAN: u16 = StatusFlags::NO_GOOD_INDEX_USED
        .union(StatusFlags::NO_INDEX_USED)
        .union(StatusFlags::QUERY_WAS_SLOW)
        .bits();
    // They are at the same place in both forms.
    if let [0xfe, _, _, low, high] | [0xfe, 0, 0, low, high, ..] = payload {
        [*low, *high] = (u16::from_le_bytes([*low, *high]) & !OF_PLAN).to_le_bytes();
    }
}

/// The error that a statement has no open cursor, in a row: `SHOW WARNINGS` and variables have it
/// with the statement's id. In whatever language, it is the only number there in parentheses.
fn mask_told(names: &Names, payload: &mut Vec<u8>) {
    const MARKS: [(&[u8], &[u8]); 2] =
        [(b"The statement (", b") has no open"), (b"Die Anweisung (", b") hat ")];
    let found = MARKS.iter().find_map(|(before, behind)| {
        let at = payload.windows(before.len()).position(|part| part == *before)?;
        let digits = payload[at + before.len()..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let number = at + before.len()..at + before.len() + digits;
        payload[number.end..].starts_with(behind).then_some((at, number))
    });
    let Some((at, number)) = found else { return };
    let id = std::str::from_utf8(&payload[number.clone()]).ok().and_then(|id| id.parse::<u32>().ok());
    let slot = names.slots.iter().find(|(_, known)| Some(**known) == id).map(|(slot, _)| *slot);
    let name = slot.map_or_else(|| b"of nobody".to_vec(), |slot| vec![b's', b'0' + slot]);
    if let Some(len) = at.checked_sub(1).and_then(|len| payload.get_mut(len)) {
        *len = 0;
    }
    payload.splice(number, name);
}

/// The connection's id, as text with its length and as four bytes.
fn mask_id(id: u32, payload: &mut Vec<u8>) {
    let text = id.to_string();
    let text = [&[u8::try_from(text.len()).unwrap_or_default()], text.as_bytes()].concat();
    if payload.starts_with(COLUMN) {
        return; // its numbers are no ids
    }
    // The end of a result may look like an id as well.
    let is_row = !matches!(payload.first(), Some(0xfe | 0xff));
    for name in [&text[..], &id.to_le_bytes()].into_iter().filter(|_| is_row) {
        while let Some(at) = payload.windows(name.len()).position(|part| part == name) {
            payload.splice(at..at + name.len(), MASKED.iter().copied());
        }
    }
}

async fn read_frame(stream: &mut BufReader<TcpStream>) -> io::Result<Option<Frame>> {
    let mut header = [0; 4];
    match stream.read_exact(&mut header).await {
        Ok(_) => {}
        Err(error)
            if matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(error),
    }
    let [a, b, c, seq] = header;
    let mut payload = vec![0; usize::try_from(u32::from_le_bytes([a, b, c, 0])).unwrap_or_default()];
    stream.read_exact(&mut payload).await?;
    Ok(Some(Frame { seq, payload }))
}
