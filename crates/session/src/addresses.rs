//! How many clients there are from each address, for `mysql-max_connections_per_address`. Nothing
//! is kept, and nothing locked, while that is 0.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// The addresses from which clients are connected that are counted.
#[derive(Debug, Default)]
pub struct Addresses(Mutex<HashMap<IpAddr, u32>>);

/// The place of a client among those of its address.
#[derive(Debug)]
pub struct Place {
    all: Arc<Addresses>,
    ip: IpAddr,
}

impl Addresses {
    /// A place for one more client from `ip`, unless `max` are there. Those that came while none
    /// were counted do not count.
    pub fn take(self: &Arc<Self>, ip: IpAddr, max: u32) -> Option<Place> {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(ip).or_default();
        if *count >= max {
            return None;
        }
        *count += 1;
        Some(Place { all: Arc::clone(self), ip })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut counts = self.all.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.ip) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.ip);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_has_its_own_places() {
        let all = Arc::<Addresses>::default();
        let [one, two] = [1, 2].map(|last| IpAddr::from([10, 0, 0, last]));
        let held = (all.take(one, 2), all.take(one, 2));
        assert!(held.0.is_some() && held.1.is_some() && all.take(one, 2).is_none());
        assert!(all.take(two, 2).is_some());
        drop(held);
        assert!(all.take(one, 1).is_some());
        assert!(all.0.lock().unwrap().is_empty(), "nothing is kept of who has left");
    }
}
