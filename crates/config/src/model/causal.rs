//! Which writes reads at replicas must see.

/// Whose acknowledged writes a read at a reader must see (`causal_reads`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum CausalReads {
    /// No one's.
    #[default]
    Off,
    /// Those of its session.
    Session,
    /// Those of all sessions of its user.
    User,
    /// Those of all sessions of its application, which sessions and statements name; of its session
    /// where no application is named.
    Application,
}

impl CausalReads {
    /// All of them, in the order of the schema.
    pub const ALL: [Self; 4] = [Self::Off, Self::Session, Self::User, Self::Application];

    /// The word of the configuration.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Session => "session",
            Self::User => "user",
            Self::Application => "application",
        }
    }

    /// What a word of the configuration means, in any case.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.word().eq_ignore_ascii_case(word))
    }

    /// What the member `causal_reads` of the JSON in a column `attributes` says; nothing if it is
    /// not there.
    ///
    /// # Errors
    ///
    /// The rest of a sentence that starts with the column's name: the value is none of the words.
    pub fn in_json(json: &crate::json::Json) -> Result<Option<Self>, String> {
        let value = match json.get("causal_reads") {
            None | Some(crate::json::Json::Null) => return Ok(None),
            Some(value) => value.as_str().and_then(Self::of),
        };
        let words = Self::ALL.map(Self::word).join("`, `");
        value.map(Some).ok_or_else(|| format!("must have as `causal_reads` one of `{words}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_words() {
        let of = |text: &str| CausalReads::in_json(&crate::json::parse(text).unwrap());
        assert_eq!(of("{}"), Ok(None));
        assert_eq!(of(r#"{"causal_reads": null}"#), Ok(None));
        for scope in CausalReads::ALL {
            assert_eq!(of(&format!(r#"{{"causal_reads": "{}"}}"#, scope.word())), Ok(Some(scope)));
        }
        assert!(of(r#"{"causal_reads": "on"}"#).unwrap_err().contains("`application`"));
        assert!(of(r#"{"causal_reads": 1}"#).is_err());
    }
}
