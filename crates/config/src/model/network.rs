//! Networks: whose PROXY headers are believed.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// The addresses that begin with the same bits as one of them. Displayed as `10.0.0.0/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Network {
    /// The first address.
    first: IpAddr,
    /// Bits that all have in common.
    prefix: u8,
}

/// The value of `mysql-proxy_protocol_networks`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Networks {
    /// `*`: every address, and Unix sockets as well.
    Every,
    /// These; none if the list is empty.
    Listed(Vec<Network>),
}

/// A text that is no list of networks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidNetworks {
    /// An item is neither an address nor one with a prefix.
    #[error(
        "`{0}` is no network: write 10.0.0.0/8, 192.0.2.1, 2001:db8::/32, or `*` alone for every address"
    )]
    Malformed(String),
    /// The family has fewer bits.
    #[error("`{network}` has a prefix of more than {max} bits")]
    PrefixTooLong {
        /// The item.
        network: String,
        /// Bits of an address of its family.
        max: u8,
    },
}

impl Network {
    /// Whether `address` is one of them. An IPv4 address in IPv6 clothes counts as the IPv4
    /// address.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_ipv4() == self.first.is_ipv4() && masked(address, self.prefix) == self.first
    }
}

/// `address` with nothing behind its first `prefix` bits.
fn masked(address: IpAddr, prefix: u8) -> IpAddr {
    let prefix = u32::from(prefix);
    match address {
        IpAddr::V4(ip) => {
            let mask = u32::MAX.checked_shl(Ipv4Addr::BITS.saturating_sub(prefix)).unwrap_or(0);
            Ipv4Addr::from_bits(ip.to_bits() & mask).into()
        }
        IpAddr::V6(ip) => {
            let mask = u128::MAX.checked_shl(Ipv6Addr::BITS.saturating_sub(prefix)).unwrap_or(0);
            Ipv6Addr::from_bits(ip.to_bits() & mask).into()
        }
    }
}

impl FromStr for Network {
    type Err = InvalidNetworks;

    /// Bits behind the prefix are dropped: `10.1.2.3/8` is `10.0.0.0/8`, as in ProxySQL.
    fn from_str(text: &str) -> Result<Self, InvalidNetworks> {
        let malformed = || InvalidNetworks::Malformed(text.to_owned());
        let (address, prefix) = text.split_once('/').map_or((text, None), |(ip, bits)| (ip, Some(bits)));
        let address: IpAddr = address.parse().map_err(|_| malformed())?;
        let max = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            None => max,
            Some(bits) if !bits.is_empty() && bits.bytes().all(|byte| byte.is_ascii_digit()) => {
                let too_long = || InvalidNetworks::PrefixTooLong { network: text.to_owned(), max };
                bits.parse().ok().filter(|bits| *bits <= max).ok_or_else(too_long)?
            }
            Some(_) => return Err(malformed()),
        };
        Ok(Self { first: masked(address, prefix), prefix })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.prefix)
    }
}

impl Networks {
    /// Whether `address` is in one of them; `None` is a Unix socket, which only `*` includes.
    pub fn contain(&self, address: Option<IpAddr>) -> bool {
        match (self, address) {
            (Self::Every, _) => true,
            (Self::Listed(_), None) => false,
            (Self::Listed(networks), Some(address)) => {
                networks.iter().any(|network| network.contains(address))
            }
        }
    }
}

impl FromStr for Networks {
    type Err = InvalidNetworks;

    fn from_str(text: &str) -> Result<Self, InvalidNetworks> {
        match text.trim() {
            "" => Ok(Self::Listed(Vec::new())),
            "*" => Ok(Self::Every),
            list => {
                list.split(',').map(|item| item.trim().parse()).collect::<Result<_, _>>().map(Self::Listed)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn contain(networks: &str, address: &str) -> bool {
        networks.parse::<Networks>().unwrap().contain(Some(address.parse().unwrap()))
    }

    #[test]
    fn networks_of_both_families() {
        let networks = "10.0.0.0/8, 192.0.2.7,2001:db8::/33";
        for inside in ["10.0.0.0", "10.255.255.255", "192.0.2.7", "2001:db8:7fff::1", "::ffff:10.1.2.3"] {
            assert!(contain(networks, inside), "{inside}");
        }
        for outside in ["9.255.255.255", "11.0.0.0", "192.0.2.6", "2001:db8:8000::", "::10.1.2.3", "::1"] {
            assert!(!contain(networks, outside), "{outside}");
        }
        assert!(contain("0.0.0.0/0", "192.0.2.1") && !contain("0.0.0.0/0", "::1"));
        assert!(contain("::/0", "::1") && !contain("::/0", "192.0.2.1"));
        assert!(contain("*", "192.0.2.1") && contain("*", "::1") && !contain("", "192.0.2.1"));
    }

    #[test]
    fn unix_sockets_are_only_in_every_network() {
        assert!("*".parse::<Networks>().unwrap().contain(None));
        assert!(!"0.0.0.0/0, ::/0".parse::<Networks>().unwrap().contain(None));
    }

    #[test]
    fn what_is_no_network_is_refused() {
        for text in [
            "localhost",
            "10.0.0.0/",
            "10.0.0.0/+8",
            "10.0.0/8",
            "10.0.0.0/8,",
            ",",
            "*,10.0.0.0/8",
            "10.0.0.0/8 ::1",
        ] {
            assert!(matches!(text.parse::<Networks>(), Err(InvalidNetworks::Malformed(_))), "{text}");
        }
        for (text, max) in [("10.0.0.0/33", 32), ("::/129", 128), ("::/999", 128)] {
            let network = text.to_owned();
            assert_eq!(text.parse::<Networks>(), Err(InvalidNetworks::PrefixTooLong { network, max }));
        }
    }

    #[test]
    fn bits_behind_the_prefix_do_not_count() {
        assert_eq!("10.1.2.3/8".parse::<Network>().unwrap().to_string(), "10.0.0.0/8");
        assert_eq!("::1".parse::<Network>().unwrap().to_string(), "::1/128");
    }

    proptest! {
        #[test]
        fn a_network_has_its_own_addresses(address: IpAddr, bits in 0..=128u8) {
            let address = address.to_canonical();
            let bits = if address.is_ipv4() { bits % 33 } else { bits };
            let network: Network = format!("{address}/{bits}").parse().unwrap();
            prop_assert!(network.contains(address));
            prop_assert_eq!(network.to_string().parse::<Network>(), Ok(network));
        }
    }
}
