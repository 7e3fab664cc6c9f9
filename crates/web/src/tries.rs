//! Wrong logins by address, so that passwords cannot be tried fast.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use crate::limits::{TRIES_ADDRESSES_MAX, TRIES_AT_ONCE_MAX, TRIES_MAX, TRIES_WINDOW};
use crate::site::Site;

/// The wrong logins of the last minute.
#[derive(Debug, Default)]
pub(crate) struct Tries(HashMap<IpAddr, Window>);

/// A minute that began with a login.
#[derive(Debug, Clone, Copy)]
struct Window {
    began: Instant,
    wrong: u32,
    /// Logins whose password is being looked at.
    open: u32,
}

impl Tries {
    /// Counts a login whose password is to be looked at.
    ///
    /// # Errors
    ///
    /// Too many were wrong, or are looked at: the time until the next one is read.
    fn begin(&mut self, client: IpAddr, now: Instant) -> Result<(), Duration> {
        let over = |window: &Window| now.saturating_duration_since(window.began) >= TRIES_WINDOW;
        if !self.0.contains_key(&client) && self.0.len() >= TRIES_ADDRESSES_MAX {
            self.0.retain(|_, window| !over(window));
            if self.0.len() >= TRIES_ADDRESSES_MAX
                && let Some(oldest) = self.0.iter().min_by_key(|(_, window)| window.began).map(|(of, _)| *of)
            {
                self.0.remove(&oldest);
            }
        }
        let window = self.0.entry(client).or_insert(Window { began: now, wrong: 0, open: 0 });
        if over(window) {
            (window.began, window.wrong) = (now, 0);
        }
        if window.wrong >= TRIES_MAX {
            return Err(TRIES_WINDOW.saturating_sub(now.saturating_duration_since(window.began)));
        }
        if window.open >= TRIES_AT_ONCE_MAX {
            return Err(Duration::ZERO);
        }
        window.open += 1;
        Ok(())
    }

    /// The password of a login that was counted was looked at.
    fn end(&mut self, client: IpAddr, is_right: bool) {
        if let Some(window) = self.0.get_mut(&client) {
            window.open = window.open.saturating_sub(1);
            window.wrong = window.wrong.saturating_add(u32::from(!is_right));
        }
    }
}

/// A login that is counted. Dropped, it was wrong, also where its client has gone.
pub(crate) struct Try<'a> {
    site: &'a Site,
    client: IpAddr,
    is_right: bool,
}

impl<'a> Try<'a> {
    /// Counts a login of `client`, before its password is looked at.
    ///
    /// # Errors
    ///
    /// Too many were wrong, or are looked at: the time until the next one is read.
    pub(crate) fn begin(site: &'a Site, client: IpAddr) -> Result<Self, Duration> {
        let client = client.to_canonical();
        site.tries().begin(client, Instant::now())?;
        Ok(Self { site, client, is_right: false })
    }

    /// The login is right.
    pub(crate) fn succeeded(mut self) {
        self.is_right = true;
    }
}

impl Drop for Try<'_> {
    fn drop(&mut self) {
        self.site.tries().end(self.client, self.is_right);
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
        let (mut tries, begun) = (Tries::default(), Instant::now());
        for second in 0..5 {
            assert_eq!(tries.begin(address(1), begun + Duration::from_secs(second)), Ok(()));
            tries.end(address(1), false);
        }
        let later = begun + Duration::from_secs(40);
        assert_eq!(tries.begin(address(1), later), Err(Duration::from_secs(20)));
        assert_eq!(tries.begin(address(2), later), Ok(()), "another address");
        assert_eq!(tries.begin(address(1), begun + TRIES_WINDOW), Ok(()));
    }

    #[test]
    fn right_logins_do_not_count() {
        let (mut tries, now) = (Tries::default(), Instant::now());
        for _ in 0..100 {
            assert_eq!(tries.begin(address(1), now), Ok(()));
            tries.end(address(1), true);
        }
    }

    #[test]
    fn logins_at_once_are_bounded_and_not_wrong() {
        let (mut tries, now) = (Tries::default(), Instant::now());
        for _ in 0..TRIES_AT_ONCE_MAX {
            assert_eq!(tries.begin(address(1), now), Ok(()));
        }
        assert_eq!(tries.begin(address(1), now), Err(Duration::ZERO));
        for _ in 0..TRIES_AT_ONCE_MAX {
            tries.end(address(1), true);
        }
        assert_eq!(tries.begin(address(1), now), Ok(()));
    }

    #[test]
    fn the_number_of_addresses_is_bounded() {
        let (mut tries, now) = (Tries::default(), Instant::now());
        for n in 0..10_000 {
            assert_eq!(tries.begin(address(n), now + Duration::from_micros(n.into())), Ok(()));
        }
        assert_eq!(tries.0.len(), TRIES_ADDRESSES_MAX);
    }
}
