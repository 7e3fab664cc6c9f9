//! Whether a password in `mysql_users` can be what its author meant.

use wire::auth::{Credential, CredentialError};

/// The hex digits behind the `*` of a `mysql_native_password` hash.
const NATIVE_DIGITS: usize = 40;

/// With so many hex digits behind it, a `*` was meant to start a hash, not a clear text.
const MEANT_AS_NATIVE_DIGITS: usize = 30;

/// What a wrong hash may be as well.
const MAYBE_CLEAR: &str = "if it is a clear text, `attributes` must have `clear_password` as true";

/// Whether `text` is a usable password: empty, clear text, or a well-formed hash. With `clear` it
/// is clear text whatever its form.
///
/// A hash that lost a digit on its way would count as clear text and lock its user out without a
/// word, so what looks like one must be one. The error is the rest of a sentence that starts with
/// the setting's name, and does not repeat the password.
pub(crate) fn check(text: &str, clear: bool) -> Result<(), String> {
    if clear {
        return Ok(());
    }
    if let Some(digits) = text.strip_prefix('*') {
        let hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        if hex && digits.len() >= MEANT_AS_NATIVE_DIGITS && digits.len() != NATIVE_DIGITS {
            let got = digits.len();
            return Err(format!(
                "must have {NATIVE_DIGITS} hex digits behind its `*`, not {got}; {MAYBE_CLEAR}"
            ));
        }
    }
    credential(text.as_bytes(), clear).map(drop).map_err(|error| format!("is wrong: {error}; {MAYBE_CLEAR}"))
}

/// The password or hash that `text` stands for.
pub(crate) fn credential(text: &[u8], clear: bool) -> Result<Credential, CredentialError> {
    if clear { Ok(Credential::clear(text)) } else { Credential::parse(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SALT: &str = "0123456789\x01`'\"\\ \x7fxyz";
    const DIGEST: &str = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcde";

    #[test]
    fn the_forms_are_accepted() {
        let native = format!("*{}", "0123456789ABCDEFabcd".repeat(2));
        let sha2 = format!("$A$005${SALT}{DIGEST}");
        for password in ["", "secret", "*", "*secret*", "*abc", "$1$", "$A", &native, &sha2] {
            assert_eq!(check(password, false), Ok(()), "{password}");
        }
    }

    #[test]
    fn damaged_hashes_are_refused_without_repeating_them() {
        for password in [
            format!("*{}", "A".repeat(39)),
            format!("*{}", "A".repeat(41)),
            format!("*{}G", "A".repeat(39)),
            format!("$A$001${SALT}{DIGEST}"),
            "$A$005$short".to_owned(),
            format!("$A$005${SALT}{}", &DIGEST[1..]),
            format!("$A$005${SALT}{DIGEST}."),
            format!("$A$005${SALT}{}!", &DIGEST[1..]),
        ] {
            let error = check(&password, false).unwrap_err();
            assert!(!error.contains(&password) && error.contains("`clear_password`"), "{error}");
            assert_eq!(check(&password, true), Ok(()));
        }
    }
}
