//! Banned words, and the words to use in their place.

use std::collections::HashSet;

/// A word that identifiers and file names must not contain, and the field's word for it.
const BANNED: &[(&str, &str)] = &[
    ("train", "batch"),
    ("trains", "batches"),
    ("ride", "batch"),
    ("rider", "batch member"),
    ("riders", "batch members"),
    ("traveller", "batch member"),
    ("travels", "batch"),
    ("alight", "leave the batch"),
    ("depart", "send"),
    ("departure", "send"),
    ("terminus", "end of the batch"),
    ("course", "session state, links or flight"),
    ("passport", "pool key"),
    ("prologue", "setup"),
    ("errand", "internal query"),
    ("errands", "internal queries"),
    ("wording", "reply rewrite"),
    ("heard", "observed"),
    ("overheard", "tracked state"),
    ("overhear", "track"),
    ("adopt", "reuse"),
    ("aside", "idle"),
    ("punctual", "batch history"),
    ("alike", "interning"),
    ("seldom", "rate limit"),
    ("somebody", "the session, client or connection"),
    ("somebodys", "owned by a session"),
    ("nobody", "none"),
    ("nobodys", "unowned"),
    ("whoever", "the session, client or connection"),
];

/// Pronouns that stand for a noun which the reader has to guess.
const PRONOUNS: &[&str] = &["somebody", "nobody", "whoever", "everybody"];

/// Banned words in an identifier in any case (`TrainOf`, `train_of`), each with the word to use.
pub(crate) fn banned_in(identifier: &str) -> Vec<(&'static str, &'static str)> {
    let words = words_of(identifier);
    BANNED.iter().filter(|(word, _)| words.iter().any(|one| one == word)).copied().collect()
}

/// Identifiers that were found to have no banned words: most stand in many places.
#[derive(Debug, Default)]
pub(crate) struct Clean(HashSet<String>);

impl Clean {
    /// Banned words in an identifier.
    pub(crate) fn banned_in(&mut self, identifier: &str) -> Vec<(&'static str, &'static str)> {
        if self.0.contains(identifier) {
            return Vec::new();
        }
        let banned = banned_in(identifier);
        if banned.is_empty() {
            self.0.insert(identifier.to_owned());
        }
        banned
    }
}

/// Pronouns in a line of prose.
pub(crate) fn pronouns_in(line: &str) -> Vec<&'static str> {
    let line = line.to_lowercase();
    let words: Vec<&str> = line.split(|c: char| !c.is_ascii_alphabetic()).collect();
    PRONOUNS.iter().filter(|pronoun| words.contains(*pronoun)).copied().collect()
}

/// The words of an identifier, in lower case.
fn words_of(identifier: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in identifier.chars() {
        let begins = !c.is_ascii_alphanumeric() || c.is_ascii_uppercase() && was_lower;
        if begins {
            words.push(String::new());
        }
        if c.is_ascii_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.push(c.to_ascii_lowercase());
        }
        was_lower = c.is_ascii_lowercase() || c.is_ascii_digit();
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_words_in_any_case() {
        assert_eq!(words_of("take_train2"), ["take", "train2"]);
        assert_eq!(words_of("NextRiderOf"), ["next", "rider", "of"]);
        assert_eq!(words_of("_HTTP_ok"), ["http", "ok"]);
    }

    #[test]
    fn banned_words_are_whole_words() {
        assert_eq!(banned_in("next_rider"), [("rider", "batch member")]);
        assert_eq!(banned_in("PoolPassport"), [("passport", "pool key")]);
        assert_eq!(banned_in("constraint"), []);
        assert_eq!(banned_in("override_it"), []);
    }

    #[test]
    fn an_identifier_is_found_each_time() {
        let mut clean = Clean::default();
        for _ in 0..2 {
            assert_eq!((clean.banned_in("rider").len(), clean.banned_in("reader").len()), (1, 0));
        }
    }

    #[test]
    fn pronouns_are_found_in_prose() {
        assert_eq!(pronouns_in("// Nobody waits."), ["nobody"]);
        assert_eq!(pronouns_in("// The session waits."), Vec::<&str>::new());
    }
}
