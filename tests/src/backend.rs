//! The servers behind the proxies of one test binary.

use std::sync::LazyLock;

use testkit::guard::Sandbox;
use testkit::server::{Programs, Server, Setup};
use testkit::{mariadb, mysql};

/// A make of server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Make {
    /// MariaDB.
    MariaDb,
    /// MySQL.
    MySql,
}

/// A server and the folder that it lives in.
///
/// Made to be kept in a `static`: it is never dropped, but its sandbox ends with the process,
/// however that ends.
#[derive(Debug)]
pub struct Backend {
    /// The folder; proxies and clients of the tests live in it, too.
    pub sandbox: Sandbox,
    /// The server.
    pub server: Server,
    /// What it is.
    pub make: Make,
}

impl Backend {
    /// Starts a MariaDB server with these options of `mariadbd` and an empty schema `test`.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start(options: &[&str]) -> Self {
        let binaries = mariadb::find().unwrap_or_else(|error| panic!("no MariaDB server: {error:#}"));
        Self::of(Make::MariaDb, &binaries, options)
    }

    /// Starts a MySQL server with these options of `mysqld` and a schema `test`, if MySQL is there.
    /// The schema has tables with the names of the sequences of MariaDB that tests use.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start_mysql(options: &[&str]) -> Option<Self> {
        let binaries = mysql::find().unwrap_or_else(|error| panic!("no MySQL server: {error:#}"))?;
        let backend = Self::of(Make::MySql, &binaries, options);
        backend.sql(
            "CREATE TABLE test.digits AS SELECT 0 d UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION \
            SELECT 4 UNION SELECT 5 UNION SELECT 6 UNION SELECT 7 UNION SELECT 8 UNION SELECT 9",
        );
        for last in SEQUENCES {
            backend.sql(&format!(
                "CREATE TABLE test.seq_1_to_{last} (seq BIGINT UNSIGNED NOT NULL PRIMARY KEY);
                 INSERT INTO test.seq_1_to_{last} SELECT 1 + a.d + 10 * b.d + 100 * c.d + 1000 * e.d AS seq
                 FROM test.digits a, test.digits b, test.digits c, test.digits e HAVING seq <= {last}"
            ));
        }
        Some(backend)
    }

    /// [`start_mysql`](Self::start_mysql) for a test: where there is no MySQL it says so, and the
    /// test has passed.
    ///
    /// # Panics
    /// As [`start_mysql`](Self::start_mysql).
    pub fn start_mysql_or_skip(options: &[&str]) -> Option<Self> {
        // It says it, in the name of the test.
        let _ = mysql::find_or_skip();
        Self::start_mysql(options)
    }

    fn of<P: Programs + Clone + 'static>(make: Make, programs: &P, options: &[&str]) -> Self {
        let start = || {
            let sandbox = Sandbox::new()?;
            let server = Setup::new("db")
                .args(["--local-infile=ON"])
                .args(options.iter().copied())
                .start(programs, &sandbox)?;
            server.sql("CREATE DATABASE test")?;
            anyhow::Ok(Self { sandbox, server, make })
        };
        start().unwrap_or_else(|error| panic!("no {make:?} server: {error:#}"))
    }

    /// Whether it is a MySQL server.
    pub const fn is_mysql(&self) -> bool {
        matches!(self.make, Make::MySql)
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

/// The last numbers of the sequences that a MySQL server gets as tables; at most 10,000.
const SEQUENCES: [u32; 3] = [5, 2000, 10_000];

/// What a `static` holds that needs MySQL, for a test: where there is none it says so, and the test
/// has passed.
///
/// # Panics
/// As [`Backend::start_mysql`].
pub fn mysql_or_skip<T>(servers: &'static LazyLock<Option<T>>) -> Option<&'static T> {
    // It says it, in the name of the test.
    let _ = mysql::find_or_skip();
    servers.as_ref()
}

/// Makes two tests of each function that takes a `&'static Backend`, or another type that holds
/// servers: `on_mariadb::NAME` and `on_mysql::NAME`.
///
/// What they get are the statics `DB` and `MYSQL` (an `Option` of the same) of the test binary,
/// both lazy.
#[allow(clippy::crate_in_macro_def, reason = "the statics are those of the test binary")]
#[macro_export]
macro_rules! on_each_server {
    ($($test:ident),+ $(,)?) => {
        mod on_mariadb {
            $(#[test] fn $test() { super::$test(&crate::DB); })+
        }
        mod on_mysql {
            $(#[test] fn $test() { if let Some(db) = $crate::mysql_or_skip(&crate::MYSQL) { super::$test(db); } })+
        }
    };
}

/// Makes two tests of each function that takes a `&mut Backend` of its own, which it may kill:
/// `on_mariadb::NAME` and `on_mysql::NAME`.
#[macro_export]
macro_rules! on_each_own_server {
    ($($test:ident),+ $(,)?) => {
        mod on_mariadb {
            $(#[test] fn $test() { super::$test(&mut $crate::Backend::start(&[])); })+
        }
        mod on_mysql {
            $(#[test] fn $test() { if let Some(db) = $crate::Backend::start_mysql_or_skip(&[]).as_mut() { super::$test(db); } })+
        }
    };
}
