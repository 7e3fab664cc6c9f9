//! What TLS needs: the folder in which Pointsman keeps a certificate, and clients that use it.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use testkit::guard::Sandbox;
use testkit::mariadb::{PASSWORD, USER};
use wire::auth::native;
use wire::frame::{HEADER_LEN, Header, put_packet};
use wire::{Capabilities, Codec as _, packet};

/// What Pointsman makes at its first start, and the names that sysbench wants in the folder it runs
/// in.
const FILES: [(&str, &str); 3] = [
    ("pointsman-ca.pem", "cacert.pem"),
    ("pointsman-cert.pem", "client-cert.pem"),
    ("pointsman-key.pem", "client-key.pem"),
];
/// Bits of a login that needs nothing special.
const CAPABILITIES: Capabilities = Capabilities::PROTOCOL_41
    .union(Capabilities::SECURE_CONNECTION)
    .union(Capabilities::PLUGIN_AUTH)
    .union(Capabilities::TRANSACTIONS);

/// Where Pointsman's certificate is, and where sysbench runs: it has no options for the files.
pub(crate) fn folder(sandbox: &Sandbox) -> PathBuf {
    sandbox.path().join("tls")
}

/// Makes the folder, before the first Pointsman starts.
pub(crate) fn prepare(sandbox: &Sandbox) -> io::Result<()> {
    let folder = folder(sandbox);
    std::fs::create_dir_all(&folder)?;
    for (made, wanted) in FILES {
        std::os::unix::fs::symlink(made, folder.join(wanted))?;
    }
    Ok(())
}

/// Clients that verify the certificate and log in.
#[derive(Debug, Clone)]
pub(crate) struct Connector(Arc<ClientConfig>);

/// A client that is logged in.
pub(crate) type Client = StreamOwned<ClientConnection, TcpStream>;

impl Connector {
    /// Trusts the authority that Pointsman has made in `folder`.
    pub(crate) fn new(folder: &Path) -> anyhow::Result<Self> {
        let file = folder.join("pointsman-ca.pem");
        let ca = CertificateDer::from_pem_file(&file).with_context(|| format!("no {}", file.display()))?;
        let mut roots = RootCertStore::empty();
        roots.add(ca)?;
        Ok(Self(Arc::new(ClientConfig::builder().with_root_certificates(roots).with_no_client_auth())))
    }

    /// Logs in over TLS. Waits for each answer: a thread of its own is the place for it.
    pub(crate) fn connect(&self, address: SocketAddr) -> anyhow::Result<Client> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let (_, payload) = read(&mut stream)?;
        let greeting = packet::Greeting::decode(&payload, Capabilities::all())?;
        ensure!(greeting.capabilities.contains(Capabilities::SSL), "no TLS is offered");
        let capabilities = CAPABILITIES | Capabilities::SSL;
        let request = packet::SslRequest { capabilities, max_packet: 1 << 24, collation: 45 };
        let mut out = Vec::new();
        put_packet(&mut out, 1, &request, capabilities);
        stream.write_all(&out)?;
        let name = ServerName::from(std::net::IpAddr::from(Ipv4Addr::LOCALHOST));
        let mut stream = StreamOwned::new(ClientConnection::new(Arc::clone(&self.0), name)?, stream);
        let login = packet::Login {
            capabilities,
            max_packet: 1 << 24,
            collation: 45,
            username: USER.as_bytes(),
            auth_answer: &native::answer(PASSWORD.as_bytes(), &greeting.nonce),
            schema: None,
            auth_plugin: Some(native::NAME.as_bytes()),
            attributes: None,
            zstd_level: None,
        };
        out.clear();
        put_packet(&mut out, 2, &login, capabilities);
        stream.write_all(&out)?;
        let (_, answer) = read(&mut stream)?;
        ensure!(answer.first() == Some(&0), "the login is answered with {}", answer.escape_ascii());
        Ok(stream)
    }
}

/// One packet.
fn read(stream: &mut impl io::Read) -> io::Result<(Header, Vec<u8>)> {
    let mut header = [0; HEADER_LEN];
    stream.read_exact(&mut header)?;
    let header = Header::parse(header);
    let mut payload = Vec::new();
    stream.take(header.len.into()).read_to_end(&mut payload)?;
    Ok((header, payload))
}
