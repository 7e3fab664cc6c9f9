//! `SHOW` of what a server says of its own end of a connection. Clients ask about theirs, which is
//! at the proxy.

use sql::lexer::Kind;

use super::marks::has;
use super::words::{Words, whole_tokens};

/// A statement with the same answer for a client whose TLS has this cipher suite and version, which
/// are empty without TLS. `None` if it is not `SHOW [SESSION] STATUS LIKE` with a pattern that
/// begins with `ssl`, or `SHOW VARIABLES LIKE 'socket'`.
///
/// The answer has `Ssl_cipher` and `Ssl_version`, as far as they are like the pattern. All else
/// that a server counts of TLS is about its own connections.
pub fn told_here(text: &[u8], cipher: &str, version: &str) -> Option<Vec<u8>> {
    if !has(text, "ssl") && !has(text, "socket") {
        return None;
    }
    let tokens = whole_tokens(text)?;
    let words = Words::new(text, &tokens);
    let at = if words.is(1, "session") || words.is(1, "local") { 2 } else { 1 };
    let len = if words.is_sign(words.len().wrapping_sub(1), b';') { words.len() - 1 } else { words.len() };
    let is_it = words.is(0, "show") && words.is(at + 1, "like") && len == at + 3;
    if !is_it || words.kind(at + 2) != Some(Kind::Text) {
        return None;
    }
    let pattern = words.bytes(at + 2);
    let pattern = pattern.get(1..pattern.len().saturating_sub(1))?.to_ascii_lowercase();
    if words.is(at, "variables") {
        return (pattern == b"socket").then(|| answer(&[("socket", "")]));
    }
    if !words.is(at, "status") || !pattern.starts_with(b"ssl") {
        return None;
    }
    let mut all = vec![("Ssl_cipher", cipher), ("Ssl_version", version)];
    all.retain(|(name, _)| is_like(&name.to_ascii_lowercase(), &pattern));
    Some(answer(&all))
}

/// Whether a name is like a pattern in lower case.
fn is_like(name: &str, pattern: &[u8]) -> bool {
    let rest = |count: usize| name.get(count..).unwrap_or_default();
    match pattern {
        [] => name.is_empty(),
        [b'%', behind @ ..] => (0..=name.len()).any(|skipped| is_like(rest(skipped), behind)),
        [b'\\', byte, behind @ ..] => name.as_bytes().first() == Some(byte) && is_like(rest(1), behind),
        [byte, behind @ ..] => {
            let fits = name.bytes().next().is_some_and(|first| first == *byte || *byte == b'_');
            fits && is_like(rest(1), behind)
        }
    }
}

/// A query that answers with these rows.
fn answer(rows: &[(&str, &str)]) -> Vec<u8> {
    let select =
        |(name, value): &(&str, &str)| format!("SELECT '{name}' AS `Variable_name`, '{value}' AS `Value`");
    let all: Vec<_> = rows.iter().map(select).collect();
    let none = || format!("{} FROM DUAL WHERE 1 = 0", select(&("", "")));
    if all.is_empty() { none() } else { all.join(" UNION ALL ") }.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Option<String> {
        told_here(text.as_bytes(), "TLS_X", "TLSv1.3").map(|text| String::from_utf8(text).unwrap())
    }

    #[test]
    fn a_client_hears_of_its_own_tls() {
        let cipher = "SELECT 'Ssl_cipher' AS `Variable_name`, 'TLS_X' AS `Value`";
        let version = "SELECT 'Ssl_version' AS `Variable_name`, 'TLSv1.3' AS `Value`";
        let both = format!("{cipher} UNION ALL {version}");
        for (text, answer) in [
            ("SHOW STATUS LIKE 'Ssl_cipher'", cipher),
            ("show session status like 'ssl\\_cipher';", cipher),
            ("SHOW LOCAL STATUS LIKE \"SSL_VERSION\"", version),
            ("SHOW STATUS LIKE 'Ssl%'", &both),
            ("SHOW STATUS LIKE 'ssl_%er%'", &both),
            ("SHOW VARIABLES LIKE 'socket'", "SELECT 'socket' AS `Variable_name`, '' AS `Value`"),
        ] {
            assert_eq!(told(text).as_deref(), Some(answer), "{text}");
        }
        assert!(told("SHOW STATUS LIKE 'Ssl_accepts'").unwrap().ends_with("WHERE 1 = 0"));
    }

    #[test]
    fn other_statements_are_as_they_were() {
        for text in [
            "SHOW GLOBAL STATUS LIKE 'Ssl%'",
            "SHOW STATUS LIKE '%ssl%'",
            "SHOW STATUS WHERE Variable_name = 'Ssl_cipher'",
            "SHOW STATUS",
            "SHOW VARIABLES LIKE '%socket%'",
            "SHOW TABLES LIKE 'ssl'",
            "SELECT 'ssl'",
            "SHOW STATUS LIKE 'Ssl%' OR 1",
        ] {
            assert_eq!(told(text), None, "{text}");
        }
    }
}
