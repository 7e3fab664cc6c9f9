//! `mysql_clear_password`: the password itself. Only for connections that no third party can read.

/// The method's name.
pub const NAME: &str = "mysql_clear_password";

/// The client's message: the password and a zero byte.
pub fn answer(password: &[u8]) -> Vec<u8> {
    [password, &[0]].concat()
}
