//! JSON in columns of tables.

pub use serde_json::Value as Json;

/// The value that `text` is; nothing if it is no JSON, or nests as deep as 128 levels.
pub fn parse(text: &str) -> Option<Json> {
    serde_json::from_str(text).ok()
}

/// `true` or `false`, also written as 1 or 0.
pub fn switch(value: &Json) -> Option<bool> {
    match value {
        Json::Bool(value) => Some(*value),
        value => match value.as_u64() {
            Some(0) => Some(false),
            Some(1) => Some(true),
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_bounded() {
        let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(&deep(127)).is_some() && parse(&deep(128)).is_none());
        assert_eq!(parse(&deep(1_000_000)), None);
    }

    #[test]
    fn switches_are_words_or_numbers() {
        let on = |text: &str| parse(text).as_ref().and_then(switch);
        assert_eq!(
            [on("true"), on("1"), on("false"), on("0")],
            [Some(true), Some(true), Some(false), Some(false)]
        );
        assert_eq!([on("2"), on("1.0"), on("-1"), on("\"1\""), on("null")], [None; 5]);
    }
}
