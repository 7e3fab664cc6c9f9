//! The SQL functions that ProxySQL adds to SQLite's.

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, Result};
use wire::auth::caching_sha2::Stored;
use wire::auth::native;

use net::random;

/// Characters of a salt.
const SALT_LEN: usize = 20;

/// Characters that a salt is made of: crypt's alphabet, in which no byte needs quoting.
const SALT_ALPHABET: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Adds the functions to a connection.
pub(super) fn add(connection: &Connection) -> Result<()> {
    let pure = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function("MYSQL_NATIVE_PASSWORD", 1, pure, |context| {
        Ok(text(context, 0).map(|password| native_hash(&password)))
    })?;
    connection.create_scalar_function("CACHING_SHA2_PASSWORD", 1, FunctionFlags::SQLITE_UTF8, |context| {
        let Some(password) = text(context, 0) else { return Ok(None) };
        sha2_hash(&password, random_salt()).map(Some)
    })?;
    connection.create_scalar_function("CACHING_SHA2_PASSWORD", 2, pure, |context| {
        let (Some(password), Some(salt)) = (text(context, 0), text(context, 1)) else { return Ok(None) };
        let salt = salt.try_into().map_err(|_| failure("a salt has 20 bytes"))?;
        sha2_hash(&password, salt).map(Some)
    })?;
    connection.create_scalar_function("FROM_UNIXTIME", 1, pure, |context| {
        let seconds: Option<i64> = context.get(0)?;
        Ok(seconds.map(from_unix_time))
    })
}

fn failure(message: &str) -> Error {
    Error::UserFunctionError(message.into())
}

/// An argument as text; nothing for NULL.
fn text(context: &Context<'_>, index: usize) -> Option<Vec<u8>> {
    match context.get_raw(index) {
        ValueRef::Null => None,
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes.to_vec()),
        ValueRef::Integer(number) => Some(number.to_string().into_bytes()),
        ValueRef::Real(number) => Some(number.to_string().into_bytes()),
    }
}

/// `*` and 40 hexadecimal digits: the SHA-1 of the SHA-1.
fn native_hash(password: &[u8]) -> String {
    if password.is_empty() {
        return String::new();
    }
    let digits: Vec<String> = native::stage2(password).iter().map(|byte| format!("{byte:02X}")).collect();
    format!("*{}", digits.concat())
}

/// `$A$005$`, the salt and the digest.
fn sha2_hash(password: &[u8], salt: [u8; SALT_LEN]) -> Result<String> {
    let hash = Stored::make(password, salt).ok_or_else(|| failure("the password is too long"))?;
    String::from_utf8(hash).map_err(|_| failure("the salt is not UTF-8 text"))
}

#[expect(clippy::indexing_slicing, reason = "six bits, and 64 letters")]
fn random_salt() -> [u8; SALT_LEN] {
    random::bytes::<SALT_LEN>().map(|byte| SALT_ALPHABET[usize::from(byte & 63)])
}

/// Seconds in a day.
const DAY: i64 = 86_400;

/// `YYYY-MM-DD hh:mm:ss` in UTC.
pub(crate) fn from_unix_time(seconds: i64) -> String {
    let (year, month, day) = civil(seconds.div_euclid(DAY));
    let rest = seconds.rem_euclid(DAY);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}", rest / 3_600, rest / 60 % 60, rest % 60)
}

/// The date of a day since 1970-01-01 in the Gregorian calendar (Howard Hinnant's
/// "days_from_civil", backwards).
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days.saturating_add(719_468);
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(sql: &str) -> Option<String> {
        let connection = Connection::open_in_memory().unwrap();
        add(&connection).unwrap();
        connection.query_row(&format!("SELECT {sql}"), [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn passwords_are_hashed_as_servers_do() {
        // MariaDB: SELECT PASSWORD('secret').
        assert_eq!(
            value("MYSQL_NATIVE_PASSWORD('secret')").as_deref(),
            Some("*14E65567ABDB5135D0CFD9A70B3032C179A49EE7")
        );
        assert_eq!(value("mysql_native_password('')").as_deref(), Some(""));
        assert_eq!(value("MYSQL_NATIVE_PASSWORD(NULL)"), None);
        let hash = value("CACHING_SHA2_PASSWORD('secret')").unwrap();
        let stored = Stored::parse(hash.as_bytes()).unwrap();
        assert!(stored.verify(b"secret") && !stored.verify(b"Secret"));
        let salted = value("CACHING_SHA2_PASSWORD('secret', '01234567890123456789')");
        assert!(salted.unwrap().starts_with("$A$005$01234567890123456789"));
    }

    #[test]
    fn times_are_utc() {
        for (seconds, shown) in [
            ("0", "1970-01-01 00:00:00"),
            ("951782399", "2000-02-28 23:59:59"),
            ("951782400", "2000-02-29 00:00:00"),
            ("1700000000", "2023-11-14 22:13:20"),
            ("-1", "1969-12-31 23:59:59"),
        ] {
            assert_eq!(value(&format!("FROM_UNIXTIME({seconds})")).as_deref(), Some(shown));
        }
        assert_eq!(value("FROM_UNIXTIME(NULL)"), None);
    }
}
