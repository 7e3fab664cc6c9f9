//! What a session has written is where it reads: MySQL tells the GTIDs of writes, and a reader of
//! binary logs, which the test plays, who has executed them.

use std::io::Write as _;
use std::net::TcpListener;
use std::sync::mpsc::{Sender, channel};

use e2e::{Backend, Setup, run};
use testkit::client::{CAPABILITIES, Client, Options};
use testkit::server::PASSWORD;
use wire::Capabilities;

use super::{Pair, USER, value};

const OPTIONS: [&str; 3] = ["--log-bin=binlog", "--gtid-mode=ON", "--enforce-gtid-consistency=ON"];

/// Plays a reader: its port, and who takes the lines that it says.
fn reader() -> (u16, Sender<String>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let (lines, said) = channel::<String>();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        for line in said {
            // The proxy may be gone before the last one.
            let _ = stream.write_all(line.as_bytes());
        }
    });
    (port, lines)
}

fn setup(pair: &Pair, gtid_port: u16) -> Setup {
    Setup::new(&pair.writer.sandbox)
        .server(&pair.writer.server, "")
        .server(&pair.reader.server, &format!("hostgroup_id = 1\ngtid_port = {gtid_port}"))
        .row("mysql_replication_hostgroups", "writer_hostgroup = 0\nreader_hostgroup = 1")
        .row(
            "mysql_query_rules",
            "rule_id = 1\nactive = true\nmatch_digest = \"^SELECT name\"\ngtid_from_hostgroup = 0",
        )
        .variable("read_write_split", true)
        .variable("default_session_track_gtids", "\"OWN_GTID\"")
        .user(USER, PASSWORD, "")
}

#[test]
fn c12_what_a_session_has_written_is_where_it_reads() {
    let Some(writer) = Backend::start_mysql_or_skip(&OPTIONS) else { return };
    let Some(reader_db) = Backend::start_mysql(&OPTIONS) else { return };
    let pair = Pair::of([writer, reader_db]);
    let executed = || pair.writer.sql("SELECT @@gtid_executed").trim().to_owned();
    let (port, lines) = reader();
    lines.send(format!("ST={}\n", executed())).unwrap();
    let proxy = setup(&pair, port).start();
    run(async {
        for capabilities in [CAPABILITIES, CAPABILITIES - Capabilities::SESSION_TRACK] {
            let options = Options::tcp(proxy.tcp(), USER, PASSWORD).schema("test").capabilities(capabilities);
            let mut client = Client::connect(&options).await.unwrap();
            assert_eq!(value(&mut client, "SELECT name FROM who").await, "reader");
            assert_eq!(value(&mut client, "SELECT @@session_track_gtids FOR UPDATE").await, "OWN_GTID");
            client.query("INSERT INTO t (a) VALUES ('two')").await.unwrap();
            assert_eq!(value(&mut client, "SELECT name FROM who").await, "writer");
            let mut other = Client::connect(&options).await.unwrap();
            assert_eq!(value(&mut other, "SELECT name FROM who").await, "reader", "it has written nothing");
            let (source, last) =
                executed().rsplit_once(['-', ':']).map_or_else(Default::default, |(source, last)| {
                    (source.split(':').next().unwrap_or_default().replace('-', ""), last.to_owned())
                });
            lines.send(format!("I1={source}:{last}\n")).unwrap();
            while value(&mut client, "SELECT name FROM who").await != "reader" {}
        }
    });
}

/// Those with a tag are told, logged and compared like all others.
#[test]
fn c12_a_write_with_a_tag_is_seen_as_well() {
    let Some(writer) = Backend::start_mysql_or_skip(&OPTIONS) else { return };
    let Some(reader_db) = Backend::start_mysql(&OPTIONS) else { return };
    let pair = Pair::of([writer, reader_db]);
    pair.writer
        .sql(&format!("GRANT TRANSACTION_GTID_TAG, SESSION_VARIABLES_ADMIN ON *.* TO '{USER}'@'127.0.0.1'"));
    let executed = || pair.writer.sql("SELECT @@gtid_executed").replace("\\n", "").replace('\n', "");
    let (port, lines) = reader();
    lines.send(format!("ST={}\n", executed())).unwrap();
    let proxy = setup(&pair, port)
        .datadir()
        .variable("eventslog_filename", "\"q\"")
        .variable("eventslog_format", 2)
        .variable("eventslog_default_log", 1);
    let folder = proxy.folder().to_owned();
    let proxy = proxy.admin("mysql_ifaces", "\"127.0.0.1:0\"").start();
    run(async {
        let options = Options::tcp(proxy.tcp(), USER, PASSWORD).schema("test");
        let mut client = Client::connect(&options).await.unwrap();
        // From here on its session stays at the writer.
        client.query("SET gtid_next = 'AUTOMATIC:online'").await.unwrap();
        client.query("INSERT INTO t (a) VALUES ('two')").await.unwrap();
        let executed = executed();
        assert!(executed.contains(":online:1"), "{executed}");
        let mut other = Client::connect(&options).await.unwrap();
        let source = executed.split(':').next().unwrap_or_default();
        let question = format!("SELECT /* min_gtid={source}:online:1 */ name FROM who");
        assert_eq!(value(&mut other, "SELECT name FROM who").await, "reader");
        assert_eq!(value(&mut other, &question).await, "writer");
        lines.send(format!("ST={executed}\n")).unwrap();
        while value(&mut other, &question).await != "reader" {}
        e2e::admin::connect(&proxy).await.query("PROXYSQL FLUSH LOGS").await.unwrap();
    });
    let log = std::fs::read_to_string(folder.join("q.00000001")).unwrap();
    let told: Vec<&str> = log.lines().filter(|line| line.contains("\"last_gtid\":")).collect();
    assert_eq!(told.len(), 1, "{log}");
    assert!(told[0].contains("INSERT INTO t") && told[0].contains(":online:1\""), "{}", told[0]);
}
