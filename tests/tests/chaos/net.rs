//! Networks of the test's own: the proxy and its clients are in one network namespace, the servers
//! in another, and each server is reached over a cable between them that can be pulled.
//!
//! The kernel removes all of it with the last process that is in there; those that hold it are of
//! the sandbox, which ends however the test does. Nothing is changed in the machine's own network.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::net::Ipv4Addr;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail, ensure};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use testkit::guard::{Process, Sandbox};
use testkit::mariadb::Binaries;

/// What becomes of packets between the proxy and one server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cable {
    /// They arrive.
    Whole,
    /// They vanish, and neither end is told.
    Vanishing,
    /// The cable is unplugged at the server's end.
    Unplugged,
}

/// Two namespaces with a cable for each of two servers.
#[derive(Debug)]
pub(crate) struct Net {
    _here: Process,
    there: Process,
}

impl Net {
    /// Makes both namespaces and moves the calling thread into the first one. Whatever it starts
    /// from then on is in there, too.
    ///
    /// # Errors
    /// When this process may not do that, or the programs `unshare`, `nsenter` and `ip` are not
    /// there.
    pub(crate) fn enter(sandbox: &Sandbox) -> anyhow::Result<Self> {
        ensure!(rustix::process::geteuid().is_root(), "it takes root");
        let here = hold(sandbox)?;
        let there = hold(sandbox)?;
        let (place, net) = (namespace(&here)?, Self { _here: here, there });
        // If this works, so does the rest: from the next line on there is no way back.
        net.inside("ip", &["link", "set", "lo", "up"])?;
        move_to(&File::open(place)?.into())?;
        run("ip", &["link", "set", "lo", "up"])?;
        for server in 0..2 {
            net.lay(server)?;
        }
        Ok(net)
    }

    /// Lays the cable to a server, whose end has the address [`address`](Self::address).
    fn lay(&self, server: usize) -> anyhow::Result<()> {
        let (name, pid) = (name(server), self.there.pid().to_string());
        run("ip", &["link", "add", &name, "type", "veth", "peer", "name", &name, "netns", &pid])?;
        for (end, address) in [(End::Proxy, near(server)), (End::Server, Self::address(server))] {
            self.at(end, &["address", "add", &format!("{address}/30"), "dev", &name])?;
            self.at(end, &["link", "set", &name, "up"])?;
            if server == 0 {
                // A rule that comes before the one for the addresses of this end can have packets
                // vanish.
                self.at(end, &["rule", "add", "pref", "100", "lookup", "local"])?;
                self.at(end, &["rule", "del", "pref", "0"])?;
            }
        }
        Ok(())
    }

    /// The address of a server, as the proxy knows it.
    pub(crate) fn address(server: usize) -> Ipv4Addr {
        Ipv4Addr::new(10, 9, number(server), 2)
    }

    /// The servers' namespace, for a thread that shall be in it.
    pub(crate) fn servers(&self) -> anyhow::Result<OwnedFd> {
        Ok(File::open(namespace(&self.there)?)?.into())
    }

    /// The same programs, of which the server runs where the servers are.
    pub(crate) fn of_servers(&self, sandbox: &Sandbox, binaries: Binaries) -> anyhow::Result<Binaries> {
        let path = sandbox.path().join("mariadbd-there");
        let (namespace, server) = (namespace(&self.there)?, binaries.mariadbd.display().to_string());
        let script = format!("#!/bin/sh\nexec nsenter --net={} '{server}' \"$@\"\n", namespace.display());
        std::fs::write(&path, script)?;
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
        Ok(Binaries { mariadbd: path, ..binaries })
    }

    /// Has packets to and from a server arrive or not.
    pub(crate) fn set(&self, server: usize, cable: Cable) -> anyhow::Result<()> {
        let name = name(server);
        match cable {
            Cable::Whole => {
                self.at(End::Server, &["link", "set", &name, "up"])?;
                // Rules that are not there need not go.
                for end in [End::Proxy, End::Server] {
                    let _ = self.at(end, &["rule", "del", "pref", &preference(server)]);
                }
            }
            Cable::Vanishing => {
                for end in [End::Proxy, End::Server] {
                    self.at(end, &["rule", "add", "pref", &preference(server), "iif", &name, "blackhole"])?;
                }
            }
            Cable::Unplugged => self.at(End::Server, &["link", "set", &name, "down"])?,
        }
        Ok(())
    }

    fn at(&self, end: End, arguments: &[&str]) -> anyhow::Result<()> {
        match end {
            End::Proxy => run("ip", arguments),
            End::Server => self.inside("ip", arguments),
        }
    }

    fn inside(&self, program: &str, arguments: &[&str]) -> anyhow::Result<()> {
        let namespace = format!("--net={}", namespace(&self.there)?.display());
        run("nsenter", &[&[namespace.as_str(), program], arguments].concat())
    }
}

#[derive(Debug, Clone, Copy)]
enum End {
    Proxy,
    Server,
}

/// Has this thread, and the sockets that it opens from now on, in that namespace.
pub(crate) fn move_to(namespace: &OwnedFd) -> anyhow::Result<()> {
    Ok(move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?)
}

/// A process that does nothing but to be in a namespace of its own.
fn hold(sandbox: &Sandbox) -> anyhow::Result<Process> {
    let mut command = sandbox.command("unshare")?;
    let held = ["--net", "sh", "-c", "echo there; exec sleep infinity"];
    command.args(held).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut process = sandbox.start(command)?;
    let mut line = String::new();
    if let Some(stdout) = process.child().stdout.take() {
        BufReader::new(stdout).read_line(&mut line)?;
    }
    ensure!(line == "there\n", "`unshare --net` does not work here");
    Ok(process)
}

fn namespace(holder: &Process) -> anyhow::Result<PathBuf> {
    let path = PathBuf::from(format!("/proc/{}/ns/net", holder.pid()));
    ensure!(path.exists(), "{} is not there", path.display());
    Ok(path)
}

fn run(program: &str, arguments: &[&str]) -> anyhow::Result<()> {
    let output = Command::new(program).args(arguments).output();
    let output = output.with_context(|| format!("cannot run `{program}`"))?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr).into_owned();
        bail!("`{program} {}`: {}", arguments.join(" "), why.trim_end());
    }
    Ok(())
}

/// The name of a cable, at both ends.
fn name(server: usize) -> String {
    format!("way{server}")
}

/// The place of the rule for a cable.
fn preference(server: usize) -> String {
    (server + 1).to_string()
}

fn number(server: usize) -> u8 {
    u8::try_from(server).unwrap_or(u8::MAX)
}

/// The address of the proxy's end.
fn near(server: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 9, number(server), 1)
}
