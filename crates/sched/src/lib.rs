//! How a thread stands back behind others: the one call to the kernel's scheduler that no safe
//! library makes.
//!
//! A thread with a high nice value gets less of a processor, but not in smaller pieces: the
//! scheduler (EEVDF) lets a thread that runs finish its slice, some milliseconds unless told,
//! before one that wakes may have the core. What serves clients in tens of microseconds feels that.
//! Since Linux 6.12 a thread may ask for shorter slices; kernels before take the call and leave the
//! slices as they are.

use std::io;
use std::time::Duration;

/// Gives the thread that calls the nice value `nice` (-20 to 19; below its own value only with
/// `CAP_SYS_NICE`) and slices of `slice`, which the kernel brings into 0.1 to 100 ms.
///
/// # Errors
///
/// The kernel's word, if it refuses: then nothing has changed.
#[allow(unsafe_code)]
pub fn stand_back(nice: i32, slice: Duration) -> io::Result<()> {
    let size = size_of::<libc::sched_attr>();
    let attributes = libc::sched_attr {
        size: u32::try_from(size).map_err(io::Error::other)?,
        sched_policy: u32::try_from(libc::SCHED_OTHER).map_err(io::Error::other)?,
        sched_flags: 0,
        sched_nice: nice,
        sched_priority: 0,
        // What sched_setattr(2) calls the runtime is the slice of a thread of class SCHED_OTHER.
        sched_runtime: u64::try_from(slice.as_nanos()).map_err(io::Error::other)?,
        sched_deadline: 0,
        sched_period: 0,
    };
    let (this_thread, no_flags) = (0, 0);
    // SAFETY: the kernel reads `size` bytes at `attributes`, which lives until the call returns and
    // has that size; it writes nothing.
    let said =
        unsafe { libc::syscall(libc::SYS_sched_setattr, this_thread, &raw const attributes, no_flags) };
    if said == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel's numbers of this thread: field 19 of `stat` is the nice value.
    fn nice_of_this_thread() -> i32 {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        let behind_name = stat.rsplit_once(") ").unwrap().1;
        behind_name.split(' ').nth(16).unwrap().parse().unwrap()
    }

    #[test]
    fn only_the_thread_that_asks_stands_back() {
        let before = nice_of_this_thread();
        let theirs = std::thread::spawn(|| {
            stand_back(17, Duration::from_micros(100)).unwrap();
            nice_of_this_thread()
        });
        assert_eq!((theirs.join().unwrap(), nice_of_this_thread()), (17, before));
    }

    #[test]
    fn a_slice_beyond_the_kernels_numbers_is_refused() {
        let before = nice_of_this_thread();
        assert!(stand_back(17, Duration::MAX).is_err());
        assert_eq!(nice_of_this_thread(), before);
    }
}
