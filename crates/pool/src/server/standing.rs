//! Whether a server can be chosen at a moment, and if not, why.

use std::fmt;
use std::time::Duration;

use super::{Server, Status};
use crate::policy::Policy;

/// Whether a server can be chosen. Displayed as the reason, with its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It can.
    Ready,
    /// It is configured no more; its last connections go on.
    Removed,
    /// It is configured as something else than online.
    Configured(Status),
    /// It has weight 0.
    Weightless,
    /// It does not answer who watches it.
    Down,
    /// It has failed.
    Shunned {
        /// Time since its last error.
        ago: Duration,
        /// Time until it is tried again; `None`: when no other is left.
        left: Option<Duration>,
    },
    /// It has failed, and is not tried again.
    Discarded {
        /// Time since its last error.
        ago: Duration,
    },
    /// It lags too much.
    Lagging(Duration),
    /// It has so many transactions to apply, too many.
    Behind(u64),
    /// It answers too slowly.
    Slow {
        /// The latency that was measured last.
        latency: Duration,
        /// The longest that is allowed.
        limit: Duration,
        /// Time until the measurement counts no more.
        left: Duration,
    },
    /// It has refused a connection, because it has as many as it takes.
    Refusing {
        /// Time since the last refusal.
        ago: Duration,
        /// Time until the next attempt.
        left: Duration,
    },
    /// It has all the connections that it may have.
    Full {
        /// Those it has.
        open: u32,
        /// Those it may have.
        max: u32,
    },
}

impl Standing {
    /// Whether waiting may help, because time or other sessions change it.
    pub(crate) const fn may_change(self) -> bool {
        match self {
            Self::Ready
            | Self::Down
            | Self::Shunned { .. }
            | Self::Lagging(_)
            | Self::Behind(_)
            | Self::Slow { .. }
            | Self::Refusing { .. }
            | Self::Full { .. } => true,
            Self::Removed | Self::Configured(_) | Self::Weightless | Self::Discarded { .. } => false,
        }
    }

    /// Time until it changes by itself.
    pub(crate) fn changes_in(self) -> Option<Duration> {
        match self {
            Self::Shunned { left, .. } => left,
            Self::Slow { left, .. } | Self::Refusing { left, .. } => Some(left),
            _ => None,
        }
    }
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready => f.write_str("it can be taken"),
            Self::Removed => f.write_str("it is configured no more"),
            Self::Configured(status) => write!(f, "its status is configured as {status}"),
            Self::Weightless => f.write_str("its weight is 0"),
            Self::Down => f.write_str("it does not answer the monitor"),
            Self::Shunned { ago, left, .. } => {
                write!(f, "it was shunned, its last connect error was {ago:.1?} ago")?;
                match left {
                    Some(left) => write!(f, ", it is tried again in {left:.1?}"),
                    None => f.write_str(", it is tried again when no other server is left"),
                }
            }
            Self::Discarded { ago } => {
                write!(f, "it failed {ago:.1?} ago and is not tried again before it is configured anew")
            }
            Self::Lagging(lag) => write!(f, "it lags {} s, more than it may", lag.as_secs()),
            Self::Behind(behind) => write!(f, "it has {behind} transactions to apply, more than it may"),
            Self::Slow { latency, limit, .. } => {
                write!(f, "its latency is {latency:.1?}, more than {limit:.1?}")
            }
            Self::Refusing { ago, left } => write!(
                f,
                "it has refused a connection {ago:.1?} ago because it has too many, the next one is tried in {left:.1?}"
            ),
            Self::Full { open, max } => write!(f, "it has {open} of {max} connections"),
        }
    }
}

impl fmt::Display for Status {
    /// As in ProxySQL's tables.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Status {
    /// The word for it in ProxySQL's tables.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Online => "ONLINE",
            Self::Shunned => "SHUNNED",
            Self::ShunnedReplicationLag => "SHUNNED_REPLICATION_LAG",
            Self::OfflineSoft => "OFFLINE_SOFT",
            Self::OfflineHard => "OFFLINE_HARD",
        }
    }
}

impl<E> Server<E> {
    /// Whether time alone may make it one that can be chosen. One that is well can be told from
    /// that at a glance.
    pub(crate) fn may_recover(&self, policy: &Policy) -> bool {
        let health = &self.life.health;
        let limit = self.spec.max_latency.or(policy.max_latency);
        limit.is_some_and(|limit| health.latency() > limit)
            || health.shunned_since().is_some()
            || self.refusals().any()
    }

    /// Whether the server can be chosen at `now` for this account. One that was shunned long enough
    /// can.
    pub(crate) fn standing_for(&self, account: Option<usize>, now: Duration, policy: &Policy) -> Standing {
        match self.standing(now, policy) {
            Standing::Ready => self.refusing(account, now).unwrap_or(Standing::Ready),
            other => other,
        }
    }

    /// That it has refused a connection, if none may be tried for this account at `now`.
    fn refusing(&self, account: Option<usize>, now: Duration) -> Option<Standing> {
        let refused = self.refusals().refused(account, now)?;
        let (ago, left) = (now.saturating_sub(refused.last), refused.next.saturating_sub(now));
        Some(Standing::Refusing { ago, left })
    }

    /// The same for every account.
    pub(crate) fn standing(&self, now: Duration, policy: &Policy) -> Standing {
        let health = &self.life.health;
        if !self.configured {
            return Standing::Removed;
        }
        if self.spec.status != Status::Online {
            return Standing::Configured(self.spec.status);
        }
        if self.spec.weight == 0 {
            return Standing::Weightless;
        }
        if health.is_down() {
            return Standing::Down;
        }
        if let Some(failed) = health.shunned_since() {
            let ago = now.saturating_sub(failed);
            if policy.shunning.for_good {
                return Standing::Discarded { ago };
            }
            let left = policy.shunning.recovery.map(|recovery| recovery.saturating_sub(ago));
            if left != Some(Duration::ZERO) {
                return Standing::Shunned { ago, left };
            }
        }
        if let Some(lag) = health.lag() {
            return Standing::Lagging(lag);
        }
        if let Some(behind) = health.behind() {
            return Standing::Behind(behind);
        }
        let (latency, end) = health.current_latency(now);
        let limit = self.spec.max_latency.or(policy.max_latency);
        if let Some(limit) = limit.filter(|limit| latency > *limit) {
            return Standing::Slow { latency, limit, left: end.saturating_sub(now) };
        }
        let (open, max) = (self.open(), self.max_connections());
        if open >= max {
            return Standing::Full { open, max };
        }
        self.refusing(None, now).unwrap_or(Standing::Ready)
    }
}
