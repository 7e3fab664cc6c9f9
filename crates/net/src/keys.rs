//! The RSA key pair of the proxy, and the two RSA steps of `caching_sha2_password` and
//! `sha256_password`.
//!
//! On an unencrypted connection the client encrypts its password with the server's public key
//! (RSA-OAEP with SHA-1, see "`caching_sha2_password` information" in MySQL's source
//! documentation). The pair is made at start in the background, because that takes longer than
//! everything else together, and lives in memory only.

use std::sync::Arc;

use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::rsa::{
    OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, OaepPublicEncryptingKey, PrivateDecryptingKey,
    PublicEncryptingKey,
};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use tokio::runtime::Handle;
use tokio::sync::OnceCell;

use crate::limits::RSA_KEY_SIZE;

const PEM_BEGIN: &str = "-----BEGIN PUBLIC KEY-----\n";
const PEM_END: &str = "-----END PUBLIC KEY-----\n";

/// The proxy's key pair, which may still be in the making, and the runtime for heavy steps.
#[derive(Debug, Clone)]
pub struct Keys {
    pair: Arc<OnceCell<KeyPair>>,
    control: Handle,
}

/// A key pair, ready for use.
#[derive(Debug, Clone)]
pub struct KeyPair {
    decrypting: Arc<OaepPrivateDecryptingKey>,
    public_pem: Arc<[u8]>,
}

/// Why there is no key, or a password could not be encrypted or decrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("RSA: {0}")]
pub struct RsaError(&'static str);

impl Keys {
    /// Keys that are made on first use, on `control`'s blocking threads.
    pub fn new(control: &Handle) -> Self {
        Self { pair: Arc::new(OnceCell::new()), control: control.clone() }
    }

    /// Starts to make them now, so that no login has to wait.
    pub fn make_ready(&self) {
        let making = self.clone();
        self.control.spawn(async move {
            if let Err(error) = making.pair().await {
                tracing::error!(%error, "no key for caching_sha2_password");
            }
        });
    }

    /// The pair; waits while it is made.
    pub async fn pair(&self) -> Result<KeyPair, RsaError> {
        let make = || async { self.off_thread(KeyPair::generate).await? };
        self.pair.get_or_try_init(make).await.cloned()
    }

    /// The runtime of what is not a session.
    pub const fn control(&self) -> &Handle {
        &self.control
    }

    /// Runs a step that takes longer than a worker may stop for.
    pub async fn off_thread<T: Send + 'static>(
        &self,
        step: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, RsaError> {
        self.control.spawn_blocking(step).await.map_err(|_| RsaError("the control runtime has stopped"))
    }
}

impl KeyPair {
    fn generate() -> Result<Self, RsaError> {
        let private =
            PrivateDecryptingKey::generate(RSA_KEY_SIZE).map_err(|_| RsaError("key generation failed"))?;
        let der = AsDer::<PublicKeyX509Der>::as_der(&private.public_key())
            .map_err(|_| RsaError("the public key cannot be encoded"))?;
        let decrypting =
            OaepPrivateDecryptingKey::new(private).map_err(|_| RsaError("key unusable for OAEP"))?;
        Ok(Self { decrypting: Arc::new(decrypting), public_pem: pem(der.as_ref()).into() })
    }

    /// The public key as clients expect it: PEM.
    pub fn public_pem(&self) -> &[u8] {
        &self.public_pem
    }

    /// Decrypts what a client encrypted; `None` if it was not encrypted with this key.
    pub fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        let mut plain = vec![0; self.decrypting.min_output_size()];
        self.decrypting
            .decrypt(&OAEP_SHA1_MGF1SHA1, cipher, &mut plain, None)
            .ok()
            .map(|plain| plain.to_vec())
    }
}

/// Encrypts a masked password with a server's public key.
pub fn encrypt(public_key_pem: &[u8], masked: &[u8]) -> Result<Vec<u8>, RsaError> {
    let der = der(public_key_pem).ok_or(RsaError("the server's public key is no PEM"))?;
    let key =
        PublicEncryptingKey::from_der(&der).map_err(|_| RsaError("the server's public key is no RSA key"))?;
    let key = OaepPublicEncryptingKey::new(key).map_err(|_| RsaError("key unusable for OAEP"))?;
    let mut cipher = vec![0; key.ciphertext_size()];
    let cipher = key
        .encrypt(&OAEP_SHA1_MGF1SHA1, masked, &mut cipher, None)
        .map_err(|_| RsaError("the password is too long for the server's key"))?;
    Ok(cipher.to_vec())
}

/// PEM of a DER-encoded public key, in lines of 64 characters.
fn pem(der: &[u8]) -> Vec<u8> {
    let mut out = PEM_BEGIN.as_bytes().to_vec();
    for line in BASE64_STANDARD.encode(der).as_bytes().chunks(64) {
        out.extend_from_slice(line);
        out.push(b'\n');
    }
    out.extend_from_slice(PEM_END.as_bytes());
    out
}

/// The DER inside a PEM text; `None` if it is none.
fn der(pem: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(pem).ok()?;
    let (_, rest) = text.split_once(PEM_BEGIN.trim_end())?;
    let (body, _) = rest.split_once(PEM_END.trim_end())?;
    let body: String = body.split_ascii_whitespace().collect();
    BASE64_STANDARD.decode(body).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encrypted_with_the_public_key_can_be_decrypted() {
        let pair = KeyPair::generate().unwrap();
        let cipher = encrypt(pair.public_pem(), b"masked password").unwrap();
        assert_eq!(pair.decrypt(&cipher).as_deref(), Some(&b"masked password"[..]));
    }

    #[test]
    fn foreign_bytes_do_not_decrypt() {
        let pair = KeyPair::generate().unwrap();
        assert_eq!(pair.decrypt(&[7; 256]), None);
        assert_eq!(pair.decrypt(b"short"), None);
    }

    #[test]
    fn pem_round_trips_at_every_length() {
        for len in 0..70_u8 {
            let bytes: Vec<u8> = (0..len).collect();
            assert_eq!(der(&pem(&bytes)), Some(bytes));
        }
    }

    #[test]
    fn a_key_that_is_no_pem_is_refused() {
        assert!(encrypt(b"not a key", b"x").is_err());
        assert!(encrypt(&pem(b"not a key"), b"x").is_err());
    }
}
