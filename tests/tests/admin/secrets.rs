//! What accounts that may only read statistics, digests, logs and core files must not tell.

use e2e::{Backend, Setup, run};
use testkit::client::{Client, Options};
use testkit::guard::Signal;

use super::{DB, MYSQL, admin, with_admin};

/// All rows that `sql` returns, as one text.
async fn all(client: &mut Client, sql: &str) -> String {
    let rows = client.query(sql).await.unwrap().text().unwrap();
    rows.into_iter().flatten().flatten().collect::<Vec<_>>().join("\n")
}

/// Statements with a password, as far as a proxy can know. Most fail: they are logged all the same.
const STATEMENTS: [&str; 18] = [
    "CREATE USER x1@'%' IDENTIFIED BY 'SECRETpw1'",
    "ALTER USER x1@'%' IDENTIFIED BY \"SECRETpw2\"",
    "GRANT SELECT ON test.* TO x1@'%' IDENTIFIED BY 'SECRETpw3'",
    "CREATE USER x2@'%' IDENTIFIED VIA mysql_native_password USING PASSWORD('SECRETpw4')",
    "SET PASSWORD FOR x1@'%' = PASSWORD('SECRETpw5')",
    "SET PASSWORD FOR x1@'%' = 'SECRETpw6'",
    "CREATE SERVER s1 FOREIGN DATA WRAPPER mysql OPTIONS (USER 'u', PASSWORD 'SECRETpw7')",
    "CHANGE MASTER TO MASTER_PASSWORD='SECRETpw8'",
    "CREATE USER x3@'%' IDENTIFIED BY 'SECRETpw9\nunterminated",
    "/*!50000 ALTER USER x1@'%' IDENTIFIED BY 'SECRETpw10' */",
    "/*!50000 ALTER USER x1@'%' */ IDENTIFIED BY /*!50000 'SECRETpw11' */",
    "/*M!100000 SET PASSWORD FOR x1@'%' = 'SECRETpw12' */",
    "ALTER USER x1@'%' IDENTIFIED BY 'SECRETpw13' PASSWORD EXPIRE NEVER",
    "PREPARE s FROM \"ALTER USER x1@'%' IDENTIFIED BY 'SECRETpw14'\"",
    "SELECT PASSWORD('SECRETpw15')",
    "SET sql_mode = 'NO_BACKSLASH_ESCAPES'",
    "ALTER USER x1@'%' IDENTIFIED BY 'SECRETpw16\\', x2@'%' IDENTIFIED BY 'SECRETpw17'",
    "SET PASSWORD FOR 'x\\' = 'SECRETpw18'",
];

fn passwords_stay_nowhere(db: &Backend) {
    let setup = with_admin(Setup::before(&db.sandbox, &db.server)).datadir();
    let folder = setup.folder().to_owned();
    let mut proxy = setup
        .variable("eventslog_filename", "\"q\"")
        .variable("eventslog_format", 2)
        .variable("eventslog_default_log", 1)
        .variable("eventslog_buffer_history_size", 1_000)
        .pointsman("slow_log_filename", "\"slow\"")
        .variable("long_query_time", 0)
        .variable("verbose_query_error", true)
        .start();
    run(async {
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        for sql in STATEMENTS {
            let _ = client.query(sql).await;
        }
        client.query("SELECT 'here'").await.unwrap();
        client.quit().await.unwrap();
        let mut admin = admin(&proxy).await;
        admin.query("DUMP EVENTSLOG FROM BUFFER TO BOTH").await.unwrap();
        let events = all(&mut admin, "SELECT query FROM stats_mysql_query_events").await;
        assert!(events.contains("SELECT 'here'") && events.contains("IDENTIFIED <secret>"), "{events}");
        let digests = all(&mut admin, "SELECT digest_text FROM stats_mysql_query_digest").await;
        assert!(digests.contains("SELECT ?"), "{digests}");
        admin.query("SAVE MYSQL DIGEST TO DISK").await.unwrap();
        for text in [
            events,
            digests,
            all(&mut admin, "SELECT query FROM stats_history.history_mysql_query_events").await,
            all(&mut admin, "SELECT digest_text FROM stats_history.history_mysql_query_digest").await,
            all(&mut admin, "SELECT info FROM stats_mysql_processlist").await,
            all(&mut admin, "SELECT last_error FROM stats_mysql_errors").await,
            proxy.log().join("\n"),
        ] {
            assert!(!text.contains("SECRETpw"), "{text}");
        }
    });
    proxy.signal(Signal::TERM);
    proxy.wait();
    let files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let is_log = |path: &std::path::PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.starts_with("q.") || name.starts_with("slow.")
    };
    let logs: Vec<String> = files.filter(is_log).map(|path| std::fs::read_to_string(path).unwrap()).collect();
    assert_eq!(logs.len(), 2);
    for log in logs {
        assert!(log.contains("SELECT 'here'") && !log.contains("SECRETpw"), "{log}");
    }
}

