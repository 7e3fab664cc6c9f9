//! A server with the accounts that the checks want, and proxies before it.

use std::fmt::Write as _;

use e2e::{Proxy, Setup};
use testkit::guard::Sandbox;
use testkit::server::{self, Server};
use testkit::{mariadb, mysql};

use crate::certificates::Certificates;
use crate::driver::Driver;

/// The password of the accounts `m_METHOD`; that of `m_empty` is empty.
pub(crate) const LOGIN_PASSWORD: &str = "secret";

/// Who made a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Make {
    /// From this machine's packages.
    MariaDb,
    /// From the cache folder.
    MySql,
}

/// A running server, and what belongs to it.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) make: Make,
    pub(crate) sandbox: Sandbox,
    pub(crate) server: Server,
    /// Name and version.
    pub(crate) version: String,
    pub(crate) certificates: Certificates,
}

impl Place {
    /// Starts a server; `None` where there is none of this make, which is said on standard error.
    pub(crate) fn new(make: Make) -> Option<Self> {
        let sandbox = Sandbox::new().unwrap();
        let certificates = Certificates::write(sandbox.path());
        let setup = server::Setup::new("db").args(options(&certificates));
        let (server, version) = match make {
            Make::MariaDb => {
                let binaries = mariadb::find().unwrap();
                let setup = setup.args(["--plugin-load-add=auth_ed25519", "--innodb-log-file-size=256M"]);
                (setup.start(&binaries, &sandbox).unwrap(), format!("MariaDB {}", binaries.version))
            }
            Make::MySql => {
                let binaries = mysql::find_or_skip().unwrap()?;
                let setup = setup.args(["--innodb-redo-log-capacity=512M"]);
                (setup.start(&binaries, &sandbox).unwrap(), format!("MySQL {}", binaries.version))
            }
        };
        let version = version.split('-').next().unwrap_or_default().to_owned();
        let place = Self { make, sandbox, server, version, certificates };
        place.make_accounts();
        Some(place)
    }

    /// The methods of login that the server has, by the names that the programs know.
    pub(crate) const fn logins(&self) -> &'static [&'static str] {
        match self.make {
            Make::MariaDb => &["native", "ed25519", "empty"],
            Make::MySql => &["caching_sha2", "sha256", "empty"],
        }
    }

    fn make_accounts(&self) {
        let mut sql = String::new();
        for method in self.logins() {
            let password = LOGIN_PASSWORD;
            let identified = match *method {
                "ed25519" => format!("IDENTIFIED VIA ed25519 USING PASSWORD('{password}')"),
                "sha256" => format!("IDENTIFIED WITH sha256_password BY '{password}'"),
                "empty" => String::new(),
                _ => format!("IDENTIFIED BY '{password}'"),
            };
            // Writing to a string cannot fail.
            let _ = write!(sql, "CREATE USER m_{method} {identified}; GRANT ALL ON *.* TO m_{method};");
        }
        if self.make == Make::MySql {
            sql += "INSTALL COMPONENT 'file://component_query_attributes';";
        }
        self.server.sql(&sql).unwrap();
    }

    /// An empty schema for a driver.
    pub(crate) fn make_schema(&self, driver: &Driver) {
        let schema = driver.schema();
        self.server.sql(&format!("DROP DATABASE IF EXISTS {schema}; CREATE DATABASE {schema}")).unwrap();
    }

    /// A proxy before the server, with its certificate.
    pub(crate) fn proxy(&self) -> Proxy {
        let setup = Setup::before(&self.sandbox, &self.server)
            .pointsman_variable("tls_cert", format!("'{}'", self.certificates.certificate.display()))
            .pointsman_variable("tls_key", format!("'{}'", self.certificates.key.display()));
        let password = |method: &str| if method == "empty" { "" } else { LOGIN_PASSWORD };
        self.logins()
            .iter()
            .fold(setup, |setup, method| setup.user(&format!("m_{method}"), password(method), ""))
            .start()
    }
}

/// Options that both makes have.
fn options(certificates: &Certificates) -> Vec<String> {
    vec![
        "--local-infile=ON".to_owned(),
        "--max-allowed-packet=64M".to_owned(),
        "--innodb-buffer-pool-size=256M".to_owned(),
        format!("--ssl-ca={}", certificates.ca.display()),
        format!("--ssl-cert={}", certificates.certificate.display()),
        format!("--ssl-key={}", certificates.key.display()),
    ]
}
