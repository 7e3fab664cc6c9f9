//! TLS with clients and with servers: who is shown what, who is believed, and what changes while
//! the proxy runs.

mod clients;
mod ends;
mod own;
mod reload;
mod servers;
mod sizes;
mod trips;

use std::path::PathBuf;
use std::sync::LazyLock;

use e2e::tools::{Output, mariadb};
use e2e::{Backend, Proxy, Setup};
use testkit::certificates::{Authority, Identity};
use testkit::guard::Sandbox;
use testkit::mariadb::{PASSWORD, USER};

/// A MariaDB server without TLS.
static DB: LazyLock<Backend> = LazyLock::new(|| Backend::start(&[]));

/// An authority and what it vouches for, in a folder of their own.
struct Pki {
    authority: Authority,
    folder: PathBuf,
    /// For `localhost` and `127.0.0.1`.
    server: Identity,
    ca: PathBuf,
    _sandbox: Sandbox,
}

impl Pki {
    fn new(name: &str) -> Self {
        let sandbox = Sandbox::new().unwrap();
        let folder = sandbox.path().to_owned();
        let authority = Authority::new(name).unwrap();
        let server = authority.issue(&folder, "server", &["localhost", "127.0.0.1"]).unwrap();
        let ca = authority.write(&folder).unwrap();
        Self { authority, folder, server, ca, _sandbox: sandbox }
    }
}

/// A path as a value in TOML.
fn quoted(path: &std::path::Path) -> String {
    format!("'{}'", path.display())
}

/// A proxy in front of [`DB`] that shows clients this certificate.
fn showing(identity: &Identity) -> Setup {
    Setup::before(&DB.sandbox, &DB.server)
        .pointsman("tls_cert", quoted(&identity.cert))
        .pointsman("tls_key", quoted(&identity.key))
}

/// Runs MariaDB's client with TLS through the proxy, with these options.
fn client(proxy: &Proxy, options: &[&str]) -> Output {
    let (port, user) = (format!("--port={}", proxy.tcp().port()), format!("--user={USER}"));
    let password = format!("--password={PASSWORD}");
    let fixed = ["--ssl", "--protocol=TCP", "--host=127.0.0.1", &port, &user, &password];
    mariadb(&DB.sandbox, &[&fixed, options].concat())
}

/// Prints the cipher of the client's own connection, which is the last word of a line of `status`.
const STATUS: &str = "--execute=status";

/// What the client says about its own TLS.
fn cipher(output: Output) -> String {
    let text = output.expect_success();
    let line = text.lines().find_map(|line| line.strip_prefix("SSL:"));
    line.unwrap_or_else(|| panic!("no SSL in {text}")).trim().to_owned()
}
