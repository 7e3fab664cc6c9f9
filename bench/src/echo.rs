//! A server that answers without looking: the same bytes to each message. What any server of these
//! bytes costs at least.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::thread;

use anyhow::Context as _;

/// OK to a login: the third packet of the connection.
const LOGGED_IN: [u8; 11] = [7, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0];
/// Bytes of a message at most; all of the benchmark are shorter.
const MESSAGE_MAX: usize = 16 << 10;

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
    let mut message = vec![0; MESSAGE_MAX];
    let mut answer: &[u8] = &LOGGED_IN;
    while stream.read(&mut message)? > 0 {
        stream.write_all(answer)?;
        answer = reply;
    }
    Ok(())
}
