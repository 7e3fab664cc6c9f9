//! Addresses whose connections fail before or in their login, for `mysql-client_host_cache_size`
//! and `mysql-client_host_error_counts`. Nothing is kept, and nothing locked, while these are 0,
//! which they are unless an operator sets them. Listeners with a `client_host_error_counts` of
//! their own count by themselves, those that lead to the same hostgroup together.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use config::{Listener, MysqlVariables};
use net::lock;

use observe::rows::ClientHost;

/// The addresses. Times are since the start of the proxy.
#[derive(Debug, Default)]
pub struct Hosts {
    cache: Mutex<Cache>,
    /// Connections that were closed because too many from their address had failed.
    refused: AtomicU64,
}

/// An address, and the hostgroup of the listeners that count it by themselves.
type Counted = (IpAddr, Option<u32>);

#[derive(Debug, Default)]
struct Cache {
    /// How many have failed, and when the last one did.
    hosts: HashMap<Counted, (u64, Duration)>,
    /// The same addresses, the one first whose last failure is longest ago.
    order: BTreeSet<(Duration, Counted)>,
}

/// How `ip` is counted at `listener`.
fn counted(ip: IpAddr, listener: &Listener) -> Counted {
    (ip, listener.hostgroup.filter(|_| listener.client_host_error_counts.is_some()))
}

impl Hosts {
    /// Whether a connection from `ip` to `listener` is to be closed; if so, it is counted.
    pub(crate) fn refuse(&self, ip: Option<IpAddr>, listener: &Listener, variables: &MysqlVariables) -> bool {
        let most = listener.client_host_error_counts.unwrap_or(variables.client_host_error_counts);
        let Some(ip) = ip.filter(|_| variables.client_host_cache_size > 0 && most > 0) else { return false };
        let refused = lock(&self.cache)
            .hosts
            .get(&counted(ip, listener))
            .is_some_and(|&(errors, _)| errors >= most.into());
        if refused {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        refused
    }

    /// A connection from `ip` to `listener` has failed, or has got through its login.
    pub(crate) fn note(
        &self,
        ip: Option<IpAddr>,
        listener: &Listener,
        failed: bool,
        variables: &MysqlVariables,
        now: Duration,
    ) {
        let size = variables.client_host_cache_size as usize;
        let Some(ip) = ip.filter(|_| size > 0).map(|ip| counted(ip, listener)) else { return };
        let mut cache = lock(&self.cache);
        let errors = cache.remove(ip).map_or(0, |(errors, _)| errors);
        if failed {
            while cache.hosts.len() >= size && cache.forget_oldest() {}
            cache.hosts.insert(ip, (errors + 1, now));
            cache.order.insert((now, ip));
        }
    }

    /// The addresses, each with its failures at all listeners; with `reset` they are forgotten.
    pub fn list(&self, reset: bool) -> Vec<ClientHost> {
        let mut cache = lock(&self.cache);
        let mut hosts: BTreeMap<IpAddr, (u64, Duration)> = BTreeMap::new();
        for (&(address, _), &(more, when)) in &cache.hosts {
            let (errors, last) = hosts.entry(address).or_default();
            (*errors, *last) = (*errors + more, when.max(*last));
        }
        if reset {
            *cache = Cache::default();
        }
        hosts.into_iter().map(|(address, (errors, last))| ClientHost { address, errors, last }).collect()
    }

    /// Connections that were closed.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }
}

impl Cache {
    fn remove(&mut self, ip: Counted) -> Option<(u64, Duration)> {
        let host = self.hosts.remove(&ip)?;
        self.order.remove(&(host.1, ip));
        Some(host)
    }

    /// False if there is none.
    fn forget_oldest(&mut self) -> bool {
        self.order.pop_first().is_some_and(|(_, ip)| self.hosts.remove(&ip).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(size: u32, most: u32) -> MysqlVariables {
        MysqlVariables {
            client_host_cache_size: size,
            client_host_error_counts: most,
            ..MysqlVariables::default()
        }
    }

    fn ip(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn an_address_is_refused_after_its_failures_until_one_succeeds() {
        let (hosts, on) = (Hosts::default(), variables(10, 2));
        hosts.note(Some(ip(1)), &Listener::default(), true, &on, at(1));
        assert!(!hosts.refuse(Some(ip(1)), &Listener::default(), &on));
        hosts.note(Some(ip(1)), &Listener::default(), true, &on, at(2));
        assert!(
            hosts.refuse(Some(ip(1)), &Listener::default(), &on)
                && !hosts.refuse(Some(ip(2)), &Listener::default(), &on)
                && !hosts.refuse(None, &Listener::default(), &on)
        );
        assert_eq!(hosts.refused(), 1);
        assert_eq!(hosts.list(false), [ClientHost { address: ip(1), errors: 2, last: at(2) }]);
        hosts.note(Some(ip(1)), &Listener::default(), false, &on, at(3));
        assert!(!hosts.refuse(Some(ip(1)), &Listener::default(), &on) && hosts.list(false).is_empty());
    }

    #[test]
    fn nothing_is_kept_unless_it_is_wanted() {
        let hosts = Hosts::default();
        hosts.note(Some(ip(1)), &Listener::default(), true, &variables(0, 1), at(1));
        assert!(hosts.list(false).is_empty());
        hosts.note(Some(ip(1)), &Listener::default(), true, &variables(1, 0), at(1));
        assert!(!hosts.refuse(Some(ip(1)), &Listener::default(), &variables(1, 0)));
        assert_eq!(hosts.list(true).len(), 1);
        assert!(hosts.list(false).is_empty());
    }

    #[test]
    fn the_address_that_failed_longest_ago_makes_room() {
        let (hosts, on) = (Hosts::default(), variables(2, 1));
        for (second, last) in [(1, 1), (2, 2), (3, 1), (4, 3)] {
            hosts.note(Some(ip(last)), &Listener::default(), true, &on, at(second));
        }
        let mut left: Vec<_> =
            hosts.list(false).into_iter().map(|host| (host.address, host.errors)).collect();
        left.sort_unstable();
        assert_eq!(left, [(ip(1), 2), (ip(3), 1)]);
        let cache = lock(&hosts.cache);
        assert_eq!(cache.order.len(), cache.hosts.len());
    }

    #[test]
    fn routes_with_limits_of_their_own_count_by_themselves() {
        let (hosts, on) = (Hosts::default(), variables(10, 9));
        let route = |hostgroup, most| Listener {
            hostgroup: Some(hostgroup),
            client_host_error_counts: most,
            ..Listener::default()
        };
        let (one, two, three) = (route(1, Some(2)), route(2, Some(1)), route(3, None));
        for second in [1, 2] {
            hosts.note(Some(ip(1)), &one, true, &on, at(second));
        }
        let refused = [&one, &two, &three].map(|route| hosts.refuse(Some(ip(1)), route, &on));
        assert_eq!(refused, [true, false, false]);
        hosts.note(Some(ip(1)), &two, true, &on, at(3));
        assert!(hosts.refuse(Some(ip(1)), &two, &on) && !hosts.refuse(Some(ip(1)), &three, &on));
        assert_eq!(hosts.list(false), [ClientHost { address: ip(1), errors: 3, last: at(3) }]);
        hosts.note(Some(ip(1)), &one, false, &on, at(4));
        assert!(!hosts.refuse(Some(ip(1)), &one, &on) && hosts.refuse(Some(ip(1)), &two, &on));
    }
}
