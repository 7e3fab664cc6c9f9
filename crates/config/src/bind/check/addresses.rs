//! Addresses that cannot be bound one after the other, because they are one.

use std::net::{IpAddr, SocketAddr};

use super::report;
use crate::bind::Listeners;
use crate::bind::tables::Tables;
use crate::model::{Address, Config};
use crate::problem::Problem;
use crate::row::Row;
use crate::schema::ADMIN_VARIABLES;

/// No two listeners may have one address, nor a listener and the admin port. Port 0 is another port
/// each time.
pub(super) fn distinct(listeners: &Listeners, tables: &Tables, problems: &mut Vec<Problem>) {
    for (at, (listener, place)) in listeners.iter().enumerate() {
        let before = listeners.iter().take(at);
        if let Some((other, first)) =
            before.clone().find(|(other, _)| is_one(&other.address, &listener.address))
        {
            let message = if other.address == listener.address {
                format!("another listener has the address {} ({})", listener.address, first.within())
            } else {
                let (one, other) = (&listener.address, &other.address);
                format!("{one} is a part of {other}, where another listener is ({})", first.within())
            };
            report(problems, place, message);
        }
    }
    let admin = tables.of(&ADMIN_VARIABLES).first();
    if admin.is_some_and(|row| !row.sound) {
        return;
    }
    let preset = || Row::presets(&ADMIN_VARIABLES).get("mysql_ifaces");
    let interfaces: Vec<Address> = admin.map_or_else(preset, |admin| admin.row.get("mysql_ifaces"));
    for (listener, place) in listeners {
        if let Some(interface) = interfaces.iter().find(|interface| is_one(interface, &listener.address)) {
            let place = admin.and_then(|admin| admin.given("mysql_ifaces")).unwrap_or(place);
            let message = format!(
                "the admin port cannot be at {interface} (`admin_variables.mysql_ifaces`): clients connect at {}",
                listener.address
            );
            report(problems, place, message);
        }
    }
}

/// Addresses of HTTP where something else listens: the proxy starts without them.
pub(super) fn warnings(config: &Config) -> Vec<String> {
    let clients = config.listeners.iter().map(|listener| ("where clients connect", &listener.address));
    let admins = config.admin.mysql_ifaces.iter().map(|address| ("the admin port's", address));
    let health = config.pointsman.health_address.iter().map(|address| ("that of `health_address`", address));
    let others: Vec<(&str, &Address)> = clients.chain(admins).chain(health).collect();
    let mut warnings = Vec::new();
    for (name, addresses) in
        [("health_address", &config.pointsman.health_address), ("web_address", &config.pointsman.web_address)]
    {
        for address in addresses {
            let other = others.iter().find(|(what, other)| !what.contains(name) && is_one(other, address));
            warnings.extend(
                other.map(|(what, other)| {
                    format!("`pointsman-{name}` cannot be {address}: {other} is {what}")
                }),
            );
        }
    }
    warnings
}

/// Whether a socket at one address takes the other one as well.
fn is_one(one: &Address, other: &Address) -> bool {
    match (one, other) {
        (Address::Tcp(one), Address::Tcp(other)) => {
            one.port() == other.port() && one.port() != 0 && meet(*one, *other)
        }
        _ => one == other && one.port() != Some(0),
    }
}

/// Whether two addresses with one port cannot both be bound. An unspecified address of IPv6 takes
/// those of IPv4 as well.
fn meet(one: SocketAddr, other: SocketAddr) -> bool {
    let takes = |all: IpAddr, one: IpAddr| all.is_unspecified() && (all.is_ipv6() || one.is_ipv4());
    let (one, other) = (one.ip(), other.ip());
    one.to_canonical() == other.to_canonical() || takes(one, other) || takes(other, one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unspecified_address_takes_all_of_its_port() {
        let address = |text: &str| text.parse::<Address>().unwrap();
        for (one, other) in [
            ("0.0.0.0:6033", "127.0.0.1:6033"),
            ("0.0.0.0:6033", "0.0.0.0:6033"),
            ("[::]:6033", "127.0.0.1:6033"),
            ("[::]:6033", "0.0.0.0:6033"),
            ("[::]:6033", "[::1]:6033"),
            ("/run/a.sock", "/run/a.sock"),
        ] {
            assert!(
                is_one(&address(one), &address(other)) && is_one(&address(other), &address(one)),
                "{one} {other}"
            );
        }
        for (one, other) in [
            ("127.0.0.1:6033", "127.0.0.2:6033"),
            ("0.0.0.0:6033", "127.0.0.1:6034"),
            ("0.0.0.0:6033", "[::1]:6033"),
            ("0.0.0.0:0", "127.0.0.1:0"),
            ("/run/a.sock", "/run/b.sock"),
        ] {
            assert!(
                !is_one(&address(one), &address(other)) && !is_one(&address(other), &address(one)),
                "{one} {other}"
            );
        }
    }
}
