//! What the proxy knows about the password of a user who logs in.

use std::fmt;

use super::caching_sha2::{Stored, StoredError};
use super::{caching_sha2, equal, native};

/// A user's password or a hash of it, as in the `password` column of `mysql_users`.
#[derive(Clone, PartialEq, Eq)]
pub enum Credential {
    /// The user has no password.
    Empty,
    /// The password.
    Clear(Vec<u8>),
    /// SHA1(SHA1(password)), written as `*` and 40 hexadecimal digits: checks
    /// `mysql_native_password`.
    Native([u8; 20]),
    /// The stored hash of `caching_sha2_password`, written as `$A$005$` and 63 bytes.
    CachingSha2(Stored),
}

/// Why a text is neither a hash nor a clear password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CredentialError {
    /// It has the `*` and the length of a `mysql_native_password` hash, but not its digits.
    #[error("a password of `*` and 40 characters is a mysql_native_password hash: these must be hexadecimal")]
    NotHexadecimal,
    /// It has the prefix of a `caching_sha2_password` hash.
    #[error(transparent)]
    Stored(#[from] StoredError),
}

impl Credential {
    /// Takes `text` as the password itself, whatever its form.
    pub fn clear(text: &[u8]) -> Self {
        if text.is_empty() { Self::Empty } else { Self::Clear(text.to_vec()) }
    }

    /// Reads the text of the `password` column, told apart by its form.
    pub fn parse(text: &[u8]) -> Result<Self, CredentialError> {
        match text {
            [b'*', digits @ ..] if digits.len() == 40 => {
                hexadecimal(digits).map(Self::Native).ok_or(CredentialError::NotHexadecimal)
            }
            _ if text.starts_with(Stored::PREFIX) => Ok(Self::CachingSha2(Stored::parse(text)?)),
            _ => Ok(Self::clear(text)),
        }
    }
}

impl Credential {
    /// Whether `password` is the one. Takes thousands of rounds for a stored hash of
    /// `caching_sha2_password`.
    pub fn accepts(&self, password: &[u8]) -> bool {
        match self {
            Self::Empty => password.is_empty(),
            // Hashes first: of equal length, and compared in constant time.
            Self::Clear(clear) => equal(&caching_sha2::digest(password), &caching_sha2::digest(clear)),
            Self::Native(stage2) => equal(&native::stage2(password), stage2),
            Self::CachingSha2(stored) => stored.verify(password),
        }
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "Empty",
            Self::Clear(_) => "Clear(..)",
            Self::Native(_) => "Native(..)",
            Self::CachingSha2(_) => "CachingSha2(..)",
        })
    }
}

fn hexadecimal(digits: &[u8]) -> Option<[u8; 20]> {
    let mut out = [0; 20];
    for (to, pair) in out.iter_mut().zip(digits.chunks_exact(2)) {
        for &digit in pair {
            let digit = u8::try_from(char::from(digit).to_digit(16)?).ok()?;
            *to = *to << 4 | digit;
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_tells_the_kind() {
        let hash = b"*14E65567ABDB5135D0CFD9A70B3032C179A49EE7";
        assert_eq!(Credential::parse(b""), Ok(Credential::Empty));
        assert_eq!(Credential::parse(b"secret"), Ok(Credential::Clear(b"secret".to_vec())));
        assert_eq!(Credential::parse(hash), Ok(Credential::Native(native::stage2(b"secret"))));
        assert_eq!(Credential::parse(&hash.to_ascii_lowercase()), Credential::parse(hash));
        assert_eq!(Credential::parse(b"*short"), Ok(Credential::Clear(b"*short".to_vec())));
        let stored = b"$A$005$THISISACOMBINATIONOFINVALIDSALTANDPASSWORDTHATMUSTNEVERBRBEUSED";
        assert!(matches!(Credential::parse(stored), Ok(Credential::CachingSha2(_))));
    }

    #[test]
    fn a_clear_password_may_look_like_a_hash() {
        let hash = b"*14E65567ABDB5135D0CFD9A70B3032C179A49EE7".as_slice();
        for text in [hash, b"$A$005$abc", b"secret"] {
            assert_eq!(Credential::clear(text), Credential::Clear(text.to_vec()));
        }
        assert_eq!(Credential::clear(b""), Credential::Empty);
    }

    #[test]
    fn a_password_is_accepted_in_each_form() {
        let stored = Stored::make(b"secret", [b's'; 20]).unwrap();
        for text in [b"secret".as_slice(), b"*14E65567ABDB5135D0CFD9A70B3032C179A49EE7", &stored] {
            let credential = Credential::parse(text).unwrap();
            assert!(credential.accepts(b"secret"), "{credential:?}");
            for wrong in [b"".as_slice(), b"Secret", b"secret ", text] {
                assert!(wrong == b"secret" || !credential.accepts(wrong), "{credential:?}");
            }
        }
        assert!(Credential::Empty.accepts(b"") && !Credential::Empty.accepts(b"x"));
    }

    #[test]
    fn a_broken_hash_is_no_clear_password() {
        let text = b"*14E65567ABDB5135D0CFD9A70B3032C179A49EEX";
        assert_eq!(Credential::parse(text), Err(CredentialError::NotHexadecimal));
        assert_eq!(Credential::parse(b"$A$005$abc"), Err(StoredError::Length(10).into()));
    }

    #[test]
    fn debug_shows_no_secret() {
        for text in [b"secret".as_slice(), b"*14E65567ABDB5135D0CFD9A70B3032C179A49EE7"] {
            let shown = format!("{:?}", Credential::parse(text).unwrap());
            assert!(shown.ends_with("(..)"), "{shown}");
        }
    }
}
