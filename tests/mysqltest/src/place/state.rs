//! SQL that prepares a server for the suite, and that tells whether a test has left something
//! behind.

use std::fmt::Write as _;
use std::io::{BufReader, Read as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;

use super::options::SHARE;
use crate::suite::{Suite, text};

/// An empty schema for a test.
pub(super) const FRESH_SCHEMA: &str = "DROP DATABASE IF EXISTS test; \
    CREATE DATABASE test CHARACTER SET latin1 COLLATE latin1_swedish_ci; FLUSH STATUS";

/// A statement for the number of connections besides the one that asks; only of busy ones, or of
/// all.
pub(super) const fn others(busy: bool) -> &'static str {
    if busy {
        "SELECT COUNT(*) FROM information_schema.processlist \
         WHERE id <> CONNECTION_ID() AND user <> 'system user' AND command NOT IN ('Daemon', 'Sleep')"
    } else {
        "SELECT COUNT(*) FROM information_schema.processlist \
         WHERE id <> CONNECTION_ID() AND user <> 'system user' AND command <> 'Daemon'"
    }
}

/// Makes an account, by the way of TCP, that may do everything but write to a server that is
/// read-only.
pub(super) fn may_not_write(name: &str, password: &str) -> String {
    let (account, password) = (format!("{name}@127.0.0.1"), password.replace('\'', "''"));
    format!(
        "CREATE OR REPLACE USER {account} IDENTIFIED BY '{password}'; \
         GRANT ALL ON *.* TO {account} WITH GRANT OPTION; REVOKE READ_ONLY ADMIN ON *.* FROM {account}; \
         GRANT PROXY ON ''@'%' TO {account} WITH GRANT OPTION"
    )
}

/// Everything that tests have to leave as it was: a shorter form of the suite's own
/// `check_testcase`. `{others}` stands for [`others`].
pub(super) const FINGERPRINT: &str = "\
    SELECT * FROM information_schema.global_variables WHERE variable_name NOT LIKE 'gtid%pos' \
        AND variable_name NOT IN ('timestamp', 'gtid_binlog_state', 'innodb_ibuf_max_size', \
        'innodb_buffer_pool_load_at_startup', 'innodb_log_file_buffering'); \
    {others}; \
    SELECT * FROM information_schema.schemata; \
    SELECT plugin_name, plugin_status FROM information_schema.plugins; \
    SHOW TABLES FROM mysql; SHOW TABLES FROM mtr; SELECT COUNT(*) FROM mtr.test_suppressions; \
    CHECKSUM TABLE mysql.columns_priv, mysql.db, mysql.event, mysql.func, mysql.global_priv, mysql.plugin, \
        mysql.proc, mysql.procs_priv, mysql.proxies_priv, mysql.roles_mapping, mysql.servers, mysql.tables_priv, \
        mysql.table_stats, mysql.column_stats, mysql.index_stats, mysql.help_topic, \
        mysql.time_zone, mysql.time_zone_name, mysql.time_zone_transition; \
    SELECT trigger_schema, trigger_name FROM information_schema.triggers WHERE trigger_schema <> 'sys'";

/// What the suite's runner adds to fresh system tables, as statements of MariaDB's client;
/// testkit's own accounts go.
///
/// The suite's files end statements in a way that only its runner understands, so changed copies go
/// to `folder`.
pub(super) fn preparation(suite: &Suite, folder: &Path) -> anyhow::Result<String> {
    let mut sources = String::new();
    for name in ["mtr_warnings.sql", "mtr_check.sql"] {
        let copy = folder.join(name);
        let sql = text(&suite.folder.join("include").join(name))?;
        std::fs::write(&copy, sql.replace("delimiter ||;", "delimiter ||"))?;
        // Writing to a string cannot fail.
        let _ = write!(sources, "source {}\ndelimiter ;\n", copy.display());
    }
    Ok(format!(
        "DELETE FROM mysql.global_priv WHERE user IN ('app', 'replication', ''); FLUSH PRIVILEGES;\n\
         CREATE DATABASE mtr CHARSET=latin1;\n\
         {sources}\
         USE mysql;\n\
         source {SHARE}/mysql_test_data_timezone.sql\n\
         ALTER TABLE mysql.gtid_slave_pos ENGINE=Aria transactional=0;"
    ))
}

/// The version in the greeting of a server, with the `5.5.5-` that MariaDB puts before it.
pub(super) fn version_in_greeting(socket: &Path) -> anyhow::Result<String> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let mut header = [0; 5];
    stream.read_exact(&mut header)?;
    let version =
        BufReader::new(stream).bytes().map_while(Result::ok).take_while(|byte| *byte != 0).collect();
    String::from_utf8(version).context("the server's version is no text")
}
