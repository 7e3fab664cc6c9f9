//! What TLS is made with, towards clients and towards servers: certificates, keys, authorities,
//! from files to rustls.
//!
//! All of it is read at start, where anything wrong with it is an error, and again on request
//! ([`Tls::reload`]) or when the configuration names other files ([`Tls::prepare`]), where anything
//! wrong leaves what was there. Connections keep what they began with.
//!
//! - `files`: PEM files and folders of them;
//! - `own`: the certificate that clients are shown, and where it comes from;
//! - `generate`: a certificate of our own, where there is none;
//! - `to_clients`, `to_servers`: what a handshake needs;
//! - `any_server`: the verifier that accepts every server;
//! - `validity`: until when a certificate is valid;
//! - `ciphers`: OpenSSL's names of cipher suites.

mod any_server;
mod ciphers;
mod files;
mod generate;
mod own;
mod to_clients;
mod to_servers;
mod validity;

use std::sync::{Arc, PoisonError, RwLock};

use config::{Config, Endpoint, TlsParams};
use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;

use crate::sock::tls::Role;
pub(crate) use ciphers::name_of;
pub use files::TlsError;
use own::Own;
use to_servers::ToServers;

/// TLS as it is configured, and what was made of it.
#[derive(Debug)]
pub struct Tls {
    /// Read when a connection begins; written when an operator asks for it.
    state: RwLock<TlsChange>,
}

/// What the configuration says about TLS and what was made of it, as one to be used from now on.
#[derive(Debug, Clone)]
pub struct TlsChange {
    settings: Settings,
    current: Current,
}

/// What the configuration says about TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Settings {
    have_ssl: bool,
    datadir: String,
    cert: String,
    key: String,
    ca: String,
    /// The variables `ssl_p2s_...`.
    to_servers: TlsParams,
    /// The rows of `mysql_servers_ssl_params`.
    rows: Vec<config::ServerTls>,
}

/// What new connections use.
#[derive(Debug, Clone)]
struct Current {
    /// The certificate that clients are shown, and what a handshake with them needs; `None` if they
    /// are offered no TLS.
    to_clients: Option<(Own, Arc<ServerConfig>)>,
    to_servers: Arc<ToServers>,
}

impl Current {
    fn own(&self) -> Option<&Own> {
        self.to_clients.as_ref().map(|(own, _)| own)
    }
}

impl Settings {
    fn new(config: &Config) -> Self {
        Self {
            have_ssl: config.variables.have_ssl,
            datadir: config.datadir.clone(),
            cert: config.pointsman.tls_cert.clone(),
            key: config.pointsman.tls_key.clone(),
            ca: config.pointsman.tls_ca.clone(),
            to_servers: config.variables.tls_to_servers(),
            rows: config.server_tls.clone(),
        }
    }

    /// Reads all files. A certificate that was made in memory stays the same.
    fn load(&self, before: Option<&Own>) -> Result<Current, TlsError> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let to_clients = if self.have_ssl {
            let own = Own::find(self, before)?;
            let config = to_clients::config(&own, &self.ca, &provider)?;
            Some((own, Arc::new(config)))
        } else {
            None
        };
        let to_servers = Arc::new(ToServers::new(&self.to_servers, &self.rows, &provider)?);
        Ok(Current { to_clients, to_servers })
    }
}

impl Tls {
    /// Reads what `config` names, or makes what it does not.
    pub fn new(config: &Config) -> Result<Self, TlsError> {
        let settings = Settings::new(config);
        let current = settings.load(None)?;
        Ok(Self { state: RwLock::new(TlsChange { settings, current }) })
    }

    /// Reads all files again; says where the certificate for clients comes from.
    pub fn reload(&self) -> Result<String, TlsError> {
        let TlsChange { settings, current } = self.state();
        let current = settings.load(current.own())?;
        let what = match &current.to_clients {
            Some((own, _)) => own.to_string(),
            None => "none, mysql-have_ssl is false".to_owned(),
        };
        self.change(TlsChange { settings, current });
        Ok(what)
    }

    /// What `config` changes about TLS. Files are read if it names others than before, and only
    /// then.
    pub fn prepare(&self, config: &Config) -> Result<Option<TlsChange>, TlsError> {
        let (settings, before) = (Settings::new(config), self.state());
        if settings == before.settings {
            return Ok(None);
        }
        let current = settings.load(before.current.own())?;
        Ok(Some(TlsChange { settings, current }))
    }

    /// Connections that begin use this from now on.
    pub fn change(&self, change: TlsChange) {
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = change;
    }

    fn state(&self) -> TlsChange {
        self.state.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn current(&self) -> Current {
        self.state.read().unwrap_or_else(PoisonError::into_inner).current.clone()
    }

    /// What TLS servers need that show clients the certificate of the proxy; `None` if clients are
    /// offered no TLS.
    pub fn server_config(&self) -> Option<Arc<ServerConfig>> {
        self.current().to_clients.map(|(_, config)| config)
    }

    /// Until when the certificate is valid that clients are shown, in seconds of Unix time; `None`
    /// if clients are offered no TLS.
    pub fn certificate_end(&self) -> Option<u64> {
        let (own, _) = self.current().to_clients?;
        validity::not_after(own.chain.first()?)
    }

    /// The proxy's side of a handshake with a client; `None` if clients are offered no TLS.
    pub fn to_client(&self) -> Option<Role> {
        self.server_config().map(Role::Server)
    }

    /// The proxy's side of a handshake with a server; an error if its host can have no certificate.
    pub fn to_server(&self, endpoint: &Endpoint, user: &[u8]) -> Result<Role, String> {
        self.current().to_servers.role(endpoint, user)
    }
}

/// Says what is wrong with the files that `config` names. Makes none.
pub fn check(config: &Config) -> Result<(), TlsError> {
    let settings = Settings::new(config);
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    if settings.have_ssl
        && let Some(own) = Own::read(&settings)?
    {
        to_clients::config(&own, &settings.ca, &provider)?;
    }
    ToServers::new(&settings.to_servers, &settings.rows, &provider).map(drop)
}

/// The cryptography of all connections.
type Provider = Arc<CryptoProvider>;
