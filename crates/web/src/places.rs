//! Places for connections, so that one machine cannot take all of them.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};

use crate::limits::ADDRESS_CLIENTS_MAX;
use crate::site::Site;

/// Connections of each address that is not on this machine.
#[derive(Debug, Default)]
pub(crate) struct Places(HashMap<IpAddr, usize>);

impl Places {
    /// Counts a connection; whether there is a place for it.
    fn take(&mut self, client: IpAddr) -> bool {
        let taken = self.0.entry(client).or_default();
        let is_free = *taken < ADDRESS_CLIENTS_MAX;
        *taken += usize::from(is_free);
        is_free
    }

    /// A connection that was counted has ended.
    fn give_back(&mut self, client: IpAddr) {
        if let Some(taken) = self.0.get_mut(&client) {
            *taken = taken.saturating_sub(1);
            if *taken == 0 {
                self.0.remove(&client);
            }
        }
    }
}

/// The place of a connection, until it is dropped.
pub(crate) struct Place<'a> {
    site: &'a Site,
    /// Nothing for a client on this machine, which is not counted.
    client: Option<IpAddr>,
}

impl<'a> Place<'a> {
    /// A place for a connection of `client`; nothing if its address has too many.
    pub(crate) fn take(site: &'a Site, client: IpAddr) -> Option<Self> {
        let client = counted(client);
        client.is_none_or(|client| site.places().take(client)).then_some(Self { site, client })
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if let Some(client) = self.client {
            self.site.places().give_back(client);
        }
    }
}

/// The address under which a client is counted: of IPv6 the network, as one machine may have all
/// addresses of it. Nothing for a client on this machine.
fn counted(client: IpAddr) -> Option<IpAddr> {
    let client = client.to_canonical();
    let counted = match client {
        IpAddr::V4(_) => client,
        IpAddr::V6(client) => Ipv6Addr::from_bits(client.to_bits() >> 64 << 64).into(),
    };
    (!client.is_loopback()).then_some(counted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_share_of_the_places() {
        let mut places = Places::default();
        let [here, there] = [1, 2].map(|n| IpAddr::from([10, 0, 0, n]));
        for _ in 0..ADDRESS_CLIENTS_MAX {
            assert!(places.take(here));
        }
        assert!(!places.take(here) && places.take(there));
        places.give_back(here);
        assert!(places.take(here) && !places.take(here));
        for _ in 0..ADDRESS_CLIENTS_MAX {
            places.give_back(here);
        }
        places.give_back(there);
        assert!(places.0.is_empty());
    }

    #[test]
    fn networks_of_ipv6_count_as_one_and_this_machine_does_not() {
        let of = |client: &str| counted(client.parse().unwrap()).map(|client| client.to_string());
        assert_eq!(of("2001:db8:1:2:3::4"), Some("2001:db8:1:2::".to_owned()));
        assert_eq!(of("::ffff:10.0.0.1"), Some("10.0.0.1".to_owned()));
        assert_eq!([of("127.0.0.2"), of("::1"), of("::ffff:127.0.0.1")], [None, None, None]);
    }
}
