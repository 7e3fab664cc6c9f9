//! What the proxy can log in to servers with.

use std::fmt;

/// As much of a password as the proxy has: given, or learned from a client's login.
#[derive(Clone, PartialEq, Eq)]
pub enum Secret {
    /// No password.
    Empty,
    /// The password: every method.
    Clear(Vec<u8>),
    /// SHA1(password): `mysql_native_password`.
    NativeStage1([u8; 20]),
    /// SHA256(password): the fast exchange of `caching_sha2_password`, with servers that have seen the
    /// password since they started.
    CachingSha2Stage1([u8; 32]),
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "Empty",
            Self::Clear(_) => "Clear(..)",
            Self::NativeStage1(_) => "NativeStage1(..)",
            Self::CachingSha2Stage1(_) => "CachingSha2Stage1(..)",
        })
    }
}
