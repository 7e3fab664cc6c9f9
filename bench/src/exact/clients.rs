//! Clients that each send a query, read its reply, and send the next one: how long a reply takes.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use testkit::client::{Client, Options};
use testkit::server::{PASSWORD, USER};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use wire::command::Kind;
use wire::frame::put_message;

/// Longest time of a run behind its end, and of a first reply.
const OVERTIME_MAX: Duration = Duration::from_secs(10);
/// Bytes of a reply at most.
const REPLY_MAX: usize = 16 << 10;

/// Queries whose replies all have the same number of bytes.
#[derive(Debug, Clone)]
pub(crate) struct Queries(Vec<Vec<u8>>);

impl Queries {
    /// These texts, as commands.
    pub(crate) fn new(texts: impl IntoIterator<Item = String>) -> Self {
        let command = |text: String| {
            let mut command = Vec::new();
            let kind = [Kind::Query as u8];
            put_message(&mut command, 0, &[&kind[..], text.as_bytes()].concat());
            command
        };
        Self(texts.into_iter().map(command).collect())
    }
}

/// Times of all replies of a run, in microseconds.
#[derive(Debug, Default)]
pub(crate) struct Times(Vec<u32>);

impl Times {
    /// How many replies there were.
    pub(crate) const fn count(&self) -> usize {
        self.0.len()
    }

    /// The time that `percent` of the replies took at most.
    pub(crate) fn percentile(&mut self, percent: usize) -> f64 {
        self.0.sort_unstable();
        let at = (self.0.len() * percent / 100).min(self.0.len().saturating_sub(1));
        self.0.get(at).copied().map_or(f64::NAN, f64::from)
    }
}

/// So many clients ask for some seconds. Each begins with another one of the queries.
pub(crate) async fn ask(
    address: SocketAddr,
    clients: usize,
    queries: &Queries,
    seconds: u32,
) -> anyhow::Result<Times> {
    let mut streams = Vec::new();
    for _ in 0..clients {
        streams.push(connect(address).await?);
    }
    let reply_len = {
        let (first, command) = (streams.first_mut(), queries.0.first());
        first_reply(first.context("no client")?, command.context("no query")?).await?
    };
    let length = Duration::from_secs(seconds.into());
    let end = Instant::now() + length;
    let mut running = JoinSet::new();
    for (at, mut stream) in streams.into_iter().enumerate() {
        let queries = queries.clone();
        running.spawn(async move {
            let (mut reply, mut times) = (vec![0; reply_len], Vec::new());
            let skipped = at * queries.0.len() / clients;
            let mut commands = queries.0.iter().cycle().skip(skipped);
            let mut sent = Instant::now();
            while sent < end
                && let Some(command) = commands.next()
            {
                stream.write_all(command).await?;
                stream.read_exact(&mut reply).await?;
                let now = Instant::now();
                times.push(u32::try_from((now - sent).as_micros())?);
                sent = now;
            }
            anyhow::Ok(times)
        });
    }
    let all = tokio::time::timeout(length + OVERTIME_MAX, running.join_all()).await;
    let all = all.context("replies are shorter than the first one, or do not come")?;
    Ok(Times(all.into_iter().collect::<anyhow::Result<Vec<_>>>()?.concat()))
}

async fn connect(address: SocketAddr) -> anyhow::Result<TcpStream> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    drop(Client::over(&mut stream, &Options::tcp(address, USER, PASSWORD)).await?);
    Ok(stream)
}

/// The number of bytes of the reply to a command.
async fn first_reply(stream: &mut TcpStream, command: &[u8]) -> anyhow::Result<usize> {
    stream.write_all(command).await?;
    // A reply of some hundred bytes comes in one piece.
    let len = tokio::time::timeout(OVERTIME_MAX, stream.read(&mut vec![0; REPLY_MAX])).await??;
    ensure!(len > 0, "no reply");
    Ok(len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_a_time_that_so_many_stayed_within() {
        let mut times = Times((1..=100).rev().collect());
        assert_eq!((times.percentile(50), times.percentile(99), times.percentile(100)), (51.0, 100.0, 100.0));
        assert!(Times::default().percentile(50).is_nan());
    }
}
