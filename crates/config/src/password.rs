//! The forms that a password has in `mysql_users`.

/// `*` and the hex digits of SHA1(SHA1(password)), as `mysql_native_password` stores it.
const NATIVE_CHARS: usize = 41;

/// What a `caching_sha2_password` hash starts with: the digest's type and 5 thousand rounds in hexadecimal.
const SHA2_PREFIX: &str = "$A$005$";
/// The salt behind that prefix.
const SHA2_SALT_BYTES: usize = 20;
/// The digest behind the salt, 6 bits in each byte.
const SHA2_DIGEST_BYTES: usize = 43;

/// After so many hex digits a `*` is meant to start a hash, not a clear text.
const MEANT_AS_NATIVE_DIGITS: usize = 30;

/// Whether `text` is a usable password: empty, clear text, or a well-formed hash. A damaged hash would count
/// as clear text and lock its user out without a word, so what looks like a hash must be one. The error is the
/// rest of a sentence that starts with the setting's name, and does not repeat the password.
pub(crate) fn check(text: &str) -> Result<(), String> {
    if let Some(digits) = text.strip_prefix('*') {
        let hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        if text.len() == NATIVE_CHARS && !hex {
            return Err("looks like `*` and 40 hex digits, but not all of them are hex digits".to_owned());
        }
        if text.len() != NATIVE_CHARS && hex && digits.len() >= MEANT_AS_NATIVE_DIGITS {
            return Err(format!("must have 40 hex digits behind its `*`, not {}", digits.len()));
        }
    }
    if text.starts_with("$A$") {
        let Some(rest) = text.strip_prefix(SHA2_PREFIX) else {
            return Err(format!(
                "starts with `$A$`, but only hashes of 5000 rounds (`{SHA2_PREFIX}`) are known"
            ));
        };
        return check_sha2(rest.as_bytes());
    }
    Ok(())
}

/// What follows the prefix of a `caching_sha2_password` hash, in the layout of MySQL's crypt-style hashes.
fn check_sha2(rest: &[u8]) -> Result<(), String> {
    let Some((salt, digest)) = rest.split_at_checked(SHA2_SALT_BYTES) else {
        return Err(format!("ends within the salt of {SHA2_SALT_BYTES} bytes behind `{SHA2_PREFIX}`"));
    };
    if salt.iter().any(|&byte| byte == b'$' || byte == 0 || byte >= 0x80) {
        return Err(format!("holds a byte in the salt behind `{SHA2_PREFIX}` that cannot be there"));
    }
    if digest.len() != SHA2_DIGEST_BYTES {
        return Err(format!(
            "must have {SHA2_DIGEST_BYTES} bytes behind `{SHA2_PREFIX}` and the salt of {SHA2_SALT_BYTES} bytes, \
             not {}",
            digest.len()
        ));
    }
    if !digest.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'/')) {
        return Err(format!("has other characters than ./0-9A-Za-z in the digest behind `{SHA2_PREFIX}`"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_forms_are_accepted() {
        let native = format!("*{}", "0123456789ABCDEFabcd".repeat(2));
        let sha2 = format!(
            "{SHA2_PREFIX}{}{}",
            "s\x01`'\"\\ \x7f".repeat(3).split_at(20).0,
            "./09AZaz".repeat(6).split_at(43).0
        );
        for password in ["", "secret", "*", "*secret*", "*abc", "$A$", "$1$", &native, &sha2] {
            if password != "$A$" {
                assert_eq!(check(password), Ok(()), "{password}");
            }
        }
    }

    #[test]
    fn damaged_hashes_are_refused_without_repeating_them() {
        let sha2 = |salt: &str, digest: &str| format!("{SHA2_PREFIX}{salt}{digest}");
        let salt = "0123456789abcdefghij";
        let digest = "./09AZaz".repeat(6);
        for password in [
            format!("*{}", "A".repeat(39)),
            format!("*{}", "A".repeat(41)),
            format!("*{}G", "A".repeat(39)),
            "$A$".to_owned(),
            format!("$A$00A${salt}{}", &digest[..43]),
            sha2("short", ""),
            sha2("0123456789abcdefghi$", &digest[..43]),
            sha2("0123456789abcdefghi\u{e4}", &digest[..42]),
            sha2(salt, &digest[..42]),
            sha2(salt, &digest[..44]),
            sha2(salt, &format!("{}!", &digest[..42])),
        ] {
            let error = check(&password).unwrap_err();
            assert!(password == "$A$" || !error.contains(&password), "{error}");
        }
    }
}
