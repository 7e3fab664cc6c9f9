//! Addresses: where a route listens, and where it leads.

use std::net::{IpAddr, SocketAddr};

use crate::model::Address;

/// MySQL's port.
const SERVER_PORT: u16 = 3306;

/// What a Unix socket's path begins with in `destinations`.
const LOCAL: &str = "local:";

/// A server: a host with a port, or with port 0 the path of a Unix socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Destination {
    pub(super) host: String,
    pub(super) port: u16,
}

/// The servers of `destinations`, or what is wrong with it as the rest of a sentence that begins
/// with its name.
pub(super) fn destinations(text: &str) -> Result<Vec<Destination>, String> {
    if text.starts_with("metadata-cache:") {
        return Err(
            "needs the metadata of an InnoDB Cluster, which is not read here: give `host:port,host:port`"
                .to_owned(),
        );
    }
    let mut all = Vec::new();
    for part in text.split(',').map(str::trim) {
        let destination = destination(part).ok_or_else(|| {
            format!(
                "is wrong: `{}` is no server: write host, host:port, [ipv6]:port or local:/path",
                part.escape_debug()
            )
        })?;
        if all.contains(&destination) {
            return Err(format!("has {} twice", part.escape_debug()));
        }
        all.push(destination);
    }
    Ok(all)
}

fn destination(text: &str) -> Option<Destination> {
    if let Some(path) = text.strip_prefix(LOCAL) {
        return path.starts_with('/').then(|| Destination { host: path.to_owned(), port: 0 });
    }
    let (host, port) = host_and_port(text)?;
    let is_name = !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    let is_host = is_name || host.parse::<IpAddr>().is_ok();
    let port = port.unwrap_or(SERVER_PORT);
    (is_host && port != 0).then(|| Destination { host: host.to_owned(), port })
}

/// Where to listen, as `listeners.address` has it: the `address`, which may have a port, with this
/// port if it has none. `Err` is the rest of a sentence.
pub(super) fn bind(address: &str, port: Option<u16>) -> Result<String, String> {
    let wrong = || {
        format!(
            "is wrong: `{}` is no IP address and no name of a host, with or without a port",
            address.escape_debug()
        )
    };
    let (host, own) = host_and_port(address).ok_or_else(wrong)?;
    let port = own.or(port).ok_or("has no port, and `bind_port` is not set");
    if let Ok(ip) = host.parse() {
        return Ok(SocketAddr::new(ip, port?).to_string());
    }
    let named: Address = format!("{host}:{}", port?).parse().map_err(|_| wrong())?;
    Ok(named.to_string())
}

/// A host and its port; an IPv6 address with a port is in brackets.
fn host_and_port(text: &str) -> Option<(&str, Option<u16>)> {
    if let Some(rest) = text.strip_prefix('[') {
        let (host, rest) = rest.split_once(']')?;
        return match rest.strip_prefix(':') {
            Some(port) => Some((host, Some(port.parse().ok()?))),
            None => rest.is_empty().then_some((host, None)),
        };
    }
    match text.split_once(':') {
        Some((_, rest)) if rest.contains(':') => Some((text, None)),
        Some((host, port)) => Some((host, Some(port.parse().ok()?))),
        None => Some((text, None)),
    }
}
