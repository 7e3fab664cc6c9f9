//! Certificates for tests: an authority, what it vouches for, and clients that believe it, another
//! authority, or all.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{BasicConstraints, Certificate, CertificateParams, DnType, IsCa, Issuer, KeyPair, SanType};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// An authority that vouches for what a test wants.
#[derive(Debug)]
pub struct Authority {
    certificate: Certificate,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key, as files.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The certificate, PEM.
    pub cert: PathBuf,
    /// The key, PEM.
    pub key: PathBuf,
}

impl Authority {
    /// An authority called `name`.
    ///
    /// # Errors
    /// When there are no random numbers.
    pub fn new(name: &str) -> anyhow::Result<Self> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key)?;
        Ok(Self { certificate, issuer: Issuer::new(params, key) })
    }

    /// Its certificate, as a file in `folder`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, folder: &Path) -> anyhow::Result<PathBuf> {
        let path = folder.join("ca.pem");
        std::fs::write(&path, self.certificate.pem())?;
        Ok(path)
    }

    /// A certificate for these names, IP addresses and URIs (what has `://` in it), as files called
    /// `name` in `folder`.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn issue(&self, folder: &Path, name: &str, subjects: &[&str]) -> anyhow::Result<Identity> {
        let (certificate, key) = self.certificate(name, subjects)?;
        write(folder, name, &certificate.pem(), &key)
    }

    /// The same as X.509 v1, which has no names but the common one.
    ///
    /// # Errors
    /// As [`issue`](Self::issue).
    pub fn issue_v1(&self, folder: &Path, name: &str) -> anyhow::Result<Identity> {
        let (certificate, key) = self.certificate(name, &[])?;
        let signing =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &self.issuer.key().serialize_der())?;
        let der = without_extensions(certificate.der(), &signing)?;
        let pem = format!(
            "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n",
            STANDARD
                .encode(der)
                .as_bytes()
                .chunks(64)
                .map(String::from_utf8_lossy)
                .collect::<Vec<_>>()
                .join("\n")
        );
        write(folder, name, &pem, &key)
    }

    fn certificate(&self, name: &str, subjects: &[&str]) -> anyhow::Result<(Certificate, KeyPair)> {
        let key = KeyPair::generate()?;
        let (uris, names): (Vec<&str>, Vec<&str>) =
            subjects.iter().copied().partition(|subject| subject.contains("://"));
        let mut params = CertificateParams::new(names.into_iter().map(str::to_owned).collect::<Vec<_>>())?;
        for uri in uris {
            params.subject_alt_names.push(SanType::URI(uri.try_into()?));
        }
        params.distinguished_name.push(DnType::CommonName, name);
        Ok((params.signed_by(&key, &self.issuer)?, key))
    }

    /// A client that believes this authority only, and shows `identity` if it is asked.
    ///
    /// # Errors
    /// When the files of `identity` cannot be read.
    pub fn client(&self, identity: Option<&Identity>) -> anyhow::Result<Arc<ClientConfig>> {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.der().clone())?;
        let builder = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots);
        Ok(Arc::new(match identity {
            None => builder.with_no_client_auth(),
            Some(Identity { cert, key }) => {
                use rustls::pki_types::pem::PemObject as _;
                let chain = vec![CertificateDer::from_pem_file(cert)?];
                builder.with_client_auth_cert(chain, PrivateKeyDer::from_pem_file(key)?)?
            }
        }))
    }
}

fn write(folder: &Path, name: &str, cert_pem: &str, key: &KeyPair) -> anyhow::Result<Identity> {
    let [cert, key_file] = ["cert", "key"].map(|what| folder.join(format!("{name}-{what}.pem")));
    std::fs::write(&cert, cert_pem)?;
    std::fs::write(&key_file, key.serialize_pem())?;
    Ok(Identity { cert, key: key_file })
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::aws_lc_rs::default_provider())
}

/// A client that believes every server, with this version of TLS only, or with any.
///
/// # Errors
/// Never, as far as is known.
pub fn believer(
    version: Option<&'static rustls::SupportedProtocolVersion>,
) -> anyhow::Result<Arc<ClientConfig>> {
    let builder = ClientConfig::builder_with_provider(provider());
    let builder = match version {
        Some(version) => builder.with_protocol_versions(&[version])?,
        None => builder.with_safe_default_protocol_versions()?,
    };
    let config =
        builder.dangerous().with_custom_certificate_verifier(Arc::new(Everybody)).with_no_client_auth();
    Ok(Arc::new(config))
}

/// Believes all servers.
#[derive(Debug)]
struct Everybody;

impl ServerCertVerifier for Everybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        rustls::crypto::verify_tls12_signature(
            message,
            cert,
            dss,
            &provider().signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        rustls::crypto::verify_tls13_signature(
            message,
            cert,
            dss,
            &provider().signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        provider().signature_verification_algorithms.supported_schemes()
    }
}

/// DER's tags that matter here.
const SEQUENCE: u8 = 0x30;
const BIT_STRING: u8 = 0x03;
/// The version and the extensions in a certificate: fields 0 and 3 (RFC 5280, section 4.1).
const NOT_IN_V1: [u8; 2] = [0xa0, 0xa3];

/// The certificate as X.509 v1: without version and extensions, signed anew.
fn without_extensions(der: &[u8], issuer: &EcdsaKeyPair) -> anyhow::Result<Vec<u8>> {
    let (certificate, _) = element(der)?;
    let (body, rest) = element(content(certificate)?)?;
    let (algorithm, _) = element(rest)?;
    let (mut fields, mut left) = (Vec::new(), content(body)?);
    while !left.is_empty() {
        let (field, rest) = element(left)?;
        if !field.first().is_some_and(|tag| NOT_IN_V1.contains(tag)) {
            fields.extend_from_slice(field);
        }
        left = rest;
    }
    let body = encode(SEQUENCE, &fields);
    let signature = issuer.sign(&SystemRandom::new(), &body)?;
    let signature = encode(BIT_STRING, &[&[0], signature.as_ref()].concat());
    Ok(encode(SEQUENCE, &[&body, algorithm, &signature].concat()))
}

/// The first element, header and all, and what follows it.
fn element(der: &[u8]) -> anyhow::Result<(&[u8], &[u8])> {
    let (header, len) = header(der)?;
    der.split_at_checked(header + len).ok_or_else(|| anyhow::anyhow!("truncated DER"))
}

fn content(element: &[u8]) -> anyhow::Result<&[u8]> {
    let (header, _) = header(element)?;
    Ok(element.get(header..).unwrap_or_default())
}

/// Bytes of an element's header and of its content.
fn header(der: &[u8]) -> anyhow::Result<(usize, usize)> {
    match der {
        [_, len @ 0..=0x7f, ..] => Ok((2, usize::from(*len))),
        [_, 0x81, len, ..] => Ok((3, usize::from(*len))),
        [_, 0x82, high, low, ..] => Ok((4, usize::from(u16::from_be_bytes([*high, *low])))),
        _ => anyhow::bail!("no DER"),
    }
}

fn encode(tag: u8, content: &[u8]) -> Vec<u8> {
    let [high, low] = u16::try_from(content.len()).unwrap_or(u16::MAX).to_be_bytes();
    let header: &[u8] = match (high, low) {
        (0, 0..=0x7f) => &[tag, low],
        (0, _) => &[tag, 0x81, low],
        _ => &[tag, 0x82, high, low],
    };
    [header, content].concat()
}
