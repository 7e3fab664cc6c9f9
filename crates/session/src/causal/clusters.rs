//! The highest transactions of each cluster.
//!
//! Clusters of MariaDB number their transactions in the same domains. What one has says nothing of
//! another one.

use gtid::{Gtid, Highest};

/// Clusters that are kept: more than a configuration has. Beyond them, the one that was added first
/// is dropped.
pub const CLUSTERS_MAX: usize = 1_024;

/// The highest transactions by the hostgroup of a cluster's writers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Clusters(Vec<(u32, Highest)>);

impl Clusters {
    /// Raises what a cluster has to this transaction. Returns whether anything has changed.
    pub fn raise(&mut self, cluster: u32, gtid: Gtid) -> bool {
        if let Some(highest) = self.get_mut(cluster) {
            return highest.raise(gtid);
        }
        if self.0.len() >= CLUSTERS_MAX {
            self.0.remove(0);
        }
        self.0.push((cluster, [gtid].into_iter().collect()));
        true
    }

    /// Raises all clusters to what another one has.
    pub fn merge(&mut self, other: &Self) {
        for (cluster, highest) in &other.0 {
            for gtid in highest.iter() {
                self.raise(*cluster, *gtid);
            }
        }
    }

    /// What a cluster has.
    pub fn of(&self, cluster: u32) -> Highest {
        let found = self.0.iter().find(|(at, _)| *at == cluster);
        found.map(|(_, highest)| highest.clone()).unwrap_or_default()
    }

    /// Puts `left` in the place of a cluster's transaction that is `lost`. Returns whether that was
    /// there.
    pub fn replace(&mut self, cluster: u32, lost: &Gtid, left: Option<Gtid>) -> bool {
        self.get_mut(cluster).is_some_and(|highest| highest.replace(lost, left))
    }

    fn get_mut(&mut self, cluster: u32) -> Option<&mut Highest> {
        self.0.iter_mut().find(|(at, _)| *at == cluster).map(|(_, highest)| highest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_do_not_hide_each_other() {
        let gtid = |text: &str| text.parse::<Gtid>().unwrap();
        let mut clusters = Clusters::default();
        assert!(clusters.raise(10, gtid("0-1-900")) && clusters.raise(20, gtid("0-1-7")));
        assert!(!clusters.raise(10, gtid("0-1-8")) && clusters.raise(20, gtid("0-1-8")));
        let mut merged = Clusters::default();
        merged.merge(&clusters);
        assert!(merged.of(20).reaches(&gtid("0-1-8")) && !merged.of(20).reaches(&gtid("0-1-9")));
        assert!(merged.of(30).is_empty());
        assert!(!merged.replace(10, &gtid("0-1-8"), None) && merged.replace(20, &gtid("0-1-8"), None));
        assert!(merged.of(20).is_empty() && merged.of(10).reaches(&gtid("0-1-900")));
    }

    #[test]
    fn clusters_are_bounded() {
        let mut clusters = Clusters::default();
        for cluster in 0..=u32::try_from(CLUSTERS_MAX).unwrap() {
            clusters.raise(cluster, "0-1-1".parse().unwrap());
        }
        assert!(clusters.of(0).is_empty() && !clusters.of(1).is_empty());
    }
}
