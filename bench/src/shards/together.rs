//! The query that needs all shards, sent to their servers at once by a client that needs no proxy:
//! what four servers take on this machine before anything is merged.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use testkit::client::{Client, Options};
use testkit::load::Histogram;
use testkit::mariadb::{PASSWORD, USER};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use crate::sysbench::SCHEMA;

use super::{NEWEST, Run, number};

/// Asks all servers at once, again and again for some seconds.
pub(super) fn run(runtime: &Runtime, servers: &[SocketAddr], seconds: u32) -> anyhow::Result<Run> {
    runtime.block_on(async {
        let mut clients = Vec::new();
        for address in servers {
            clients.push(Client::connect(&Options::tcp(*address, USER, PASSWORD).schema(SCHEMA)).await?);
        }
        let (mut times, begun) = (Histogram::default(), Instant::now());
        let end = begun + Duration::from_secs(seconds.into());
        while Instant::now() < end {
            let started = Instant::now();
            let mut running: JoinSet<anyhow::Result<Client>> = JoinSet::new();
            for mut client in clients.drain(..) {
                running.spawn(async move {
                    client.query(NEWEST).await?;
                    Ok(client)
                });
            }
            while let Some(ended) = running.join_next().await {
                clients.push(ended??);
            }
            times.record(started.elapsed());
        }
        let qps = number(times.count()) / begun.elapsed().as_secs_f64();
        Ok(Run { times, qps, cpu_us: 0.0 })
    })
}
