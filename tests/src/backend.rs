//! The MariaDB server behind the proxies of one test binary.

use testkit::guard::Sandbox;
use testkit::mariadb::{self, Server, Setup};

/// A MariaDB server and the folder that it lives in.
///
/// Made to be kept in a `static`: nobody drops it, but its sandbox ends with the process, however that ends.
#[derive(Debug)]
pub struct Backend {
    /// The folder; proxies and clients of the tests live in it, too.
    pub sandbox: Sandbox,
    /// The server.
    pub server: Server,
}

impl Backend {
    /// Starts a server with these options of `mariadbd` and an empty schema `test`.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start(options: &[&str]) -> Self {
        let start = || {
            let sandbox = Sandbox::new()?;
            let server = Setup::new("db")
                .args(["--local-infile=ON"])
                .args(options.iter().copied())
                .start(&mariadb::find()?, &sandbox)?;
            server.sql("CREATE DATABASE test")?;
            anyhow::Ok(Self { sandbox, server })
        };
        start().unwrap_or_else(|error| panic!("no MariaDB server: {error:#}"))
    }

    /// What a statement returns to the administrator, who does not come through a proxy.
    ///
    /// # Panics
    /// When it fails.
    pub fn sql(&self, statements: &str) -> String {
        self.server.sql(statements).unwrap_or_else(|error| panic!("{error:#}"))
    }

    /// Number of connections that `user` has on the server.
    ///
    /// # Panics
    /// When the server does not answer.
    pub fn connections_of(&self, user: &str) -> usize {
        let sql = format!("SELECT COUNT(*) FROM information_schema.processlist WHERE user = '{user}'");
        let count = self.sql(&sql);
        count.trim().parse().unwrap_or_else(|error| panic!("{count:?} is no number: {error}"))
    }
}
