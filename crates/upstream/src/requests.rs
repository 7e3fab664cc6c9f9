//! When a worker has asked the others for room.

use std::cell::RefCell;
use std::collections::HashMap;

use tokio::time::Instant;

use crate::limits::MOVE_WAIT;

/// When a worker has asked the others for room last, by hostgroup. Sessions that wait for the same
/// need not all ask.
#[derive(Debug, Default)]
pub(crate) struct Requests(RefCell<HashMap<u32, Instant>>);

impl Requests {
    /// Whether to ask for room in this hostgroup at `now`; if not, it was asked for just before.
    pub(crate) fn admit(&self, hostgroup: u32, now: Instant) -> bool {
        let mut asked = self.0.borrow_mut();
        asked.retain(|_, at| now.saturating_duration_since(*at) < MOVE_WAIT);
        let admits = !asked.contains_key(&hostgroup);
        asked.entry(hostgroup).or_insert(now);
        admits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_that_wait_ask_for_room_together() {
        let (requests, start) = (Requests::default(), Instant::now());
        assert!(requests.admit(0, start) && requests.admit(1, start));
        assert!(!requests.admit(0, start) && !requests.admit(1, start + MOVE_WAIT / 2));
        assert!(requests.admit(0, start + MOVE_WAIT));
        assert_eq!(requests.0.borrow().len(), 1, "what is long ago is forgotten");
    }
}
