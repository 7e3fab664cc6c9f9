//! Passwords of `mysql_users`, whose forms depend on the attributes of their row.

use crate::model::UserAttributes;
use crate::password;
use crate::row::Row;

/// What is wrong with the password of a user, as the rest of a sentence that starts with the
/// column's name.
pub(super) fn wrong(user: &Row) -> Option<String> {
    let text: String = user.get("password");
    let error = password::check(&text, false).err()?;
    // Few rows come so far: most attributes are not read twice.
    (!user.get::<UserAttributes>("attributes").clear_password).then_some(error)
}
