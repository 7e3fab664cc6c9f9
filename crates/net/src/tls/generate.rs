//! A certificate of the proxy's own, and an authority that vouches for it: for operators who have
//! none.

use std::fs::File;
use std::io::{self, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, Issuer, KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, SanType, date_time_ymd,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::clock::unix_s;

/// The certificate, in `datadir`.
pub(super) const CERT_FILE: &str = "pointsman-cert.pem";
/// Its key.
pub(super) const KEY_FILE: &str = "pointsman-key.pem";
/// The authority, for clients that want to verify the certificate. Its key is forgotten: it vouches
/// for nothing else.
pub(super) const CA_FILE: &str = "pointsman-ca.pem";

/// Years that a new certificate is good for, as in MySQL's own.
const YEARS: i32 = 10;

/// A new certificate.
pub(super) struct Made {
    pub(super) chain: Vec<CertificateDer<'static>>,
    pub(super) key: PrivateKeyDer<'static>,
    /// The files that it is kept in: names, contents, and who may read them.
    files: [(&'static str, String, u32); 3],
}

/// Makes an authority and a certificate for this machine. Takes less than a millisecond.
pub(super) fn certificate() -> Result<Made, rcgen::Error> {
    let ca_key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let mut params = params("Pointsman_Auto_Generated_CA_Certificate");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let ca = params.self_signed(&ca_key)?;
    let issuer = Issuer::new(params, ca_key);
    let (certificate, key) = server(&issuer)?;
    let files = [
        (KEY_FILE, key.serialize_pem(), 0o600),
        (CERT_FILE, certificate.pem(), 0o644),
        (CA_FILE, ca.pem(), 0o644),
    ];
    let key = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
    Ok(Made { chain: vec![certificate.der().clone()], key, files })
}

fn server(issuer: &Issuer<'_, KeyPair>) -> Result<(Certificate, KeyPair), rcgen::Error> {
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let mut params = params("Pointsman_Auto_Generated_Server_Certificate");
    for ip in [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)] {
        params.subject_alt_names.push(SanType::IpAddress(ip));
    }
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    for name in ["localhost", host.trim()] {
        // A host name that no certificate can have is left out.
        if let Some(name) = name.to_owned().try_into().ok().filter(|_| !name.is_empty()) {
            params.subject_alt_names.push(SanType::DnsName(name));
        }
    }
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    Ok((params.signed_by(&key, issuer)?, key))
}

fn params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    let year = this_year();
    // Good since a year ago, because clocks differ.
    (params.not_before, params.not_after) =
        (date_time_ymd(year - 1, 1, 1), date_time_ymd(year + YEARS, 1, 1));
    params
}

/// The year, give or take a day.
fn this_year() -> i32 {
    const SECONDS_PER_YEAR: u64 = 31_556_952;
    let seconds = unix_s();
    i32::try_from(1970 + seconds / SECONDS_PER_YEAR).unwrap_or(1970)
}

/// Writes the files into `folder`. Never overwrites one; when one is there already, or something
/// fails, there are as many as before.
pub(super) fn write(made: &Made, folder: &Path) -> io::Result<()> {
    let mut written = Vec::new();
    for (name, content, mode) in &made.files {
        let path = folder.join(name);
        let mut create = || -> io::Result<()> {
            let mut file = File::options().write(true).create_new(true).mode(*mode).open(&path)?;
            written.push(path.clone());
            file.write_all(content.as_bytes())
        };
        if let Err(error) = create() {
            for path in written {
                let _ = std::fs::remove_file(path);
            }
            return Err(io::Error::new(error.kind(), format!("{}: {error}", path.display())));
        }
    }
    Ok(())
}
