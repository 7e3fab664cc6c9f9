//! Whether a password in `mysql_users` can be what its author meant.

use wire::auth::Credential;

/// The hex digits behind the `*` of a `mysql_native_password` hash.
const NATIVE_DIGITS: usize = 40;

/// With so many hex digits behind it, a `*` was meant to start a hash, not a clear text.
const MEANT_AS_NATIVE_DIGITS: usize = 30;

/// Whether `text` is a usable password: empty, clear text, or a well-formed hash. A hash that lost
/// a digit on its way would count as clear text and lock its user out without a word, so what looks
/// like one must be one. The error is the rest of a sentence that starts with the setting's name,
/// and does not repeat the password.
pub(crate) fn check(text: &str) -> Result<(), String> {
    if let Some(digits) = text.strip_prefix('*') {
        let hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        if hex && digits.len() >= MEANT_AS_NATIVE_DIGITS && digits.len() != NATIVE_DIGITS {
            return Err(format!("must have {NATIVE_DIGITS} hex digits behind its `*`, not {}", digits.len()));
        }
    }
    Credential::parse(text.as_bytes()).map(drop).map_err(|error| format!("is wrong: {error}"))
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
            assert_eq!(check(password), Ok(()), "{password}");
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
            let error = check(&password).unwrap_err();
            assert!(!error.contains(&password), "{error}");
        }
    }
}
