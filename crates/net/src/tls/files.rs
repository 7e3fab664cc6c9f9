//! PEM files, and folders of them.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};

use crate::limits::PEM_FILE_BYTES_MAX;

/// What is wrong with a file or a setting of TLS.
#[derive(Debug, thiserror::Error)]
#[error("TLS: {subject}: {problem}")]
pub struct TlsError {
    /// The file, or the setting.
    subject: String,
    problem: String,
}

impl TlsError {
    pub(super) fn new(subject: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { subject: subject.into(), problem: problem.into() }
    }

    pub(super) fn at(path: &Path, problem: impl std::fmt::Display) -> Self {
        Self { subject: path.display().to_string(), problem: problem.to_string() }
    }
}

/// The content of a file.
fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    let failed = |error: std::io::Error| TlsError::at(path, format_args!("cannot be read: {error}"));
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(PEM_FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > PEM_FILE_BYTES_MAX {
        return Err(TlsError::at(path, format_args!("has more than {PEM_FILE_BYTES_MAX} bytes")));
    }
    Ok(bytes)
}

/// All objects of one kind in a PEM file; at least one. `what` names the kind.
fn objects<T: PemObject>(path: &Path, what: &str) -> Result<Vec<T>, TlsError> {
    let bytes = read(path)?;
    let objects: Result<Vec<T>, _> = T::pem_slice_iter(&bytes).collect();
    let objects = objects.map_err(|error| TlsError::at(path, format_args!("is not valid PEM: {error}")))?;
    if objects.is_empty() {
        return Err(TlsError::at(path, format_args!("has no PEM {what}")));
    }
    Ok(objects)
}

/// The certificates of a file, in order.
pub(super) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    objects(path, "certificate")
}

/// The first private key of a file.
pub(super) fn key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let keys = objects::<PrivateKeyDer<'static>>(path, "private key without a passphrase")?;
    keys.into_iter().next().ok_or_else(|| TlsError::at(path, "has no key"))
}

/// The authorities in a file and in the files of a folder, each unless empty.
pub(super) fn authorities(file: &str, folder: &str) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    let mut add = |path: &Path| {
        for certificate in certificates(path)? {
            roots.add(certificate).map_err(|error| TlsError::at(path, error))?;
        }
        Ok(())
    };
    for path in paths(file, folder, b"-----BEGIN CERTIFICATE-----")? {
        add(&path)?;
    }
    Ok(roots)
}

/// The lists of revoked certificates in a file and in the files of a folder, each unless empty.
pub(super) fn revoked(
    file: &str,
    folder: &str,
) -> Result<Vec<CertificateRevocationListDer<'static>>, TlsError> {
    let mut lists = Vec::new();
    for path in paths(file, folder, b"-----BEGIN X509 CRL-----")? {
        lists.extend(objects(&path, "list of revoked certificates")?);
    }
    Ok(lists)
}

/// The file, and those of the folder that hold `mark`: a folder of authorities may hold lists of
/// revoked certificates, too. At least one, if either is given.
fn paths(file: &str, folder: &str, mark: &[u8]) -> Result<Vec<PathBuf>, TlsError> {
    let mut paths = Vec::new();
    if !file.is_empty() {
        paths.push(PathBuf::from(file));
    }
    if !folder.is_empty() {
        let folder = Path::new(folder);
        let failed = |error: std::io::Error| TlsError::at(folder, format_args!("cannot be listed: {error}"));
        let before = paths.len();
        for entry in std::fs::read_dir(folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.is_file() && read(&path)?.windows(mark.len()).any(|window| window == mark) {
                paths.push(path);
            }
        }
        if paths.len() == before {
            return Err(TlsError::at(folder, "has no suitable PEM file"));
        }
    }
    Ok(paths)
}
