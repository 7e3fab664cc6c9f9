//! Drivers at the admin port: what they say by themselves is understood.

use std::path::{Path, PathBuf};

use e2e::{Setup, tools};

use super::{DB, with_admin};

/// What both Python drivers do here: set something, read it back, read statistics.
const SCRIPT: &str = r"
import importlib, sys
driver = importlib.import_module(sys.argv[1])
connection = driver.connect(host='127.0.0.1', port=int(sys.argv[2]), user='admin', password='admin', database='main')
cursor = connection.cursor()
cursor.execute('INSERT INTO mysql_users (username, password, comment) VALUES (%s, %s, %s)', ('py', None, 'it''s'))
connection.commit()
cursor.execute('LOAD MYSQL USERS TO RUNTIME')
cursor.execute('SELECT password, comment FROM mysql_users WHERE username=%s', ('py',))
print(cursor.fetchall())
cursor.execute('SELECT COUNT(*) FROM stats_mysql_global')
print(len(cursor.fetchall()))
connection.ping()
connection.close()
";

/// Whether this Python has a module. One of the drivers is built from source, where its library is.
fn has(python: &Path, module: &str) -> bool {
    let look = "import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)";
    tools::Running::start(&DB.sandbox, python, ["-c", look, module]).wait().code == Some(0)
}

#[test]
fn python() {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let python = home.join(".cache/pointsman/clients/python/bin/python");
    if !python.exists() {
        println!("skipped: needs the Python drivers that `make test-clients` installs");
        return;
    }
    for driver in ["pymysql", "MySQLdb"] {
        if !has(&python, driver) {
            println!("skipped: {driver} could not be installed, for want of libmariadb-dev or a compiler");
            continue;
        }
        let proxy = with_admin(Setup::before(&DB.sandbox, &DB.server)).start();
        let port = proxy.admin().port().to_string();
        let output = tools::Running::start(&DB.sandbox, &python, ["-c", SCRIPT, driver, &port]).wait();
        assert_eq!(output.expect_success(), "((None, 'its'),)\n1\n", "{driver}");
    }
}
