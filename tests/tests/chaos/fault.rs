//! What happens to the servers in a round.

use std::time::{Duration, Instant};

use e2e::dice::Dice;

use super::net::Cable;
use super::pair::Pair;
use super::relay::Way;

/// What happens in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The primary and the replica change places as an administrator has them do it.
    Switch,
    /// The primary is killed, and the replica promoted.
    Kill,
    /// The primary is killed, and comes back as such.
    KillAndRestart,
    /// It is stopped and started in good order.
    Restart,
    /// It freezes for some time.
    Freeze,
    /// It freezes, is fenced, and the replica promoted.
    FreezeForGood,
    /// The network to it forwards nothing for some time.
    Hold,
    /// The network to it forwards nothing; the replica is promoted, and the primary told so, which
    /// takes a while.
    HoldForGood,
    /// Packets between it and the proxy vanish for some time.
    Partition,
    /// They vanish; the replica is promoted, and the primary told so, which takes a while.
    PartitionForGood,
    /// The cable between it and the proxy is unplugged for some time.
    Unplug,
    /// Connections to it break for some time.
    Cut,
    /// The replica dies and comes back.
    Replica,
    /// Packets between the replica and the proxy vanish for some time.
    ReplicaPartition,
}

/// All of them.
pub(crate) const FAULTS: [Fault; 14] = [
    Fault::Switch,
    Fault::Kill,
    Fault::KillAndRestart,
    Fault::Restart,
    Fault::Freeze,
    Fault::FreezeForGood,
    Fault::Hold,
    Fault::HoldForGood,
    Fault::Partition,
    Fault::PartitionForGood,
    Fault::Unplug,
    Fault::Cut,
    Fault::Replica,
    Fault::ReplicaPartition,
];

impl Fault {
    /// Lets it happen and be over; since when a server takes writes again.
    pub(crate) fn happen(self, pair: &mut Pair, dice: &mut Dice) -> Instant {
        let a_while = Duration::from_millis(200 + dice.below(2_000) as u64);
        let wait = || std::thread::sleep(a_while);
        match self {
            Self::Switch | Self::Kill | Self::FreezeForGood | Self::HoldForGood | Self::PartitionForGood => {
                return self.fail_over(pair, wait);
            }
            Self::KillAndRestart => {
                pair.kill();
                wait();
                pair.restart();
            }
            Self::Restart => pair.restart(),
            Self::Freeze => {
                pair.pause(true);
                wait();
                pair.resume(true);
            }
            Self::Hold => {
                pair.way(true, Way::Held);
                wait();
                pair.way(true, Way::Open);
            }
            Self::Partition | Self::Unplug => {
                let cable = if self == Self::Unplug { Cable::Unplugged } else { Cable::Vanishing };
                pair.cable(true, cable);
                wait();
                pair.cable(true, Cable::Whole);
            }
            Self::ReplicaPartition => {
                pair.cable(false, Cable::Vanishing);
                wait();
                pair.cable(false, Cable::Whole);
            }
            Self::Cut => {
                pair.way(true, Way::Cut);
                wait();
                pair.way(true, Way::Open);
            }
            Self::Replica => {
                pair.pause(false);
                wait();
                pair.resume(false);
                pair.restart_replica();
            }
        }
        Instant::now()
    }

    /// Has the replica promoted, and the old primary fenced; since when the new one takes writes.
    fn fail_over(self, pair: &mut Pair, wait: impl Fn()) -> Instant {
        match self {
            Self::Switch => pair.demote(),
            Self::Kill => pair.kill(),
            Self::FreezeForGood => pair.pause(true),
            Self::HoldForGood => pair.way(true, Way::Held),
            _ => pair.cable(true, Cable::Vanishing),
        }
        if !matches!(self, Self::Switch | Self::Kill) {
            wait();
        }
        // No replica acknowledges what the old primary still does: its replica is gone.
        let position = pair.promote();
        let writable = Instant::now();
        if self == Self::Kill {
            wait();
        }
        if self != Self::Switch {
            pair.fence();
        }
        pair.rejoin(&position);
        if matches!(self, Self::HoldForGood | Self::PartitionForGood) {
            wait();
            pair.way(false, Way::Open);
            pair.cable(false, Cable::Whole);
        }
        writable
    }
}
