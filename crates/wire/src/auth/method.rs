//! The login methods that this crate knows, by name.

use super::{caching_sha2, clear, ed25519, native, old, parsec, sha256_password};

/// A login method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    /// `mysql_native_password`.
    Native,
    /// `caching_sha2_password`.
    CachingSha2,
    /// `sha256_password`.
    Sha256,
    /// `mysql_clear_password`.
    Clear,
    /// `client_ed25519`.
    Ed25519,
    /// `parsec`.
    Parsec,
    /// `mysql_old_password`.
    Old,
}

impl Method {
    /// All of them.
    pub(super) const ALL: [Self; 7] =
        [Self::Native, Self::CachingSha2, Self::Sha256, Self::Clear, Self::Ed25519, Self::Parsec, Self::Old];

    /// The method called `name`.
    pub(super) fn of(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name().as_bytes() == name)
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Native => native::NAME,
            Self::CachingSha2 => caching_sha2::NAME,
            Self::Sha256 => sha256_password::NAME,
            Self::Clear => clear::NAME,
            Self::Ed25519 => ed25519::NAME,
            Self::Parsec => parsec::NAME,
            Self::Old => old::NAME,
        }
    }
}
