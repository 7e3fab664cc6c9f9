//! An alarm that is exact to some microseconds. Timers of the runtime are exact to a millisecond,
//! which is long beside a question to a server.

use std::io;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use tokio::net::unix::pipe::Receiver;

/// A timer of the kernel, which is read as a pipe is.
pub(super) struct Alarm(Receiver);

impl Alarm {
    /// One that is not set.
    ///
    /// # Errors
    ///
    /// The kernel has no more file descriptors.
    pub(super) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        Receiver::from_owned_fd_unchecked(timer).map(Self)
    }

    /// Goes off after this time, and not when it was to before.
    pub(super) fn set(&self, after: Duration) -> io::Result<()> {
        // Zero would switch it off.
        let it_value = Timespec::try_from(after.max(Duration::from_nanos(1)));
        let it_value = it_value.map_err(|_| io::ErrorKind::InvalidInput)?;
        let it_interval = Timespec { tv_sec: 0, tv_nsec: 0 };
        let timer = Itimerspec { it_interval, it_value };
        timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &timer)?;
        Ok(())
    }

    /// Ready once it has gone off.
    pub(super) fn poll(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            ready!(self.0.poll_read_ready(cx))?;
            match self.0.try_read(&mut [0; size_of::<u64>()]) {
                // It was set anew before it was looked at.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return Poll::Ready(read.map(drop)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::time::Instant;

    use super::*;

    #[tokio::test]
    async fn it_goes_off_once_each_time_that_it_is_set() {
        let (alarm, begun) = (Alarm::new().unwrap(), Instant::now());
        alarm.set(Duration::from_hours(1)).unwrap();
        alarm.set(Duration::from_micros(200)).unwrap();
        poll_fn(|cx| alarm.poll(cx)).await.unwrap();
        assert!(begun.elapsed() >= Duration::from_micros(200));
        alarm.set(Duration::ZERO).unwrap();
        poll_fn(|cx| alarm.poll(cx)).await.unwrap();
        alarm.set(Duration::from_hours(1)).unwrap();
        assert!(poll_fn(|cx| Poll::Ready(alarm.poll(cx))).await.is_pending());
    }
}
