//! A certificate authority for one run, and what it has signed: the certificate that servers and
//! proxies show.

use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

/// Files in PEM.
#[derive(Debug)]
pub(crate) struct Certificates {
    /// The certificate of the authority.
    pub(crate) ca: PathBuf,
    /// The certificate of `localhost` and 127.0.0.1.
    pub(crate) certificate: PathBuf,
    /// Its key.
    pub(crate) key: PathBuf,
}

impl Certificates {
    /// Writes the files into a folder.
    pub(crate) fn write(folder: &Path) -> Self {
        let key = || KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "the authority of a test");
        let authority = CertifiedIssuer::self_signed(params, key()).unwrap();
        let mut params = CertificateParams::new(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, "localhost");
        let server_key = key();
        let certificate = params.signed_by(&server_key, &authority).unwrap();
        let write = |name: &str, pem: &str| {
            let path = folder.join(name);
            std::fs::write(&path, pem).unwrap();
            path
        };
        Self {
            ca: write("ca.pem", &authority.pem()),
            certificate: write("certificate.pem", &certificate.pem()),
            key: write("key.pem", &server_key.serialize_pem()),
        }
    }
}
