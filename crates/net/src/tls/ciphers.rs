//! OpenSSL's names of cipher suites, as `ssl_p2s_cipher` has them.

use std::sync::Arc;

use rustls::CipherSuite;
use rustls::crypto::CryptoProvider;

use super::Provider;

/// The names of those that there are here: the same cryptography as in every current OpenSSL. All
/// others are without forward secrecy or authenticated encryption.
const NAMES: [(&str, CipherSuite); 9] = [
    ("TLS_AES_256_GCM_SHA384", CipherSuite::TLS13_AES_256_GCM_SHA384),
    ("TLS_AES_128_GCM_SHA256", CipherSuite::TLS13_AES_128_GCM_SHA256),
    ("TLS_CHACHA20_POLY1305_SHA256", CipherSuite::TLS13_CHACHA20_POLY1305_SHA256),
    ("ECDHE-ECDSA-AES256-GCM-SHA384", CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384),
    ("ECDHE-ECDSA-AES128-GCM-SHA256", CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256),
    ("ECDHE-ECDSA-CHACHA20-POLY1305", CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256),
    ("ECDHE-RSA-AES256-GCM-SHA384", CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384),
    ("ECDHE-RSA-AES128-GCM-SHA256", CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256),
    ("ECDHE-RSA-CHACHA20-POLY1305", CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256),
];

/// The cryptography with the suites that `list` names, in its order; all of them if it is empty. As
/// in OpenSSL, a list without suites of TLS 1.3 leaves these as they are. Names that do not exist
/// here are warned of: `setting` is where they stand.
pub(super) fn choose(list: &str, setting: &str, provider: &Provider) -> Provider {
    let (chosen, unknown) = parse(list);
    if !unknown.is_empty() {
        tracing::warn!(setting, unknown = unknown.join(":"), "cipher suites that do not exist here");
    }
    if chosen.is_empty() {
        return Arc::clone(provider);
    }
    let by_name = chosen
        .iter()
        .filter_map(|wanted| provider.cipher_suites.iter().find(|suite| suite.suite() == *wanted).copied());
    let mut suites: Vec<_> = by_name.collect();
    if !suites.iter().any(|suite| suite.tls13().is_some()) {
        suites.extend(provider.cipher_suites.iter().filter(|suite| suite.tls13().is_some()));
    }
    Arc::new(CryptoProvider { cipher_suites: suites, ..CryptoProvider::clone(provider) })
}

/// The name of a suite; empty if it is none of those here.
pub(crate) fn name_of(suite: CipherSuite) -> &'static str {
    NAMES.iter().find(|(_, known)| *known == suite).map_or("", |(name, _)| name)
}

/// The suites of a list, and the names that are none.
fn parse(list: &str) -> (Vec<CipherSuite>, Vec<&str>) {
    let mut outcome = (Vec::new(), Vec::new());
    for name in list.split([':', ',', ' ']).filter(|name| !name.is_empty()) {
        match NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
            Some((_, suite)) => outcome.0.push(*suite),
            None => outcome.1.push(name),
        }
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_suite_has_a_name_and_every_name_a_suite() {
        let provider = rustls::crypto::aws_lc_rs::default_provider();
        let suites: Vec<_> = provider.cipher_suites.iter().map(rustls::SupportedCipherSuite::suite).collect();
        assert_eq!(suites.len(), NAMES.len());
        for (name, suite) in NAMES {
            assert!(suites.contains(&suite), "{name}");
        }
    }

    #[test]
    fn a_list_chooses_and_what_is_unknown_is_said() {
        let (chosen, unknown) = parse("ECDHE-RSA-AES128-GCM-SHA256:AES128-SHA:!aNULL");
        assert_eq!(chosen, [CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]);
        assert_eq!(unknown, ["AES128-SHA", "!aNULL"]);
    }

    #[test]
    fn tls_1_3_stays_unless_its_suites_are_named() {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let suites = |list| choose(list, "test", &provider).cipher_suites.len();
        assert_eq!(suites(""), NAMES.len());
        assert_eq!(suites("ECDHE-RSA-AES128-GCM-SHA256"), 1 + 3);
        assert_eq!(suites("ECDHE-RSA-AES128-GCM-SHA256:TLS_AES_128_GCM_SHA256"), 2);
        assert_eq!(suites("TLS_AES_128_GCM_SHA256"), 1);
        assert_eq!(suites("AES128-SHA"), NAMES.len());
    }
}
