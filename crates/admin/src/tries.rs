//! Wrong logins by address, at the admin port, on the page and for REST together, so that passwords
//! cannot be tried fast.

use std::collections::HashMap;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::time::timeout_at;

use crate::limits::{TRIES_ADDRESSES_MAX, TRIES_AT_ONCE_MAX, TRIES_MAX, TRIES_WINDOW, TRY_WAIT_MAX};

/// The wrong logins of the last minute.
#[derive(Debug, Default)]
pub struct Tries {
    windows: Mutex<Windows>,
    /// Told when the password of a login was looked at.
    over: Notify,
}

/// Those of each address.
#[derive(Debug, Default)]
struct Windows(HashMap<IpAddr, Window>);

/// A minute that began with a login.
#[derive(Debug, Clone, Copy)]
struct Window {
    began: Instant,
    wrong: u32,
    /// Logins whose password is being looked at: each may be wrong.
    open: u32,
    /// Logins that wait for the outcome of others.
    waiting: u32,
}

impl Window {
    /// Whether logins are under way.
    const fn is_busy(&self) -> bool {
        self.open > 0 || self.waiting > 0
    }
}

/// What is to be done with a login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// Its password is looked at.
    Now,
    /// It would be one too many if those under way are all wrong.
    Later,
}

impl Windows {
    /// Counts a login whose password is to be looked at.
    ///
    /// # Errors
    ///
    /// Too many were wrong, or are looked at: the time until the next one is read.
    fn begin(&mut self, client: IpAddr, now: Instant) -> Result<Turn, Duration> {
        let over = |window: &Window| now.saturating_duration_since(window.began) >= TRIES_WINDOW;
        if !self.0.contains_key(&client) && self.0.len() >= TRIES_ADDRESSES_MAX {
            self.0.retain(|_, window| window.is_busy() || !over(window));
            // The end of a login under way must find its own window.
            let order = |(_, window): &(&IpAddr, &Window)| (window.is_busy(), window.began);
            if self.0.len() >= TRIES_ADDRESSES_MAX
                && let Some(oldest) = self.0.iter().min_by_key(order).map(|(of, _)| *of)
            {
                self.0.remove(&oldest);
            }
        }
        let window = self.0.entry(client).or_insert(Window { began: now, wrong: 0, open: 0, waiting: 0 });
        if over(window) {
            (window.began, window.wrong) = (now, 0);
        }
        if window.wrong >= TRIES_MAX {
            return Err(TRIES_WINDOW.saturating_sub(now.saturating_duration_since(window.began)));
        }
        if window.wrong + window.open < TRIES_MAX {
            window.open += 1;
            return Ok(Turn::Now);
        }
        if window.open + window.waiting >= TRIES_AT_ONCE_MAX {
            return Err(Duration::ZERO);
        }
        window.waiting += 1;
        Ok(Turn::Later)
    }

    /// A login that waits does so no more.
    fn leave(&mut self, client: IpAddr) {
        if let Some(window) = self.0.get_mut(&client) {
            window.waiting = window.waiting.saturating_sub(1);
        }
    }

    /// The password of a login that was counted was looked at.
    fn end(&mut self, client: IpAddr, is_right: bool) {
        if let Some(window) = self.0.get_mut(&client) {
            window.open = window.open.saturating_sub(1);
            window.wrong = window.wrong.saturating_add(u32::from(!is_right));
        }
    }
}

impl Tries {
    /// Held for no wait.
    fn windows(&self) -> MutexGuard<'_, Windows> {
        self.windows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A login that is counted. Dropped, it was wrong, also where its client has gone.
#[derive(Debug)]
pub struct Try {
    tries: Arc<Tries>,
    client: IpAddr,
    is_right: bool,
}

impl Try {
    /// Counts a login of `client`, before its password is looked at. Waits while so many are looked
    /// at that they could all be wrong.
    ///
    /// # Errors
    ///
    /// Too many were wrong, or are looked at: the time until the next one is read.
    pub async fn begin(tries: &Arc<Tries>, client: IpAddr) -> Result<Self, Duration> {
        let client = client.to_canonical();
        let deadline = tokio::time::Instant::now() + TRY_WAIT_MAX;
        loop {
            // Before the look, so that no outcome is missed.
            let mut outcome = pin!(tries.over.notified());
            outcome.as_mut().enable();
            let turn = tries.windows().begin(client, Instant::now())?;
            if turn == Turn::Now {
                return Ok(Self { tries: Arc::clone(tries), client, is_right: false });
            }
            let _waiting = Waits { tries, client };
            timeout_at(deadline, outcome).await.map_err(|_| Duration::ZERO)?;
        }
    }

