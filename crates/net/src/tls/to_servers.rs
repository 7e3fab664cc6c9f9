//! What handshakes with servers need: one setting for all, and others for single servers and users.

use std::sync::Arc;

use config::{Endpoint, ServerTls, TlsParams};
use rustls::ClientConfig;
use rustls::client::{Resumption, WebPkiServerVerifier, danger::ServerCertVerifier};
use rustls::pki_types::ServerName;

use super::any_server::AnyServer;
use super::files::{self, TlsError};
use super::{Provider, ciphers};
use crate::sock::tls::Role;
use std::path::Path;

/// The name that a certificate must have when the server is reached by a Unix socket.
const LOCAL: &str = "localhost";

/// TLS to all servers that there are.
#[derive(Debug)]
pub(super) struct ToServers {
    usual: Arc<ClientConfig>,
    /// Host, port, user (empty: any), and what is used instead.
    special: Vec<(String, u16, String, Arc<ClientConfig>)>,
}

impl ToServers {
    /// Reads the files that the variables and the rows name.
    pub(super) fn new(usual: &TlsParams, rows: &[ServerTls], provider: &Provider) -> Result<Self, TlsError> {
        let special = |row: &ServerTls| {
            let config = config(&row.params(), "mysql_servers_ssl_params.ssl_", provider)?;
            Ok((row.hostname.clone(), row.port, row.username.clone(), Arc::new(config)))
        };
        Ok(Self {
            usual: Arc::new(config(usual, "mysql-ssl_p2s_", provider)?),
            special: rows.iter().map(special).collect::<Result<_, TlsError>>()?,
        })
    }

    /// The proxy's side of a handshake with the server at `endpoint`, as `user`.
    pub(super) fn role(&self, endpoint: &Endpoint, user: &[u8]) -> Result<Role, String> {
        let (host, port) = match endpoint {
            Endpoint::Tcp { host, port } => (host.as_str(), *port),
            Endpoint::Unix(path) => (path.to_str().unwrap_or_default(), 0),
        };
        let of = |name: &[u8]| {
            let is_it =
                |row: &&(String, u16, String, _)| row.0 == host && row.1 == port && row.2.as_bytes() == name;
            self.special.iter().find(is_it).map(|row| &row.3)
        };
        let config = of(user).or_else(|| of(b"")).unwrap_or(&self.usual);
        let name = match endpoint {
            Endpoint::Tcp { .. } => host.split('%').next().unwrap_or_default(),
            Endpoint::Unix(_) => LOCAL,
        };
        let name = ServerName::try_from(name.to_owned())
            .map_err(|_| format!("no certificate can be for a host called '{name}'"))?;
        Ok(Role::Client(Arc::clone(config), name))
    }
}

/// What a handshake needs; `prefix` is how the settings are called.
fn config(params: &TlsParams, prefix: &str, provider: &Provider) -> Result<ClientConfig, TlsError> {
    let provider = ciphers::choose(&params.cipher, &format!("{prefix}cipher"), provider);
    let failed = |error: rustls::Error| TlsError::new(format!("{prefix}cipher"), error.to_string());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(failed)?
        .dangerous()
        .with_custom_certificate_verifier(verifier(params, prefix, &provider)?);
    let mut config = match (params.cert.as_str(), params.key.as_str()) {
        ("", "") => builder.with_no_client_auth(),
        (_, "") => {
            return Err(TlsError::new(format!("{prefix}key"), "must be set, because the certificate is"));
        }
        ("", _) => return Err(TlsError::new(format!("{prefix}cert"), "must be set, because the key is")),
        (cert, key) => {
            let (chain, key) = (files::certificates(Path::new(cert))?, files::key(Path::new(key))?);
            builder.with_client_auth_cert(chain, key).map_err(|error| TlsError::at(Path::new(cert), error))?
        }
    };
    // Connections live long, and servers of several addresses share a name: a session would often
    // be offered to a server that has never seen it.
    config.resumption = Resumption::disabled();
    Ok(config)
}

/// Who judges a server's certificate: with authorities their chain and the host's name count,
/// without them nothing.
fn verifier(
    params: &TlsParams,
    prefix: &str,
    provider: &Provider,
) -> Result<Arc<dyn ServerCertVerifier>, TlsError> {
    let roots = files::authorities(&params.ca, &params.capath)?;
    let revoked = files::revoked(&params.crl, &params.crlpath)?;
    if roots.is_empty() {
        if !revoked.is_empty() {
            return Err(TlsError::new(
                format!("{prefix}crl"),
                "is of no use without authorities (ca or capath)",
            ));
        }
        return Ok(Arc::new(AnyServer::new(provider)));
    }
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
        .with_crls(revoked)
        .enforce_revocation_expiration()
        .build()
        .map(|verifier| verifier as _)
        .map_err(|error| TlsError::new(format!("{prefix}ca"), error.to_string()))
}
