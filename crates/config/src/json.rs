//! JSON (RFC 8259), as SQLite's `JSON_VALID` decides for the same columns.

mod text;

/// How deep arrays and objects nest. No column needs more than three levels.
const NESTING_MAX: usize = 32;

/// A JSON value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as it is written.
    Number(String),
    /// A string, its escapes resolved.
    Text(String),
    /// An array.
    List(Vec<Self>),
    /// An object: its members in the order of the text. Of members with the same name the last
    /// counts.
    Object(Vec<(String, Self)>),
}

impl Json {
    /// The value that `text` is; nothing if it is no JSON, or nests deeper than 32 levels.
    pub fn parse(text: &str) -> Option<Self> {
        let mut left = Left(text.as_bytes());
        left.blanks();
        let value = left.value(NESTING_MAX)?;
        left.blanks();
        left.0.is_empty().then_some(value)
    }

    /// The member called `name` of an object.
    pub fn get(&self, name: &str) -> Option<&Self> {
        let Self::Object(members) = self else { return None };
        members.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// The number, if it is a whole one that is not negative and has no fraction or exponent.
    pub fn unsigned(&self) -> Option<u64> {
        if let Self::Number(number) = self { number.parse().ok() } else { None }
    }

    /// The string.
    pub fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// `true` or `false`, also written as 1 or 0.
    pub fn switch(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            Self::Number(number) if number == "0" => Some(false),
            Self::Number(number) if number == "1" => Some(true),
            _ => None,
        }
    }
}

/// Whether `text` is one JSON value.
pub(crate) fn is_json(text: &str) -> bool {
    Json::parse(text).is_some()
}

/// What is left to read. The functions return nothing where the text is broken.
struct Left<'a>(&'a [u8]);

impl Left<'_> {
    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.0.first() == Some(&byte);
        if found {
            let _ = self.next();
        }
        found
    }

    fn blanks(&mut self) {
        self.0 = self.0.trim_ascii_start();
    }

    fn value(&mut self, depth: usize) -> Option<Json> {
        match self.0.first()? {
            b'{' => self.items(b'}', depth, Self::member).map(Json::Object),
            b'[' => self.items(b']', depth, Self::value).map(Json::List),
            b'"' => self.string().map(Json::Text),
            b't' => self.word(b"true", Json::Bool(true)),
            b'f' => self.word(b"false", Json::Bool(false)),
            b'n' => self.word(b"null", Json::Null),
            _ => self.number(),
        }
    }

    fn member(&mut self, depth: usize) -> Option<(String, Json)> {
        let name = self.string()?;
        self.blanks();
        self.take(b':').then_some(())?;
        self.blanks();
        Some((name, self.value(depth)?))
    }

    /// What is between two brackets, separated by commas.
    fn items<T>(
        &mut self,
        end: u8,
        depth: usize,
        item: impl Fn(&mut Self, usize) -> Option<T>,
    ) -> Option<Vec<T>> {
        let depth = depth.checked_sub(1)?;
        let mut items = Vec::new();
        let _ = self.next();
        self.blanks();
        if self.take(end) {
            return Some(items);
        }
        loop {
            items.push(item(self, depth)?);
            self.blanks();
            if self.take(end) {
                return Some(items);
            }
            self.take(b',').then_some(())?;
            self.blanks();
        }
    }

    fn word(&mut self, word: &[u8], value: Json) -> Option<Json> {
        self.0 = self.0.strip_prefix(word)?;
        Some(value)
    }

    fn digits(&mut self) -> Option<()> {
        let count = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.0 = self.0.get(count..)?;
        (count > 0).then_some(())
    }

    fn number(&mut self) -> Option<Json> {
        let start = self.0;
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            let _ = self.take(b'+') || self.take(b'-');
            self.digits()?;
        }
        let written = start.get(..start.len() - self.0.len())?;
        Some(Json::Number(String::from_utf8_lossy(written).into_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_told_from_what_looks_like_it() {
        for text in [
            "{}",
            " { \"a\" : [1, -0.5e+3, true, false, null, \"\\u00e4\\n\"] , \"b\":{} } ",
            "[]",
            "0",
            "\"x\"",
            "null",
        ] {
            assert!(is_json(text), "{text}");
        }
        for text in [
            "",
            " ",
            "{",
            "{a:1}",
            "{\"a\":1,}",
            "[1,]",
            "[1 2]",
            "01",
            "1.",
            "-",
            "'x'",
            "\"\n\"",
            "{} {}",
            "\"\\x\"",
            "nul",
            "+1",
            "{\"a\"}",
        ] {
            assert!(!is_json(text), "{text}");
        }
        let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(is_json(&deep(32)) && !is_json(&deep(33)) && !is_json(&deep(1_000_000)));
    }

    #[test]
    fn values_are_read() {
        let json =
            Json::parse(r#"{"a":[1,-2,1.5],"b":{"c":"x"},"d":true,"e":1,"f":null,"a2":7,"e":0}"#).unwrap();
        let numbers =
            |texts: &[&str]| Json::List(texts.iter().map(|t| Json::Number((*t).to_owned())).collect());
        assert_eq!(json.get("a"), Some(&numbers(&["1", "-2", "1.5"])));
        assert_eq!(json.get("b").and_then(|b| b.get("c")).and_then(Json::text), Some("x"));
        assert_eq!(
            (json.get("d").and_then(Json::switch), json.get("e").and_then(Json::switch)),
            (Some(true), Some(false))
        );
        assert_eq!(json.get("a2").and_then(Json::unsigned), Some(7));
        assert_eq!((json.get("f"), json.get("g")), (Some(&Json::Null), None));
        assert_eq!(Json::Number("-1".to_owned()).unsigned(), None);
        assert_eq!(Json::Number("1.0".to_owned()).unsigned(), None);
    }

    #[test]
    fn escapes_are_resolved() {
        let text = |json: &str| Json::parse(json).and_then(|json| json.text().map(str::to_owned));
        assert_eq!(text(r#""a\"\\\/\b\f\n\r\tä\u00e4\u20ac""#).unwrap(), "a\"\\/\u{8}\u{c}\n\r\tää€");
        assert_eq!(text(r#""\ud83d\ude00""#).unwrap(), "😀");
        // Half a pair is no character.
        assert_eq!(text(r#""\ud83dx\ude00\ud83d\u0041""#).unwrap(), "\u{fffd}x\u{fffd}\u{fffd}A");
    }
}
