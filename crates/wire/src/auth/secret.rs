//! What the proxy can log in to servers with.

use std::fmt;

use super::{caching_sha2, native};

/// As much of a password as the proxy has: given, or learned from a client's login.
#[derive(Clone, PartialEq, Eq)]
pub enum Secret {
    /// No password.
    Empty,
    /// The password: every method.
    Clear(Vec<u8>),
    /// SHA1(password): `mysql_native_password`.
    NativeStage1([u8; 20]),
    /// SHA256(password): the fast exchange of `caching_sha2_password`, with servers that have seen
    /// the password since they started.
    CachingSha2Stage1([u8; 32]),
}

impl Secret {
    /// Whether both are of one password, as far as that can be told: a password, and what was made
    /// of it or is equal to it.
    pub fn is_of(&self, password: &Self) -> bool {
        match (self, password) {
            (Self::NativeStage1(stage1), Self::Clear(password)) => *stage1 == native::stage1(password),
            (Self::CachingSha2Stage1(stage1), Self::Clear(password)) => {
                *stage1 == caching_sha2::stage1(password)
            }
            (one, other) => one == other,
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_of_a_password_is_of_it() {
        let (right, wrong) = (Secret::Clear(b"secret".to_vec()), Secret::Clear(b"Secret".to_vec()));
        for made in [
            right.clone(),
            Secret::NativeStage1(native::stage1(b"secret")),
            Secret::CachingSha2Stage1(caching_sha2::stage1(b"secret")),
        ] {
            assert!(made.is_of(&right) && !made.is_of(&wrong), "{made:?}");
        }
    }
}
