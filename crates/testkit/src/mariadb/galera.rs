//! A Galera cluster of MariaDB servers.
//!
//! Nodes begin with copies of one data directory, so that none of them has to give its state to
//! another: what runs in the place of rsync only says which state that is.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

use super::{Binaries, Server, Setup};
use crate::folders::copy_folder;
use crate::guard::Sandbox;
use crate::net::free_port;
use crate::server::{Programs, tail};

/// Where systems have the library that makes a server a node.
const PROVIDERS: [&str; 3] = [
    "/usr/lib/galera/libgalera_smm.so",
    "/usr/lib64/galera-4/libgalera_smm.so",
    "/usr/lib64/galera/libgalera_smm.so",
];
/// Longest time until a node is ready.
const JOIN_TIME_MAX: Duration = Duration::from_mins(1);
/// How often that is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Who is lost is given up after two seconds instead of five; the other times are what goes with
/// that.
const TIMES: &str =
    "evs.suspect_timeout=PT2S;evs.inactive_timeout=PT6S;evs.install_timeout=PT3S;evs.keepalive_period=PT0.5S";

/// What is called in the place of `wsrep_sst_rsync`: the joiner has its state already.
const TRANSFER: &str = r#"#!/bin/sh
while [ $# -gt 0 ]; do
    case $1 in
        --role) role=$2 ;;
        --gtid) gtid=$2 ;;
        --datadir) datadir=$2 ;;
    esac
    shift
done
case $role in
    joiner) echo "ready 127.0.0.1:1"; cat "$datadir/position" ;;
    donor) echo "done $gtid" ;;
esac
"#;

/// Servers that form a cluster. Dropping it kills them all.
#[derive(Debug)]
pub struct Galera {
    /// The nodes; server ids 1 and up.
    pub nodes: Vec<Server>,
}

/// MariaDB's programs with [`TRANSFER`] among them.
#[derive(Debug, Clone)]
struct WithTransfer {
    binaries: Binaries,
    path: OsString,
}

impl Programs for WithTransfer {
    fn install(&self, sandbox: &Sandbox, datadir: &Path) -> anyhow::Result<()> {
        self.binaries.install(sandbox, datadir)
    }

    fn server(&self, sandbox: &Sandbox) -> anyhow::Result<Command> {
        let mut command = self.binaries.server(sandbox)?;
        command.env("PATH", &self.path);
        Ok(command)
    }

    fn client(&self, sandbox: &Sandbox) -> anyhow::Result<Command> {
        self.binaries.client(sandbox)
    }
}

impl Galera {
    /// Starts so many nodes, all with the additional options `args`, and waits until they are ready
    /// and have a database `test`.
    ///
    /// # Errors
    /// When a node does not start or does not join, or there is no library for it: the text names
    /// the Debian package.
    pub fn start(
        binaries: &Binaries,
        sandbox: &Sandbox,
        nodes: usize,
        args: &[&str],
    ) -> anyhow::Result<Self> {
        let provider = PROVIDERS.map(PathBuf::from).into_iter().find(|path| path.exists());
        let provider = provider.context("no library of Galera: the Debian package galera-4 has it")?;
        let programs = with_transfer(binaries, sandbox)?;
        let ports = (0..nodes).map(|_| free_port()).collect::<Result<Vec<u16>, _>>()?;
        let of = |at: usize| options(&provider, &ports, at);
        let seed = seed(&programs, sandbox, of(0)?)?;
        let position = position(&seed)?;
        let mut cluster = Self { nodes: Vec::new() };
        // One after the other: each is the donor of the next.
        for (at, id) in (0..nodes).zip(1..) {
            let setup = Setup::new(&format!("node{id}")).server_id(id).args(of(at)?);
            let first = if at == 0 { &["--wsrep-new-cluster"][..] } else { &[] };
            let node =
                setup.args(first.iter().copied()).args(args.iter().copied()).create(&programs, sandbox)?;
            copy_folder(&seed, &node.datadir())?;
            std::fs::write(node.datadir().join("position"), &position)?;
            let node = node.started()?;
            wait_ready(&node)?;
            cluster.nodes.push(node);
        }
        Ok(cluster)
    }
}

fn with_transfer(binaries: &Binaries, sandbox: &Sandbox) -> anyhow::Result<WithTransfer> {
    let folder = sandbox.path().join("transfer");
    std::fs::create_dir(&folder)?;
    let program = folder.join("wsrep_sst_position");
    std::fs::write(&program, TRANSFER)?;
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?;
    let mut path = folder.into_os_string();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    Ok(WithTransfer { binaries: binaries.clone(), path })
}

/// A data directory that was a node's: it knows the cluster's name and its own state.
fn seed(programs: &WithTransfer, sandbox: &Sandbox, options: Vec<String>) -> anyhow::Result<PathBuf> {
    let setup = Setup::new("seed").args(options).args(["--wsrep-new-cluster"]);
    let mut server = setup.start(programs, sandbox)?;
    wait_ready(&server)?;
    server.sql("CREATE DATABASE test")?;
    server.stop()?;
    Ok(server.datadir())
}

/// The state of a data directory, as nodes write it.
fn position(datadir: &Path) -> anyhow::Result<String> {
    let state = std::fs::read_to_string(datadir.join("grastate.dat"))?;
    let value = |name: &str| {
        let line = state.lines().find_map(|line| line.strip_prefix(name));
        line.map(str::trim).with_context(|| format!("no `{name}` in {state}"))
    };
    Ok(format!("{}:{}\n", value("uuid:")?, value("seqno:")?))
}

fn wait_ready(node: &Server) -> anyhow::Result<()> {
    let deadline = Instant::now() + JOIN_TIME_MAX;
    while !node.sql("SHOW STATUS LIKE 'wsrep_ready'")?.trim_end().ends_with("ON") {
        if Instant::now() > deadline {
            bail!("{} does not join:\n{}", node.name(), tail(&node.log()));
        }
        thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

fn options(provider: &Path, ports: &[u16], at: usize) -> anyhow::Result<Vec<String>> {
    let port = ports.get(at).context("no such node")?;
    let cluster: Vec<String> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
    Ok(vec![
        "--wsrep-on=ON".to_owned(),
        format!("--wsrep-provider={}", provider.display()),
        "--wsrep-cluster-name=test".to_owned(),
        format!("--wsrep-cluster-address=gcomm://{}", cluster.join(",")),
        format!("--wsrep-node-address=127.0.0.1:{port}"),
        "--wsrep-sst-method=position".to_owned(),
        format!(
            "--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:{port};ist.recv_addr=127.0.0.1:{};\
             gcache.size=8M;socket.ssl=no;{TIMES}",
            free_port()?
        ),
        "--binlog-format=ROW".to_owned(),
        "--innodb-autoinc-lock-mode=2".to_owned(),
    ])
}
