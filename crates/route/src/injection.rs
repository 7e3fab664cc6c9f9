//! Injected SQL: what is done with statements that look like it.
//!
//! `mysql_firewall_whitelist_sqli_fingerprints` says which fingerprints are no reason to refuse a
//! statement. As with the [firewall](crate::Firewall), this is not a part of remembered
//! [verdicts](crate::Verdicts): two statements with one digest may have different fingerprints.

use std::collections::HashSet;

use config::SqliFingerprint;
use sql::injection::{Fingerprint, Look, look};

/// What is done with statements that look like injected SQL: immutable, shared by all workers.
#[derive(Debug, Clone, Default)]
pub struct Injections {
    listed: HashSet<Fingerprint>,
    detect_only: bool,
}

/// What was found in a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sighting {
    /// It looks like injected SQL, and passes, as this fingerprint is listed.
    Listed(Fingerprint),
    /// It looks like injected SQL, and passes, as nothing is refused yet.
    Detected(Fingerprint),
    /// It looks like injected SQL and is refused.
    Refused(Fingerprint),
    /// The detector has failed. The statement passes.
    Failed,
}

impl Injections {
    /// What lets the fingerprints of these rows pass, of which those that are not active do not
    /// count; with `detect_only` all others as well.
    pub fn new(rows: &[SqliFingerprint], detect_only: bool) -> Self {
        let active = rows.iter().filter(|row| row.active);
        // One that is too long was refused with the configuration.
        Self { listed: active.filter_map(|row| Fingerprint::new(&row.fingerprint)).collect(), detect_only }
    }

    /// What is found in a statement; nothing if it looks harmless.
    pub fn look(&self, text: &[u8]) -> Option<Sighting> {
        match look(text) {
            Look::Harmless => None,
            Look::Failed => Some(Sighting::Failed),
            Look::Injected(fingerprint) if self.listed.contains(&fingerprint) => {
                Some(Sighting::Listed(fingerprint))
            }
            Look::Injected(fingerprint) if self.detect_only => Some(Sighting::Detected(fingerprint)),
            Look::Injected(fingerprint) => Some(Sighting::Refused(fingerprint)),
        }
    }
}

impl Sighting {
    /// A word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Listed(_) => "listed",
            Self::Detected(_) => "detected",
            Self::Refused(_) => "refused",
            Self::Failed => "failed",
        }
    }

    /// What the client is told if the statement is refused.
    pub(crate) fn refusal(self) -> Option<std::sync::Arc<str>> {
        match self {
            Self::Refused(fingerprint) => Some(refusal(fingerprint).into()),
            _ => None,
        }
    }

    /// The fingerprint that was found.
    pub const fn fingerprint(self) -> Option<Fingerprint> {
        match self {
            Self::Listed(fingerprint) | Self::Detected(fingerprint) | Self::Refused(fingerprint) => {
                Some(fingerprint)
            }
            Self::Failed => None,
        }
    }

    /// Why it is that, in words.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Listed(fingerprint) => {
                format!("fingerprint {fingerprint}, which is in mysql_firewall_whitelist_sqli_fingerprints")
            }
            Self::Detected(fingerprint) => {
                format!("fingerprint {fingerprint}; pointsman-sqli_detect_only lets it pass")
            }
            Self::Refused(fingerprint) => {
                format!("fingerprint {fingerprint}; the connection would be closed")
            }
            Self::Failed => "the detector has failed, so the statement passes".to_owned(),
        }
    }
}

/// What the client is told.
fn refusal(fingerprint: Fingerprint) -> String {
    format!(
        "This statement looks like injected SQL (fingerprint {fingerprint}): it was not executed, and the connection is closed. If \
         it is harmless, have the fingerprint listed in mysql_firewall_whitelist_sqli_fingerprints"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Its fingerprint is `s&sos`.
    const INJECTED: &[u8] = b"' OR '1'='1";

    fn row(fingerprint: &str, active: bool) -> SqliFingerprint {
        SqliFingerprint { active, fingerprint: fingerprint.to_owned() }
    }

    #[test]
    fn what_is_listed_passes_and_all_else_is_refused() {
        let fingerprint = Fingerprint::new("s&sos").unwrap();
        for (rows, detect_only, wanted) in [
            (&[][..], false, Sighting::Refused(fingerprint)),
            (&[row("s&1", true), row("s&sos", false)], false, Sighting::Refused(fingerprint)),
            (&[row("s&1", true), row("s&sos", true)], false, Sighting::Listed(fingerprint)),
            (&[row("s&sos", true)], true, Sighting::Listed(fingerprint)),
            (&[], true, Sighting::Detected(fingerprint)),
        ] {
            let injections = Injections::new(rows, detect_only);
            assert_eq!(injections.look(INJECTED), Some(wanted), "{rows:?}");
            assert_eq!(injections.look(b"COMMIT"), None);
        }
    }

    #[test]
    fn only_what_is_refused_is_told_so() {
        let fingerprint = Fingerprint::new("s&sos").unwrap();
        for passes in [Sighting::Listed(fingerprint), Sighting::Detected(fingerprint), Sighting::Failed] {
            assert_eq!(passes.refusal(), None);
        }
        let text = Sighting::Refused(fingerprint).refusal().unwrap();
        assert!(text.contains("(fingerprint s&sos)"), "{text}");
    }

    /// What the configuration accepts as a fingerprint is one.
    #[test]
    fn all_fingerprints_of_rows_can_be_found() {
        let longest = "Enknk";
        assert!(config::is_sqli_fingerprint(longest) && Fingerprint::new(longest).is_some());
        assert!(!config::is_sqli_fingerprint("Enknkn"));
    }
}
