//! `session_track_system_variables`, set to its global value with more behind it or in front of it:
//! `CONCAT(@@global.session_track_system_variables, ',tx_isolation')`. MariaDB Connector/J says
//! such a thing at the beginning of each session. It does not depend on what was set before. Its
//! server is not asked for the value, which has what the proxy has added.

use super::words::Words;

/// Whether `value` is `variable`'s own global value, or that with texts, and is kept as text.
pub(super) fn is_kept(value: &Words<'_>, variable: &str) -> bool {
    let global = format!("@@global.{variable}");
    let is_plain = || value.len() == 1 && (value.is(0, "default") || value.is(0, &global));
    variable == "session_track_system_variables" && (is_plain() || is_concatenation(value, variable))
}

/// Whether `value` puts the global value of `variable` and texts together, and is nothing else.
fn is_concatenation(value: &Words<'_>, variable: &str) -> bool {
    let Some(end) = value.len().checked_sub(1) else { return false };
    if !value.is_call(0, "concat") || !value.is_sign(end, b')') {
        return false;
    }
    let global = format!("@@global.{variable}");
    let is_plain = |at| {
        let text = value.bytes(at).strip_prefix(b"'").and_then(|text| text.strip_suffix(b"'"));
        text.is_some_and(|text| text.is_ascii() && !text.contains(&b'\\') && !text.contains(&b'\''))
    };
    // The arguments and the commas between them.
    let of_either = |at: usize| match at % 2 {
        0 => value.is(at, &global) || is_plain(at),
        _ => value.is_sign(at, b','),
    };
    end % 2 == 1 && (2..end).all(of_either) && (2..end).any(|at| value.is(at, &global))
}

#[cfg(test)]
mod tests {
    use super::super::words::whole_tokens;
    use super::*;

    fn is_it(text: &str) -> bool {
        let tokens = whole_tokens(text.as_bytes()).unwrap();
        is_concatenation(&Words::new(text.as_bytes(), &tokens), "a")
    }

    #[test]
    fn a_global_value_and_texts_are_put_together() {
        for text in ["CONCAT(@@global.a, ',b')", "concat('b,',@@GLOBAL.a)", "CONCAT(@@global.a)"] {
            assert!(is_it(text), "{text}");
        }
        for text in [
            "",
            "CONCAT",
            "CONCAT(",
            "CONCAT()",
            "CONCAT('b', 'c')",
            "CONCAT(@@a, ',b')",
            "CONCAT(@@session.a, ',b')",
            "CONCAT(@@global.b, ',b')",
            "CONCAT(@@global.a, @b)",
            "CONCAT(@@global.a, \",b\")",
            "CONCAT(@@global.a, ',\\b')",
            "CONCAT(@@global.a, ',b',)",
            "CONCAT(@@global.a ',b')",
            "CONCAT(@@global.a, ',b') + 1",
            "UPPER(@@global.a)",
        ] {
            assert!(!is_it(text), "{text}");
        }
    }
}
