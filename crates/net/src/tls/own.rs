//! The certificate that clients are shown, and where it comes from.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::files::{self, TlsError};
use super::{Settings, generate};

/// The files in `datadir` that are looked for, best first: ours, and those that ProxySQL has made.
const IN_DATADIR: [[&str; 2]; 2] =
    [[generate::CERT_FILE, generate::KEY_FILE], ["proxysql-cert.pem", "proxysql-key.pem"]];

/// A certificate with its chain, and its key. Displayed as where it comes from.
#[derive(Debug, Clone)]
pub(super) struct Own {
    pub(super) chain: Vec<CertificateDer<'static>>,
    pub(super) key: Arc<PrivateKeyDer<'static>>,
    origin: Origin,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Origin {
    File(PathBuf),
    Memory,
}

impl fmt::Display for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            Origin::File(path) => path.display().fmt(f),
            Origin::Memory => f.write_str("made by the proxy, in memory only"),
        }
    }
}

impl Own {
    /// The configured certificate, else one that is there, else a new one.
    pub(super) fn find(settings: &Settings, before: Option<&Self>) -> Result<Self, TlsError> {
        if let Some(own) = Self::read(settings)? {
            return Ok(own);
        }
        if let Some(own) = before.filter(|own| own.origin == Origin::Memory) {
            return Ok(own.clone());
        }
        let made = generate::certificate()
            .map_err(|error| TlsError::new("a certificate of the proxy's own", error.to_string()))?;
        if !settings.datadir.is_empty() {
            let folder = Path::new(&settings.datadir);
            match generate::write(&made, folder) {
                Ok(()) => {
                    tracing::info!(folder = %folder.display(), "made a certificate, a key and an authority for TLS");
                    return Self::from_files(
                        &folder.join(generate::CERT_FILE),
                        &folder.join(generate::KEY_FILE),
                    );
                }
                // Clients that do not verify, which is the default of most, can be served without
                // files.
                Err(error) => tracing::warn!(%error, "the certificate for TLS is kept in memory only"),
            }
        }
        Ok(Self { chain: made.chain, key: Arc::new(made.key), origin: Origin::Memory })
    }

    /// The configured certificate, else one that is there.
    pub(super) fn read(settings: &Settings) -> Result<Option<Self>, TlsError> {
        match (settings.cert.as_str(), settings.key.as_str()) {
            ("", "") => Self::in_datadir(&settings.datadir),
            (_, "") => Err(TlsError::new("pointsman_variables.tls_key", "must be set, because tls_cert is")),
            ("", _) => Err(TlsError::new("pointsman_variables.tls_cert", "must be set, because tls_key is")),
            (cert, key) => Self::from_files(Path::new(cert), Path::new(key)).map(Some),
        }
    }

    fn in_datadir(datadir: &str) -> Result<Option<Self>, TlsError> {
        if datadir.is_empty() {
            return Ok(None);
        }
        for names in IN_DATADIR {
            let [cert, key] = names.map(|name| Path::new(datadir).join(name));
            // One without the other is an error that names the missing one.
            if cert.exists() || key.exists() {
                return Self::from_files(&cert, &key).map(Some);
            }
        }
        Ok(None)
    }

    fn from_files(cert: &Path, key: &Path) -> Result<Self, TlsError> {
        let (chain, origin) = (files::certificates(cert)?, Origin::File(cert.to_owned()));
        Ok(Self { chain, key: Arc::new(files::key(key)?), origin })
    }
}
