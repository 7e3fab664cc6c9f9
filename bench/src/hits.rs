//! What a hit of the query cache costs, beside a server that sends the same bytes without looking.

use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use testkit::client::{Client, Options};
use testkit::guard::{Process, Sandbox};
use testkit::mariadb::{PASSWORD, USER};
use testkit::net::free_port;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use wire::command::Kind;
use wire::frame::put_message;

use crate::procfs;
use crate::sysbench::SCHEMA;
use crate::target::Target;

/// Clients that ask.
const CLIENTS: u32 = 16;
/// Queries that a client sends at once, where it does not wait for each.
const IN_FLIGHT: usize = 16;
/// Longest time until the server of equal bytes listens, and for a message.
const WAIT_MAX: Duration = Duration::from_secs(5);
/// Bytes of a reply at most.
const REPLY_MAX: usize = 16 << 10;

/// How clients ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Text,
    Prepared,
    InFlight,
}

impl How {
    const ALL: [Self; 3] = [Self::Text, Self::Prepared, Self::InFlight];

    const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Prepared => "prepared",
            Self::InFlight => "text, 16 in flight",
        }
    }

    /// Queries that a client sends before it reads.
    const fn at_once(self) -> usize {
        if matches!(self, Self::InFlight) { IN_FLIGHT } else { 1 }
    }

    /// A query for a row of the table; the statement is prepared as this number.
    fn command(self, statement: u32) -> Vec<u8> {
        let mut command = Vec::new();
        let payload = match self {
            Self::Text | Self::InFlight => {
                format!("\x03SELECT c FROM {SCHEMA}.sbtest1 WHERE id = 1").into_bytes()
            }
            Self::Prepared => {
                // No cursor, once; no NULL; its type and its value: a number of 32 bits.
                let head = [&[Kind::StmtExecute as u8][..], &statement.to_le_bytes(), &[0, 1, 0, 0, 0]];
                [&head.concat()[..], &[0, 1, 3, 0, 1, 0, 0, 0]].concat()
            }
        };
        put_message(&mut command, 0, &payload);
        command
    }
}

/// Costs of a hit, and of the same bytes from a server that does not look, in microseconds of
/// processor time.
#[derive(Debug)]
pub(crate) struct Costs(Vec<(How, [f64; 2])>);

impl Costs {
    /// Measures hits of `target`, whose cache is warm, for some seconds each.
    pub(crate) fn measure(sandbox: &Sandbox, target: &Target, seconds: u32) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let greeting = greeting(target.address())?;
        let costs = How::ALL.map(|how| {
            let reply = runtime.block_on(reply(target.address(), how))?;
            let echo = Echo::start(sandbox, &greeting, &reply)?;
            let hit = cost(&runtime, how, (target.address(), target.pid(), true), reply.len(), seconds)?;
            let same = cost(&runtime, how, (echo.address, echo.process.pid(), false), reply.len(), seconds)?;
            Ok((how, [hit, same]))
        });
        costs.into_iter().collect::<anyhow::Result<_>>().map(Self)
    }

    /// A table of them.
    pub(crate) fn table(&self) -> String {
        let mut text = format!("\n{:<24}{:>10}{:>14}{:>7}\n", "a hit, CPU us", "proxy", "same bytes", "x");
        for (how, [hit, same]) in &self.0 {
            let _ = writeln!(text, "{:<24}{hit:>10.2}{same:>14.2}{:>7.2}", how.name(), hit / same);
        }
        text
    }
}

/// The first packet of a server.
fn greeting(address: SocketAddr) -> anyhow::Result<Vec<u8>> {
    let mut stream = std::net::TcpStream::connect(address)?;
    stream.set_read_timeout(Some(WAIT_MAX))?;
    let mut packet = vec![0; 4];
    stream.read_exact(&mut packet)?;
    let len = usize::from(packet[0]) + (usize::from(packet[1]) << 8);
    packet.resize(4 + len, 0);
    stream.read_exact(&mut packet[4..])?;
    Ok(packet)
}

/// A connection of the user, and what its queries are. The server of equal bytes `prepares`
/// nothing.
async fn connect(address: SocketAddr, how: How, prepares: bool) -> anyhow::Result<(TcpStream, Vec<u8>)> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let mut client = Client::over(&mut stream, &Options::tcp(address, USER, PASSWORD)).await?;
    let mut statement = 1;
    if prepares && how == How::Prepared {
        statement = client.prepare(&format!("SELECT c FROM {SCHEMA}.sbtest1 WHERE id = ?")).await?.id;
    }
    drop(client);
    Ok((stream, how.command(statement)))
}

/// The bytes of the reply to one query, from a cache that has the answer.
async fn reply(address: SocketAddr, how: How) -> anyhow::Result<Vec<u8>> {
    let (mut stream, command) = connect(address, how, true).await?;
    let mut reply = Vec::new();
    for _ in 0..4 {
        stream.write_all(&command).await?;
        reply.resize(REPLY_MAX, 0);
        // An answer of some hundred bytes comes in one piece.
        let len = tokio::time::timeout(WAIT_MAX, stream.read(&mut reply)).await??;
        reply.truncate(len);
    }
    ensure!(!reply.is_empty(), "no reply");
    Ok(reply)
}

/// The server of equal bytes: this program in a process of its own.
struct Echo {
    process: Process,
    address: SocketAddr,
}

impl Echo {
    fn start(sandbox: &Sandbox, greeting: &[u8], reply: &[u8]) -> anyhow::Result<Self> {
        let file = |name| sandbox.path().join(name);
        fs::write(file("greeting"), greeting)?;
        fs::write(file("reply"), reply)?;
        let port = free_port()?;
        let mut command = sandbox.command(&std::env::current_exe()?)?;
        command.arg(format!("--echo={port}")).arg(file("greeting")).arg(file("reply"));
        let process = sandbox.start(command)?;
        let address = (Ipv4Addr::LOCALHOST, port).into();
        let deadline = Instant::now() + WAIT_MAX;
        while std::net::TcpStream::connect(address).is_err() {
            ensure!(Instant::now() < deadline, "the server of equal bytes does not listen");
            std::thread::yield_now();
        }
        Ok(Self { process, address })
    }
}

/// Processor time of a server per query, in microseconds. Each reply has so many bytes.
fn cost(
    runtime: &Runtime,
    how: How,
    (address, pid, prepares): (SocketAddr, u32, bool),
    reply_len: usize,
    seconds: u32,
) -> anyhow::Result<f64> {
    runtime
        .block_on(async {
            let mut clients = Vec::new();
            for _ in 0..CLIENTS {
                clients.push(connect(address, how, prepares).await?);
            }
            let (before, end) = (procfs::cpu(pid)?, Instant::now() + Duration::from_secs(seconds.into()));
            let mut running = JoinSet::new();
            for (mut stream, command) in clients {
                running.spawn(async move {
                    let (command, mut replies) =
                        (command.repeat(how.at_once()), vec![0; reply_len * how.at_once()]);
                    let mut queries = 0_u32;
                    while Instant::now() < end {
                        stream.write_all(&command).await?;
                        stream.read_exact(&mut replies).await?;
                        queries += u32::try_from(how.at_once())?;
                    }
                    anyhow::Ok(queries)
                });
            }
            let queries = running.join_all().await.into_iter().sum::<anyhow::Result<u32>>()?;
            let cpu = procfs::cpu(pid)?.saturating_sub(before);
            anyhow::Ok(cpu.as_secs_f64() * 1e6 / f64::from(queries.max(1)))
        })
        .context(how.name())
}
