//! Injected SQL: what is done with statements that look like it.
//!
//! `mysql_firewall_whitelist_sqli_fingerprints` says which fingerprints are no reason to refuse a
//! statement. As with the [firewall](crate::Firewall), this is not a part of remembered
//! [verdicts](crate::Verdicts): two statements with one digest may have different fingerprints.

use std::collections::HashSet;

use config::SqliFingerprint;
use sql::injection::{Fingerprint, Look, look};

use crate::destination::Destination;
use crate::firewall::Ruling;

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

    /// Whether a statement is searched that would go to `destination`, and about which the firewall
    /// says `ruling`, if it is on. As in ProxySQL, it is not if the firewall has it on a list, or
    /// leaves the user alone. What the firewall refuses, and what rules answer, reaches no server
    /// anyway.
    pub const fn look_at(ruling: Option<Ruling>, destination: &Destination) -> bool {
        matches!(ruling, None | Some(Ruling::Detected))
            && matches!(destination, Destination::Hostgroup { .. } | Destination::Locked { .. })
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

    /// What becomes of a statement in which this was found and that would go to `destination`.
    pub fn over(sighting: Option<Sighting>, destination: Destination) -> Destination {
        match sighting {
            Some(Sighting::Refused(fingerprint)) => Destination::Error(refusal(fingerprint).into()),
            _ => destination,
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
    use crate::destination::Why;

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
    fn only_what_is_refused_goes_nowhere() {
        let fingerprint = Fingerprint::new("s&sos").unwrap();
        let to = Destination::Hostgroup { hostgroup: 1, why: Why::Default };
        for passes in [Sighting::Listed(fingerprint), Sighting::Detected(fingerprint), Sighting::Failed] {
            assert_eq!(Injections::over(Some(passes), to.clone()), to);
        }
        assert_eq!(Injections::over(None, to.clone()), to);
        let Destination::Error(text) = Injections::over(Some(Sighting::Refused(fingerprint)), to) else {
            panic!("it is refused");
        };
        assert!(text.contains("(fingerprint s&sos)"), "{text}");
    }

    #[test]
    fn listed_statements_and_answers_of_rules_are_not_searched() {
        let to = Destination::Hostgroup { hostgroup: 1, why: Why::Default };
        let locked = Destination::Locked { locked_on: 1, hostgroup: 2 };
        for (ruling, wanted) in [
            (None, true),
            (Some(Ruling::Detected), true),
            (Some(Ruling::Passes), false),
            (Some(Ruling::Refused), false),
        ] {
            assert_eq!(Injections::look_at(ruling, &to), wanted, "{ruling:?}");
            assert_eq!(Injections::look_at(ruling, &locked), wanted, "{ruling:?}");
            for answer in [Destination::Ok("fine".into()), Destination::Error("by a rule".into())] {
                assert!(!Injections::look_at(ruling, &answer));
            }
        }
    }

    /// What the configuration accepts as a fingerprint is one.
    #[test]
    fn all_fingerprints_of_rows_can_be_found() {
        let longest = "Enknk";
        assert!(config::is_sqli_fingerprint(longest) && Fingerprint::new(longest).is_some());
        assert!(!config::is_sqli_fingerprint("Enknkn"));
    }
}
