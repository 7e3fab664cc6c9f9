//! What a handshake with a client needs.

use std::sync::Arc;

use rustls::server::WebPkiClientVerifier;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{Error, ServerConfig};

use super::Provider;
use super::files::{self, TlsError};
use super::own::Own;

/// Session tickets that a client gets: one is enough to come back with, and more would not be used.
const TICKETS: usize = 1;

/// TLS 1.2 and 1.3 with `own`; with a file of authorities, clients may show a certificate of these.
pub(super) fn config(own: &Own, authorities: &str, provider: &Provider) -> Result<ServerConfig, TlsError> {
    let failed = |error: Error| TlsError::new(own.to_string(), error.to_string());
    let builder = ServerConfig::builder_with_provider(Arc::clone(provider))
        .with_safe_default_protocol_versions()
        .map_err(failed)?;
    let builder = if authorities.is_empty() {
        builder.with_no_client_auth()
    } else {
        let roots = Arc::new(files::authorities(authorities, "")?);
        let verifier = WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(provider))
            .allow_unauthenticated()
            .build()
            .map_err(|error| TlsError::new(authorities, error.to_string()))?;
        builder.with_client_cert_verifier(verifier)
    };
    let key = certified_key(own, provider).map_err(failed)?;
    let mut config = builder.with_cert_resolver(Arc::new(SingleCertAndKey::from(key)));
    config.send_tls13_tickets = TICKETS;
    Ok(config)
}

fn certified_key(own: &Own, provider: &Provider) -> Result<CertifiedKey, Error> {
    let (chain, key) = (own.chain.clone(), own.key.clone_key());
    match CertifiedKey::from_der(chain, key, provider) {
        // Not X.509 v3: whether the key belongs to it cannot be seen, and it is up to the clients
        // to like it.
        Err(Error::InvalidCertificate(error)) => {
            tracing::warn!(certificate = %own, %error, "an unusual certificate; clients may refuse it");
            let key = provider.key_provider.load_private_key(own.key.clone_key())?;
            Ok(CertifiedKey::new(own.chain.clone(), key))
        }
        outcome => outcome,
    }
}
