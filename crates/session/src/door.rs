//! What a listener says about where its clients' statements, or bytes, go.

use config::{Listener, Role};
use route::{ByListener, Pairs};

/// The listener that a client has come through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Door {
    /// What it does with statements.
    pub role: Role,
    hostgroup: Option<u32>,
    falls_back: bool,
}

impl Door {
    /// What `listener` says.
    pub fn new(listener: &Listener) -> Self {
        let falls_back = listener.strategy.is_some_and(config::Strategy::falls_back);
        Self { role: listener.role, hostgroup: listener.hostgroup, falls_back }
    }

    /// Where statements go of a user with this hostgroup, if the listener says so.
    pub fn says(self, of_user: u32, pairs: &Pairs) -> Option<ByListener> {
        let hostgroup = match self.role {
            Role::Auto | Role::Tcp => return None,
            Role::ReadWrite => Some(self.hostgroup.unwrap_or(of_user)),
            Role::ReadOnly => self.hostgroup.or_else(|| pairs.reader(of_user)),
        };
        let instead = hostgroup.and_then(|hostgroup| self.instead(hostgroup, pairs));
        Some(ByListener { role: self.role.name(), hostgroup, instead })
    }

    /// Where the bytes of a layer-4 client go, and where if no server there can be had.
    pub fn way(self, pairs: &Pairs) -> (u32, Option<u32>) {
        let hostgroup = self.hostgroup.unwrap_or_default();
        (hostgroup, self.instead(hostgroup, pairs))
    }

    fn instead(self, hostgroup: u32, pairs: &Pairs) -> Option<u32> {
        pairs.writer(hostgroup).filter(|_| self.falls_back)
    }
}

#[cfg(test)]
mod tests {
    use config::Strategy;

    use super::*;

    fn door(role: Role, hostgroup: Option<u32>, strategy: Option<Strategy>) -> Door {
        Door::new(&Listener { role, hostgroup, strategy, ..Listener::default() })
    }

    #[test]
    fn roles_send_everything_to_one_hostgroup() {
        let pairs = Pairs::default().with(10, 20);
        let says = |door: Door, of_user| door.says(of_user, &pairs);
        assert_eq!(says(door(Role::Auto, None, None), 10), None);
        let by = |role, hostgroup, instead| Some(ByListener { role, hostgroup, instead });
        assert_eq!(says(door(Role::ReadWrite, None, None), 7), by("read_write", Some(7), None));
        assert_eq!(says(door(Role::ReadWrite, Some(10), None), 7), by("read_write", Some(10), None));
        assert_eq!(says(door(Role::ReadOnly, None, None), 10), by("read_only", Some(20), None));
        assert_eq!(says(door(Role::ReadOnly, Some(3), None), 10), by("read_only", Some(3), None));
        assert_eq!(says(door(Role::ReadOnly, None, None), 7), by("read_only", None, None));
        let fallback = Some(Strategy::RoundRobinWithFallback);
        assert_eq!(says(door(Role::ReadOnly, Some(20), fallback), 7), by("read_only", Some(20), Some(10)));
        assert_eq!(door(Role::Tcp, Some(20), fallback).way(&pairs), (20, Some(10)));
        assert_eq!(door(Role::Tcp, Some(20), Some(Strategy::RoundRobin)).way(&pairs), (20, None));
    }
}
