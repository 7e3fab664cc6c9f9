//! A row of `mysql_users`.

use std::fmt;

use wire::auth::{Credential, CredentialError};

use super::user_attributes::UserAttributes;
use crate::password;
use crate::row::from_row;
use crate::schema::MYSQL_USERS;

/// An account that clients log in with, and that the proxy logs in to servers with. `Default` has
/// the table's defaults and no name.
#[derive(Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "they are columns of a table")]
pub struct User {
    /// The name.
    pub username: String,
    /// Empty (no password), clear text, `*` and 40 hex digits (`mysql_native_password`), or a
    /// `$A$005$...` string (`caching_sha2_password`). With `clear_password` in the attributes:
    /// clear text. Never printed by `Debug`.
    pub password: String,
    /// Whether the account exists as far as clients and servers are concerned.
    pub active: bool,
    /// Clients must use TLS.
    pub use_ssl: bool,
    /// Where statements go when nothing else decides.
    pub default_hostgroup: u32,
    /// The schema of a session whose client names none.
    pub default_schema: Option<String>,
    /// Rules do not lead out of a transaction.
    pub transaction_persistent: bool,
    /// What sessions of this user say is copied without a look.
    pub fast_forward: bool,
    /// Most clients with this name at a time.
    pub max_connections: u32,
    /// Clients may log in with it.
    pub frontend: bool,
    /// The proxy may log in to servers with it.
    pub backend: bool,
    /// What else there is.
    pub attributes: UserAttributes,
    /// Free text.
    pub comment: String,
}

from_row!(User, MYSQL_USERS, {
    username,
    password,
    active,
    use_ssl,
    default_hostgroup,
    default_schema,
    transaction_persistent,
    fast_forward,
    max_connections,
    frontend,
    backend,
    attributes,
    comment,
});

impl User {
    /// What `password` is: the password itself or a hash of it. Rows that were checked give no
    /// error.
    pub fn credential(&self) -> Result<Credential, CredentialError> {
        password::credential(self.password.as_bytes(), self.attributes.clear_password)
    }

    /// The same of the second password, if there is one.
    pub fn additional_credential(&self) -> Option<Result<Credential, CredentialError>> {
        let text = self.attributes.additional_password.as_deref()?;
        Some(password::credential(text, self.attributes.clear_password))
    }
}

impl fmt::Debug for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("User")
            .field("username", &self.username)
            .field("password", &if self.password.is_empty() { "none" } else { "hidden" })
            .field("active", &self.active)
            .field("use_ssl", &self.use_ssl)
            .field("default_hostgroup", &self.default_hostgroup)
            .field("default_schema", &self.default_schema)
            .field("transaction_persistent", &self.transaction_persistent)
            .field("fast_forward", &self.fast_forward)
            .field("max_connections", &self.max_connections)
            .field("frontend", &self.frontend)
            .field("backend", &self.backend)
            .field("attributes", &self.attributes)
            .field("comment", &self.comment)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_hides_the_password() {
        let user = User { password: "secret".to_owned(), ..User::default() };
        assert!(!format!("{user:?}").contains("secret"));
        assert!(format!("{user:?}").contains("hidden"));
    }
}
