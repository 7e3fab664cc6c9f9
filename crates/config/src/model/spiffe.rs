//! Which workload may log in as a user: the URI that its certificate must have (SPIFFE, X.509-SVID
//! section 2).

use std::str::FromStr;

use regex::Regex;

/// A URI among the subject's alternative names of a client's certificate, or a pattern for one.
#[derive(Clone, Debug)]
pub struct SpiffeId {
    text: String,
    /// What the whole URI must match, where the text is not the URI.
    pattern: Option<Regex>,
}

impl SpiffeId {
    /// Whether a certificate with these URIs is one of the user's.
    pub fn admits<'a>(&self, mut uris: impl Iterator<Item = &'a str>) -> bool {
        match &self.pattern {
            Some(pattern) => uris.any(|uri| pattern.is_match(uri)),
            None => uris.any(|uri| uri == self.text),
        }
    }
}

impl PartialEq for SpiffeId {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for SpiffeId {}

impl FromStr for SpiffeId {
    /// The rest of a sentence that starts with the setting's name.
    type Err = String;

    /// A URI, or `!` and a regular expression that a whole URI must match.
    fn from_str(text: &str) -> Result<Self, String> {
        let pattern = match text.strip_prefix('!') {
            Some(pattern) => {
                // By itself first, so that the parentheses around it change nothing.
                let compiled = Regex::new(pattern).and_then(|_| Regex::new(&format!("^(?:{pattern})$")));
                Some(
                    compiled
                        .map_err(|_| format!("has a `spiffe_id` that is no regular expression: {text:?}"))?,
                )
            }
            None if text.contains("://") => None,
            None => return Err("must have as `spiffe_id` a URI, or ! and a regular expression".to_owned()),
        };
        Ok(Self { text: text.to_owned(), pattern })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_the_uris_must_be_the_whole_of_it() {
        let admits = |id: &str, uris: &[&str]| id.parse::<SpiffeId>().unwrap().admits(uris.iter().copied());
        assert!(admits("spiffe://a/b", &["https://x", "spiffe://a/b"]));
        for uris in [&[][..], &["spiffe://a/bc"], &["spiffe://a/B"]] {
            assert!(!admits("spiffe://a/b", uris), "{uris:?}");
        }
        assert!(admits("!spiffe://a/.*|spiffe://b/c", &["spiffe://b/c"]));
        assert!(!admits("!spiffe://a/.*|spiffe://b/c", &["spiffe://b/cd"]));
        assert!(!admits("!spiffe://a/.*|spiffe://b/c", &["x-spiffe://a/b"]));
    }

    #[test]
    fn ids_that_no_certificate_could_have_are_refused() {
        for text in ["", "shop", "!(", "!a)|(b"] {
            assert!(text.parse::<SpiffeId>().is_err(), "{text}");
        }
    }
}
