//! `Authorization: Basic`, as curl sends it.

/// User and password of a header's value; nothing if it is of another form.
pub fn credentials(value: &str) -> Option<(String, Vec<u8>)> {
    let (scheme, rest) = value.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let bytes = decode(rest.trim())?;
    let colon = bytes.iter().position(|&byte| byte == b':')?;
    let (user, password) = bytes.split_at_checked(colon)?;
    Some((String::from_utf8(user.to_vec()).ok()?, password.get(1..)?.to_vec()))
}

/// The bytes of a text in base64 (RFC 4648, section 4), with or without its padding.
fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count) = (0_u32, 0_u32);
    for byte in text.trim_end_matches('=').bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff).ok()?);
        }
    }
    // Six bits that are left over are half of nothing.
    (count < 6).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_and_password_are_told_apart_by_the_first_colon() {
        let told = |user: &str, password: &str| Some((user.to_owned(), password.as_bytes().to_vec()));
        assert_eq!(credentials("Basic YWRtaW46YWRtaW4="), told("admin", "admin"));
        assert_eq!(credentials("basic YTpiOmM"), told("a", "b:c"));
        assert_eq!(credentials("Basic Og=="), told("", ""));
        assert_eq!(credentials("Basic /+8="), None, "no colon");
        for text in ["", "Basic", "Basic YWRtaW4=", "Basic YWRt*W4=", "Bearer YTpi", "Basic YTpiY"] {
            assert_eq!(credentials(text), None, "{text}");
        }
    }
}
