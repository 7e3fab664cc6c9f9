//! The accounts of the admin port.

use std::fmt;
use std::str::FromStr;

/// Names and clear passwords, as `admin-admin_credentials` lists them. `Debug` shows the names
/// only.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Credentials(Vec<(String, String)>);

/// A text that is no list of accounts. It does not repeat the text, which holds passwords.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidCredentials {
    /// An item has no `:`, or no name before it.
    #[error("must be `user:password`, several separated by `;`")]
    Malformed,
    /// A name stands twice.
    #[error("must not name an account twice")]
    Twice,
}

impl Credentials {
    /// The password of `user`.
    pub fn password(&self, user: &str) -> Option<&str> {
        self.0.iter().find(|(name, _)| name == user).map(|(_, password)| password.as_str())
    }

    /// Names and passwords in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, password)| (name.as_str(), password.as_str()))
    }
}

impl FromStr for Credentials {
    type Err = InvalidCredentials;

    /// `user:password;user:password`; a password may hold `:` but no `;`, as in ProxySQL. Empty
    /// places are passed over.
    fn from_str(text: &str) -> Result<Self, InvalidCredentials> {
        let mut accounts: Vec<(String, String)> = Vec::new();
        for item in text.split(';').filter(|item| !item.is_empty()) {
            let (name, password) = item.split_once(':').ok_or(InvalidCredentials::Malformed)?;
            if name.is_empty() {
                return Err(InvalidCredentials::Malformed);
            }
            if accounts.iter().any(|(known, _)| known == name) {
                return Err(InvalidCredentials::Twice);
            }
            accounts.push((name.to_owned(), password.to_owned()));
        }
        Ok(Self(accounts))
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_read_and_not_shown() {
        let accounts: Credentials = "admin:s:cret;;other:;".parse().unwrap();
        assert_eq!(accounts.password("admin"), Some("s:cret"));
        assert_eq!(accounts.password("other"), Some(""));
        assert_eq!(accounts.password("nobody"), None);
        assert_eq!(format!("{accounts:?}"), "[\"admin\", \"other\"]");
        assert_eq!("".parse::<Credentials>().unwrap().iter().count(), 0);
        assert_eq!("admin".parse::<Credentials>(), Err(InvalidCredentials::Malformed));
        assert_eq!(":x".parse::<Credentials>(), Err(InvalidCredentials::Malformed));
        assert_eq!("a:x;a:y".parse::<Credentials>(), Err(InvalidCredentials::Twice));
    }
}
