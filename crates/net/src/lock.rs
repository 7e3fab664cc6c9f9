//! Locks for short times. What is behind them is never left half done, so that they serve on where
//! a thread has panicked.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, whatever has become of a thread that had it.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
