//! Lines on standard output and standard error. Unlike those of `println!` and `eprintln!`, a line
//! that cannot be written is lost, and the program goes on: its reader may be gone, or a disk full.

/// Writes a line to standard output.
macro_rules! say {
    ($($what:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stdout(), $($what)*);
    }};
}

/// Writes a line to standard error.
macro_rules! complain {
    ($($what:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($what)*);
    }};
}

pub(crate) use {complain, say};