#[test]
fn passwords_stay_nowhere_on_mariadb() {
    passwords_stay_nowhere(&DB);
}

#[test]
fn passwords_stay_nowhere_on_mysql() {
    if let Some(db) = &*MYSQL {
        passwords_stay_nowhere(db);
    }
}

#[test]
fn accounts_of_statistics_see_no_literals() {
    let proxy = with_admin(Setup::before(&DB.sandbox, &DB.server))
        .datadir()
        .variable("eventslog_default_log", 1)
        .variable("eventslog_buffer_history_size", 100)
        .start();
    run(async {
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        client.query("SELECT 'SECRETevent'").await.unwrap();
        client.query("SELECT FROM 'SECRETerror'").await.unwrap_err();
        client.prepare("SELECT 'SECRETprepared', ?").await.unwrap();
        let mut running = Client::connect(&proxy.options()).await.unwrap();
        let text = b"SELECT SLEEP(1000), 'SECRETrunning'";
        running.send_command(wire::command::Kind::Query, text).await.unwrap();
        let mut admin = admin(&proxy).await;
        let processes = "SELECT info FROM stats_mysql_processlist";
        while !all(&mut admin, processes).await.contains("SECRETrunning") {
            tokio::task::yield_now().await;
        }
        admin.query("DUMP EVENTSLOG FROM BUFFER TO BOTH").await.unwrap();
        let mut stats = Client::connect(&Options::tcp(proxy.admin(), "stats", "stats")).await.unwrap();
        for (sql, shown) in [
            (processes, "SELECT SLEEP(?),?"),
            ("SHOW FULL PROCESSLIST", "SELECT SLEEP(?),?"),
            ("SELECT query FROM stats_mysql_prepared_statements_info", "SELECT ?,?"),
            ("SELECT *, count(*) OVER () || ' rows' FROM stats_mysql_query_events", " rows"),
            ("SELECT *, count(*) OVER () || ' rows' FROM stats_history.history_mysql_query_events", " rows"),
            ("SELECT *, 'error' FROM stats_mysql_errors", "error"),
        ] {
            let seen = all(&mut stats, sql).await;
            assert!(seen.contains(shown) && !seen.contains("SECRET"), "{sql}: {seen}");
        }
        // An admin has read the same tables before and after.
        assert!(all(&mut admin, processes).await.contains("SECRETrunning"));
        assert!(all(&mut admin, "SELECT last_error FROM stats_mysql_errors").await.contains("SECRETerror"));
        assert!(!all(&mut stats, processes).await.contains("SECRET"));
    });
}

#[test]
fn a_crash_leaves_no_core_file() {
    let proxy = with_admin(Setup::before(&DB.sandbox, &DB.server)).start();
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", proxy.pid())).unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    assert_eq!(line.split_whitespace().nth(4), Some("0"), "{line}");
}
