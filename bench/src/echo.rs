//! A server that answers without looking: the same bytes to each message. What any server of these
//! bytes costs at least.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::thread;

use anyhow::Context as _;

/// OK to a login: the third packet of the connection.
const LOGGED_IN: [u8; 11] = [7, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0];
/// Bytes of the messages that come at once, at most; all of the benchmark are shorter.
const MESSAGES_MAX: usize = 16 << 10;

/// Serves on `port` until the process ends: greets with the bytes of one file, takes any login, and
/// answers with those of the other.
pub(crate) fn serve(port: u16, greeting: &Path, reply: &Path) -> anyhow::Result<()> {
    let read = |path: &Path| std::fs::read(path).with_context(|| path.display().to_string());
    let (greeting, reply) = (read(greeting)?, read(reply)?);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    thread::scope(|scope| {
        for stream in listener.incoming() {
            let (greeting, reply) = (&greeting, &reply);
            // A client that leaves is no error.
            scope.spawn(move || stream.and_then(|stream| answer(stream, greeting, reply)));
        }
    });
    Ok(())
}

fn answer(mut stream: TcpStream, greeting: &[u8], reply: &[u8]) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    stream.write_all(greeting)?;
    let mut messages = vec![0; MESSAGES_MAX];
    if stream.read(&mut messages)? == 0 {
        return Ok(());
    }
    stream.write_all(&LOGGED_IN)?;
    let (mut held, mut replies) = (0, Vec::new());
    loop {
        let read = stream.read(messages.get_mut(held..).unwrap_or_default())?;
        if read == 0 {
            return Ok(());
        }
        let mut rest = messages.get(..held + read).unwrap_or_default();
        replies.clear();
        while let Some(len) = message_len(rest) {
            replies.extend_from_slice(reply);
            rest = rest.get(len..).unwrap_or_default();
        }
        // The beginning of a message stays.
        let from = held + read - rest.len();
        held = rest.len();
        messages.copy_within(from..from + held, 0);
        stream.write_all(&replies)?;
    }
}

/// The length of the message at the beginning of `bytes`, with its header; nothing if it is not
/// whole.
fn message_len(bytes: &[u8]) -> Option<usize> {
    let [low, middle, high, _] = *bytes.first_chunk()?;
    let len = 4 + u32::from_le_bytes([low, middle, high, 0]) as usize;
    (len <= bytes.len()).then_some(len)
}
