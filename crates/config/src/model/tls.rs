//! TLS to servers: files and cipher suites.

use crate::row::from_row;
use crate::schema::MYSQL_SERVERS_SSL_PARAMS;

/// What TLS to a server uses. Each is empty if it is not set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TlsParams {
    /// File of certificate authorities.
    pub ca: String,
    /// Folder of certificate authorities.
    pub capath: String,
    /// File of the certificate that the server is shown.
    pub cert: String,
    /// File of its key.
    pub key: String,
    /// Cipher suites: names of OpenSSL, separated by `:`.
    pub cipher: String,
    /// File of revoked certificates.
    pub crl: String,
    /// Folder of revoked certificates.
    pub crlpath: String,
}

/// A row of `mysql_servers_ssl_params`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerTls {
    /// The server, as in `mysql_servers`.
    pub hostname: String,
    /// Its port.
    pub port: u16,
    /// The user; empty: any.
    pub username: String,
    /// See [`TlsParams::ca`]; the next ones correspond, too.
    pub ssl_ca: String,
    /// See [`TlsParams::capath`].
    pub ssl_capath: String,
    /// See [`TlsParams::cert`].
    pub ssl_cert: String,
    /// See [`TlsParams::key`].
    pub ssl_key: String,
    /// See [`TlsParams::cipher`].
    pub ssl_cipher: String,
    /// See [`TlsParams::crl`].
    pub ssl_crl: String,
    /// See [`TlsParams::crlpath`].
    pub ssl_crlpath: String,
    /// Free text.
    pub comment: String,
}

from_row!(ServerTls, MYSQL_SERVERS_SSL_PARAMS, {
    hostname,
    port,
    username,
    ssl_ca,
    ssl_capath,
    ssl_cert,
    ssl_key,
    ssl_cipher,
    ssl_crl,
    ssl_crlpath,
    comment,
});

impl ServerTls {
    /// What the row says about TLS.
    pub fn params(&self) -> TlsParams {
        TlsParams {
            ca: self.ssl_ca.clone(),
            capath: self.ssl_capath.clone(),
            cert: self.ssl_cert.clone(),
            key: self.ssl_key.clone(),
            cipher: self.ssl_cipher.clone(),
            crl: self.ssl_crl.clone(),
            crlpath: self.ssl_crlpath.clone(),
        }
    }
}