    /// The login is right.
    pub fn succeeded(mut self) {
        self.is_right = true;
    }
}

impl Drop for Try {
    fn drop(&mut self) {
        self.tries.windows().end(self.client, self.is_right);
        self.tries.over.notify_waiters();
    }
}

/// A login that waits. Dropped, it does so no more, also where its client has gone.
struct Waits<'a> {
    tries: &'a Tries,
    client: IpAddr,
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.tries.windows().leave(self.client);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(n: u32) -> IpAddr {
        IpAddr::from(n.to_be_bytes())
    }

    #[test]
    fn five_wrong_logins_in_a_minute_are_enough() {
        let (mut tries, begun) = (Windows::default(), Instant::now());
        for second in 0..5 {
            assert_eq!(tries.begin(address(1), begun + Duration::from_secs(second)), Ok(Turn::Now));
            tries.end(address(1), false);
        }
        let later = begun + Duration::from_secs(40);
        assert_eq!(tries.begin(address(1), later), Err(Duration::from_secs(20)));
        assert_eq!(tries.begin(address(2), later), Ok(Turn::Now), "another address");
        assert_eq!(tries.begin(address(1), begun + TRIES_WINDOW), Ok(Turn::Now));
    }

    #[test]
    fn right_logins_do_not_count() {
        let (mut tries, now) = (Windows::default(), Instant::now());
        for _ in 0..100 {
            assert_eq!(tries.begin(address(1), now), Ok(Turn::Now));
            tries.end(address(1), true);
        }
    }

    #[test]
    fn logins_under_way_may_all_be_wrong() {
        let (mut tries, now) = (Windows::default(), Instant::now());
        for _ in 0..TRIES_MAX {
            assert_eq!(tries.begin(address(1), now), Ok(Turn::Now));
        }
        for _ in TRIES_MAX..TRIES_AT_ONCE_MAX {
            assert_eq!(tries.begin(address(1), now), Ok(Turn::Later));
        }
        assert_eq!(tries.begin(address(1), now), Err(Duration::ZERO), "too many wait");
        // One was right: another may be looked at.
        tries.end(address(1), true);
        tries.leave(address(1));
        assert_eq!(tries.begin(address(1), now), Ok(Turn::Now));
        // The others are wrong, and so are those that wait for them.
        for _ in 0..TRIES_MAX {
            tries.end(address(1), false);
        }
        tries.leave(address(1));
        assert_eq!(tries.begin(address(1), now), Err(TRIES_WINDOW));
    }

    #[test]
    fn the_number_of_addresses_is_bounded() {
        let (mut tries, now) = (Windows::default(), Instant::now());
        for n in 0..10_000 {
            assert_eq!(tries.begin(address(n), now + Duration::from_micros(n.into())), Ok(Turn::Now));
        }
        assert_eq!(tries.0.len(), TRIES_ADDRESSES_MAX);
    }

    #[test]
    fn a_login_under_way_keeps_its_window() {
        let (mut tries, begun) = (Windows::default(), Instant::now());
        for _ in 0..TRIES_MAX {
            assert_eq!(tries.begin(address(0), begun), Ok(Turn::Now));
        }
        // The last ones come when the window is over.
        for n in 1..10_000 {
            let at = begun + Duration::from_millis(10) * n;
            assert_eq!(tries.begin(address(n), at), Ok(Turn::Now));
            tries.end(address(n), false);
        }
        let later = begun + TRIES_WINDOW;
        assert_eq!(tries.begin(address(0), later), Ok(Turn::Later), "the five may all be wrong");
    }
}
