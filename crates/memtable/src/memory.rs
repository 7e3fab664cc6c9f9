//! What SQLite has allocated.

// `deny` in Cargo.toml; the only call of SQLite here that rusqlite does not wrap.
#![allow(unsafe_code)]

/// Bytes that SQLite has allocated, for all connections of the process.
#[must_use]
pub fn memory_used() -> usize {
    // SAFETY: the function takes no arguments, takes SQLite's own lock, and may be called by any
    // thread at any time.
    let bytes = unsafe { rusqlite::ffi::sqlite3_memory_used() };
    usize::try_from(bytes).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_value_is_counted() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE t AS SELECT zeroblob(10000000) AS a").unwrap();
        assert!(memory_used() > 10_000_000);
        drop(connection);
    }
}
