//! The login methods that this crate knows, by name.

use super::{caching_sha2, clear, native};

/// A login method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    /// `mysql_native_password`.
    Native,
    /// `caching_sha2_password`.
    CachingSha2,
    /// `mysql_clear_password`.
    Clear,
}

impl Method {
    /// All of them.
    pub(super) const ALL: [Self; 3] = [Self::Native, Self::CachingSha2, Self::Clear];

    /// The method called `name`.
    pub(super) fn of(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name().as_bytes() == name)
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Native => native::NAME,
            Self::CachingSha2 => caching_sha2::NAME,
            Self::Clear => clear::NAME,
        }
    }
}
