//! The numbers that files of a log have: `queries.00000001`, `queries.00000002`, ... as in
//! ProxySQL.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Digits of a number.
const DIGITS: usize = 8;

/// The path of the file with a number.
pub(crate) fn path(base: &Path, number: u32) -> PathBuf {
    let mut path = base.as_os_str().to_owned();
    path.push(format!(".{number:0DIGITS$}"));
    path.into()
}

/// The number behind the highest one in use, among the names of a folder's files.
pub(crate) fn next<T: AsRef<OsStr>>(base: &Path, names: impl Iterator<Item = T>) -> u32 {
    let Some(base) = base.file_name() else { return 1 };
    let highest = names.filter_map(|name| number(base, name.as_ref())).max().unwrap_or(0);
    highest.saturating_add(1)
}

/// The number of a file of the log whose files' names begin with `base`.
fn number(base: &OsStr, name: &OsStr) -> Option<u32> {
    let digits = name.as_bytes().strip_prefix(base.as_bytes())?.strip_prefix(b".")?;
    let is_number = digits.len() >= DIGITS && digits.iter().all(u8::is_ascii_digit);
    is_number.then(|| std::str::from_utf8(digits).ok()?.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_number_is_behind_the_highest() {
        let next = |names: &[&str]| next(Path::new("/var/log/q"), names.iter());
        assert_eq!(next(&[]), 1);
        assert_eq!(next(&["q.00000001", "q.00000007", "q.00000003"]), 8);
        let others = ["q", "q.1", "q.0000000x", "qq.00000009", "q.00000004.gz", "p.00000009", "q.00000002"];
        assert_eq!(next(&others), 3);
        assert_eq!(next(&["q.99999999"]), 100_000_000);
        assert_eq!(next(&["q.99999999999"]), 1, "no number of ours");
        assert_eq!(path(Path::new("/var/log/q"), 12), Path::new("/var/log/q.00000012"));
    }
}
