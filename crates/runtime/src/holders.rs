//! Text for error 9001: which sessions hold the hostgroup's connections, and for how long.

pub mod ask;

use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::limits::HOLDERS_SHOWN_MAX;

/// A session that has a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The id that its client was told.
    pub session: u32,
    pub(crate) user: String,
    /// What it needs the connection for: the name of a pin, or a word of
    /// [`Control::holds`](crate::control::Control::holds).
    pub reason: &'static str,
    /// For how long.
    pub time: Duration,
}

/// All of them, by reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Held(Vec<Group>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Group {
    count: usize,
    longest: Holder,
}

impl Held {
    /// Adds one.
    pub fn add(&mut self, holder: Holder) {
        self.merge(Group { count: 1, longest: holder });
    }

    fn merge(&mut self, group: Group) {
        match self.0.iter_mut().find(|known| known.longest.reason == group.longest.reason) {
            Some(known) => {
                known.count += group.count;
                if group.longest.time > known.longest.time {
                    known.longest = group.longest;
                }
            }
            None => self.0.push(group),
        }
    }
}

/// The most frequent reasons first, each with who has had one for longest.
impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut groups: Vec<_> = self.0.iter().collect();
        groups.sort_by_key(|group| (std::cmp::Reverse(group.count), group.longest.reason));
        for (at, Group { count, longest }) in groups.iter().take(HOLDERS_SHOWN_MAX).enumerate() {
            let Holder { session, user, reason, time } = longest;
            f.write_str(if at == 0 { "held by " } else { ", " })?;
            write!(
                f,
                "{reason}: {count} (longest {:.1}s, session {session} of '{user}')",
                time.as_secs_f64()
            )?;
        }
        Ok(())
    }
}

/// What was found out last, by hostgroup. Many who get nothing at the same time ask once.
#[derive(Debug, Default)]
pub struct Asked(Mutex<HashMap<u32, (Instant, Rc<Held>)>>);

#[cfg(test)]
mod tests {
    use super::*;

    fn holder(session: u32, reason: &'static str, ms: u64) -> Holder {
        Holder { session, user: "app".to_owned(), reason, time: Duration::from_millis(ms) }
    }

    #[test]
    fn who_has_held_one_for_longest_is_named() {
        let mut all = Held::default();
        assert_eq!(all.to_string(), "");
        for (session, reason, ms) in
            [(1, "statement", 20), (2, "transaction", 14_200), (3, "transaction", 900), (4, "named_lock", 0)]
        {
            all.add(holder(session, reason, ms));
        }
        assert_eq!(
            all.to_string(),
            "held by transaction: 2 (longest 14.2s, session 2 of 'app'), named_lock: 1 (longest 0.0s, session 4 of 'app'), \
             statement: 1 (longest 0.0s, session 1 of 'app')"
        );
    }

    #[test]
    fn few_reasons_are_shown() {
        let mut all = Held::default();
        for (session, reason) in (0..).zip(["a", "b", "c", "d", "e", "f"]) {
            all.add(holder(session, reason, 1));
        }
        assert_eq!(all.to_string().matches("longest").count(), HOLDERS_SHOWN_MAX);
    }
}
