//! Variables that are lists of switches: a `SET` of one sets the switches that it names, and leaves
//! the others as they were. So one does not take the place of another, unless it names the same
//! ones.

/// Such variables, in lower case. Sources: *Switchable Optimizations* of MySQL's manual,
/// `optimizer_switch` of MariaDB's.
const LISTS: [&str; 2] = ["optimizer_switch", "optimizer_trace_features"];

/// What settings of such variables are called, besides the names of the switches.
pub(super) const GROUP: &str = "optimizer_";

/// Whether a variable, in lower case, is one.
pub(super) fn is_list(name: &str) -> bool {
    LISTS.contains(&name)
}

/// What the setting of variable `name`, in lower case, to the literal `value` takes the place of;
/// nothing if that is not certain, or if it depends on the global value.
pub(crate) fn key(name: &str, value: &[u8]) -> Option<String> {
    // A word or a number is about all switches.
    let is_text = value.first().is_some_and(|first| matches!(first, b'\'' | b'"'));
    if !LISTS.contains(&name) || !is_text {
        return Some(name.to_owned());
    }
    let inner = value.get(1..value.len().checked_sub(1)?)?;
    let text = std::str::from_utf8(inner).ok()?.to_ascii_lowercase();
    let mut switches = Vec::new();
    for part in text.split(',') {
        match part.split_once('=') {
            Some((switch, "on" | "off")) if is_name(switch) => switches.push(switch),
            _ => return None,
        }
    }
    switches.sort_unstable();
    switches.dedup();
    Some(format!("{name}.{}", switches.join(",")))
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_named_by_its_switches() {
        for (value, expected) in [
            ("'mrr=on,Index_merge=OFF'", Some("optimizer_switch.index_merge,mrr")),
            ("\"mrr=on\"", Some("optimizer_switch.mrr")),
            ("\"mrr=default\"", None),
            ("'default'", None),
            ("'mrr=on,default'", None),
            ("7", Some("optimizer_switch")),
            // The server says what is wrong with these, or does not.
            ("''", None),
            ("'mrr'", None),
            ("'mrr=1'", None),
            ("'mrr =on'", None),
            ("'", None),
            ("'m\\rr=on'", None),
        ] {
            assert_eq!(key("optimizer_switch", value.as_bytes()).as_deref(), expected, "{value}");
        }
        assert_eq!(key("sql_mode", b"'a=on'").as_deref(), Some("sql_mode"));
    }
}
