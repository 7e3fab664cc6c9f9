//! The admin port over real sockets: logins, commands, large and broken input, many clients.

#[path = "../common/mod.rs"]
mod common;
mod http;
mod listeners;
mod statistics;

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use admin::{Module, Move, Port, Store};
use common::FakePlane;
use config::Address;
use observe::plane::DataPlane;
use testkit::client::{CAPABILITIES, Client, ClientError, Options};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::time::timeout;
use wire::command::Kind;
use wire::{Capabilities, StatusFlags};

/// Bytes of the longest statement; must be what the error names.
const STATEMENT_BYTES_MAX: usize = 4 << 20;

/// How long a test waits for what must come. Nothing takes that long; without an end, the test
/// would not report what did not come.
const PATIENCE: Duration = Duration::from_mins(1);

/// A running admin port.
struct Admin {
    port: Port,
    folder: tempfile::TempDir,
}

impl Admin {
    fn start() -> Self {
        Self::with(&[])
    }

    /// With these variables besides.
    fn with(variables: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let plane: Arc<dyn DataPlane> = Arc::new(FakePlane::default());
        let mut store = Store::open(None).unwrap();
        let socket = folder.path().join("admin.sock");
        let addresses = format!("127.0.0.1:0;[::1]:0;{}", socket.display());
        let accounts = "admin:admin;radmin:secret;empty:;hashed:*14E65567ABDB5135D0CFD9A70B3032C179A49EE7";
        let mine = [
            ("admin-mysql_ifaces", addresses.as_str()),
            ("admin-admin_credentials", accounts),
            ("admin-stats_credentials", "stats:stats"),
        ];
        for (name, value) in mine.iter().chain(variables) {
            let sql =
                format!("UPDATE global_variables SET variable_value='{value}' WHERE variable_name='{name}'");
            let _ = store.query(&sql);
        }
        let answer = store.shift(Module::AdminVariables, Move::MemoryToRuntime, "test");
        assert!(matches!(answer, admin::Answer::Ok { .. }), "{answer:?}");
        store.attach(Arc::clone(&plane));
        let port = Port::start(store, &plane, &Handle::current()).unwrap();
        Self { port, folder }
    }

    fn tcp(&self) -> SocketAddr {
        let tcp = |address: &Address| match address {
            Address::Tcp(address) if address.is_ipv4() => Some(*address),
            _ => None,
        };
        self.port.addresses().iter().find_map(tcp).unwrap()
    }

    fn options(&self) -> Options {
        Options::tcp(self.tcp(), "admin", "admin")
    }

    async fn client(&self) -> Client {
        Client::connect(&self.options()).await.unwrap()
    }
}

/// Waits until `done` says so.
///
/// # Panics
///
/// When it does not within [`PATIENCE`].
async fn until(what: &str, mut done: impl AsyncFnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !done().await {
        assert!(Instant::now() < end, "{what}: not within {PATIENCE:?}");
        tokio::task::yield_now().await;
    }
}

fn refusal<T>(result: Result<T, ClientError>) -> (u16, String) {
    match result {
        Err(ClientError::Server(error)) => (error.code, error.message),
        Err(other) => panic!("no answer: {other}"),
        Ok(_) => panic!("not refused"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn accounts_log_in_with_both_methods_everywhere() {
    let admin = Admin::start();
    for (user, password) in
        [("admin", "admin"), ("radmin", "secret"), ("empty", ""), ("hashed", "secret"), ("stats", "stats")]
    {
        for plugin in ["mysql_native_password", "caching_sha2_password"] {
            for address in admin.port.addresses() {
                let options = match address {
                    Address::Tcp(address) => Options::tcp(*address, user, password),
                    Address::Unix(path) => Options::unix(path, user, password),
                    Address::Name { .. } => panic!("{address} is not bound"),
                };
                let mut client = Client::connect(&options.auth_plugin(plugin)).await.unwrap();
                let result = client.query("SELECT 1 AS one").await.unwrap();
                assert_eq!(result.first().as_deref(), Some("1"), "{user} {plugin} {address}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_users_and_wrong_passwords_get_the_same_refusal() {
    for plugin in ["mysql_native_password", "caching_sha2_password"] {
        let admin = Admin::start();
        for (user, password, using) in [
            ("admin", "wrong", "YES"),
            ("nobody", "x", "YES"),
            ("admin", "", "NO"),
            ("nobody", "", "NO"),
            ("", "", "NO"),
        ] {
            let options = Options::tcp(admin.tcp(), user, password).auth_plugin(plugin);
            let text = format!(
                "ProxySQL Error: Access denied for user '{user}'@'127.0.0.1' (using password: {using})"
            );
            assert_eq!(refusal(Client::connect(&options).await), (1045, text));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn five_wrong_logins_of_an_address_are_enough_for_a_minute() {
    let admin = Admin::start();
    for n in 0..5 {
        let user = ["admin", "nobody"][n % 2];
        assert_eq!(refusal(Client::connect(&Options::tcp(admin.tcp(), user, "wrong")).await).0, 1045);
    }
    // Whether the password is right makes no difference any more.
    for password in ["secret", "wrong"] {
        let options = Options::tcp(admin.tcp(), "radmin", password);
        let (code, message) = refusal(Client::connect(&options).await);
        assert!(code == 1129 && message.contains("too many wrong ones: try again in "), "{message}");
    }
    // They are those of one address.
    let socket = admin.folder.path().join("admin.sock");
    Client::connect(&Options::unix(&socket, "radmin", "secret")).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn right_logins_are_not_counted() {
    let admin = Admin::start();
    for _ in 0..20 {
        admin.client().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bug_costs_one_statement() {
    let admin = Admin::start();
    let mut client = admin.client().await;
    client.query("INSERT INTO mysql_users (username, password) VALUES ('app', 'pw')").await.unwrap();
    let (code, message) = refusal(client.query(&format!("KILL CONNECTION {}", common::BUG)).await);
    assert!(code == 1045 && message.contains("a bug of Pointsman"), "{message}");
    let count = client.query("SELECT COUNT(*) FROM mysql_users").await.unwrap();
    assert_eq!(count.first().as_deref(), Some("1"));
    client.query("LOAD MYSQL USERS TO RUNTIME").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn users_of_the_traffic_are_no_admins() {
    let admin = Admin::start();
    let mut client = admin.client().await;
    client.query("INSERT INTO mysql_users (username, password) VALUES ('app', 'pw')").await.unwrap();
    client.query("LOAD MYSQL USERS TO RUNTIME").await.unwrap();
    let options = Options::tcp(admin.tcp(), "app", "pw");
    assert_eq!(refusal(Client::connect(&options).await).0, 1045);
}

#[tokio::test(flavor = "multi_thread")]
async fn accounts_are_changed_while_it_runs() {
    let admin = Admin::start();
    let mut client = admin.client().await;
    client.query("SET admin-admin_credentials='boss:new'").await.unwrap();
    let boss = Options::tcp(admin.tcp(), "boss", "new");
    assert_eq!(refusal(Client::connect(&boss).await).0, 1045);
    client.query("LOAD ADMIN VARIABLES TO RUNTIME").await.unwrap();
    Client::connect(&boss).await.unwrap();
    assert_eq!(refusal(Client::connect(&admin.options()).await).0, 1045);
    // Who is in stays in.
    client.query("SELECT 1").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_other_than_queries_are_answered_as_proxysql_does() {
    let admin = Admin::start();
    let mut client = admin.client().await;
    assert_eq!(client.ping().await.unwrap().status, StatusFlags::from_bits_retain(0x0202));
    client.init_db("whatever").await.unwrap();
    let (code, text) = refusal(client.reset_connection().await);
    assert_eq!(code, 1047);
    assert_eq!(text, "Received unsupported 'COM_RESET_CONNECTION' for session type 'PROXYSQL_SESSION_ADMIN'");
    for (kind, body, expected) in [
        (Kind::StmtPrepare, &b"SELECT 1"[..], 1045),
        (Kind::StmtExecute, &[1, 0, 0, 0, 0, 1, 0, 0, 0], 1045),
        (Kind::FieldList, b"t\0", 1045),
        (Kind::ProcessKill, &[1, 0, 0, 0], 9003),
    ] {
        client.send_command(kind, body).await.unwrap();
        let (code, text) = refusal(client.read_result().await);
        assert_eq!((code, text.as_str()), (expected, "Command not supported"), "{}", kind.name());
    }
    client.send_command(Kind::Statistics, b"").await.unwrap();
    let text = String::from_utf8(client.packets().read().await.unwrap()).unwrap();
    assert!(text.starts_with("Uptime: ") && text.contains(" Threads: 1  Questions: "), "{text}");
    client.send_command(Kind::SetOption, &[0, 0]).await.unwrap();
    assert_eq!(client.packets().read().await.unwrap().first(), Some(&0xfe));
    client.query("SELECT 1").await.unwrap();
    for kind in [Kind::Debug, Kind::Refresh, Kind::ProcessInfo, Kind::StmtReset, Kind::BinlogDump] {
        client.send_command(kind, b"").await.unwrap();
        let (code, text) = refusal(client.read_result().await);
        assert_eq!((code, text.as_str()), (1047, "Unknown command"), "{}", kind.name());
    }
}

/// Connector/J closes what it could not prepare: an answer to that would be taken for the one to
/// the next command.
#[tokio::test(flavor = "multi_thread")]
async fn c01_commands_without_an_answer_get_none() {
    let admin = Admin::start();
    let mut client = admin.client().await;
    for (kind, body) in [
        (Kind::StmtClose, &[1, 0, 0, 0][..]),
        (Kind::SendLongData, &[1, 0, 0, 0, 0, 0, b'x']),
        (Kind::SendLongData, b""),
        (Kind::StmtClose, b""),
    ] {
        client.send_command(kind, body).await.unwrap();
        let answer = client.query("SELECT 42").await.unwrap();
        assert_eq!(answer.first().as_deref(), Some("42"), "{}", kind.name());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn change_user_is_a_login() {
    let admin = Admin::start();
    let mut client = admin.client().await;
    client.change_user(&Options::tcp(admin.tcp(), "stats", "stats")).await.unwrap();
    assert_eq!(client.query("select user()").await.unwrap().first().as_deref(), Some("stats@127.0.0.1"));
    assert_eq!(refusal(client.query("PROXYSQL SHUTDOWN").await).0, 1045);
    let result = client.change_user(&Options::tcp(admin.tcp(), "admin", "wrong")).await;
    assert_eq!(refusal(result).0, 1045);
    assert!(client.packets().at_end().await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn results_are_the_same_with_and_without_eof_packets() {
    let admin = Admin::start();
    let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<20000) \
               SELECT i, 'text ' || i AS t, NULL AS missing FROM n";
    let mut results = Vec::new();
    for capabilities in [CAPABILITIES, CAPABILITIES | Capabilities::DEPRECATE_EOF] {
        let options = admin.options().capabilities(capabilities);
        let mut client = Client::connect(&options).await.unwrap();
        results.push(client.query(sql).await.unwrap());
    }
    let [classic, modern] = results.try_into().unwrap();
    assert_eq!(classic.text().unwrap(), modern.text().unwrap());
    assert_eq!(classic.rows.len(), 20_000);
    assert_eq!(classic.status, StatusFlags::from_bits_retain(0x0202));
    assert!(classic.columns.iter().all(|column| column.kind == 253));
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_may_be_long_but_not_longer() {
    let admin = Admin::start();
    let mut client = admin.client().await;
    for len in [1 << 20, STATEMENT_BYTES_MAX - 100] {
        let sql = format!("SELECT length('{}') AS n", "x".repeat(len));
        assert_eq!(client.query(&sql).await.unwrap().first(), Some(len.to_string()));
    }
    let sql = format!("SELECT '{}'", "x".repeat(STATEMENT_BYTES_MAX));
    client.send_command(Kind::Query, sql.as_bytes()).await.unwrap();
    let (code, text) = refusal(client.read_result().await);
    assert_eq!(code, 1153, "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_clients_at_once() {
    let admin = Admin::start();
    let mut clients = Vec::new();
    for _ in 0..200 {
        clients.push(admin.client().await);
    }
    let tasks: Vec<_> = clients
        .into_iter()
        .enumerate()
        .map(|(id, mut client)| {
            tokio::spawn(async move {
                for turn in 0..10 {
                    let sql = format!("INSERT INTO mysql_users (username) VALUES ('user{id}_{turn}')");
                    assert_eq!(client.query(&sql).await.unwrap().affected_rows, 1);
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let count = admin.client().await.query("SELECT COUNT(*) FROM mysql_users").await.unwrap();
    assert_eq!(count.first().as_deref(), Some("2000"));
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_that_come_together_are_answered_in_order() {
    let admin = Admin::start();
    let mut client = admin.client().await;
    for number in 0..100 {
        client.send_command(Kind::Query, format!("SELECT {number} AS n").as_bytes()).await.unwrap();
    }
    for number in 0..100 {
        client.packets().expect_seq(1);
        assert_eq!(client.read_result().await.unwrap().first(), Some(number.to_string()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_does_not_leave_its_statement_behind() {
    let admin = Admin::start();
    // Would take hours.
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT count(*) FROM n";
    // Some leave before it has begun, and some at the very moment.
    for _ in 0..100 {
        let mut client = admin.client().await;
        client.send_command(Kind::Query, format!("SELECT * FROM ({endless})").as_bytes()).await.unwrap();
        drop(client);
    }
    let mut other = admin.client().await;
    let answer =
        timeout(PATIENCE, other.query("SELECT 1 AS one")).await.expect("all of them have ended").unwrap();
    assert_eq!(answer.first().as_deref(), Some("1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_at_once_has_changed_what_it_said() {
    let admin = Admin::start();
    let mut client = admin.client().await;
    let sql = b"INSERT INTO mysql_users (username) VALUES ('parting')";
    client.send_command(Kind::Query, sql).await.unwrap();
    drop(client);
    let mut other = admin.client().await;
    until("what it said", async || {
        let count = other.query("SELECT COUNT(*) FROM mysql_users").await.unwrap();
        count.first().as_deref() == Some("1")
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn noise_ends_its_connection_and_nothing_else() {
    let admin = Admin::start();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut noise = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    for round in 0..200 {
        let mut stream = TcpStream::connect(admin.tcp()).await.unwrap();
        let mut bytes: Vec<u8> = (0..=round % 40).flat_map(|_| noise()).collect();
        if round % 2 == 0 {
            // A header that fits, so that the bytes behind it are looked at.
            let len = u32::try_from(bytes.len()).unwrap().to_le_bytes();
            bytes.splice(..0, [len[0], len[1], len[2], 1]);
        }
        // It may have been closed before everything was sent.
        let _ = stream.write_all(&bytes).await;
        let _ = stream.shutdown().await;
        let mut answer = Vec::new();
        match stream.read_to_end(&mut answer).await {
            Ok(_) => {}
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
        }
    }
    for round in 0..200 {
        let mut client = admin.client().await;
        let body: Vec<u8> = (0..round % 20).flat_map(|_| noise()).collect();
        let command = noise()[0];
        client.packets().expect_seq(0);
        let mut payload = vec![command];
        payload.extend_from_slice(&body);
        let _ = client.packets().write(&payload).await;
        let stream = client.packets().stream();
        let _ = stream.shutdown().await;
        let _ = stream.read_to_end(&mut Vec::new()).await;
    }
    assert_eq!(admin.client().await.query("SELECT 1 AS one").await.unwrap().first().as_deref(), Some("1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_that_are_no_text_are_refused() {
    let admin = Admin::start();
    let mut client = admin.client().await;
    client.send_command(Kind::Query, b"SELECT '\xff'").await.unwrap();
    assert_eq!(refusal(client.read_result().await).0, 1045);
    client.send_command(Kind::Query, b"SELECT '\0'").await.unwrap();
    let _ = client.read_result().await;
    client.query("SELECT 1").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_for_a_new_version_of_the_servers_blocks_no_other_admin() {
    let admin = Admin::start();
    let (mut waiting, mut other) = (admin.client().await, admin.client().await);
    waiting.send_command(Kind::Query, b"PULL VERSION MYSQL SERVERS 7 3600000").await.unwrap();
    assert_eq!(other.query("SELECT 1 AS one").await.unwrap().first().as_deref(), Some("1"));
    let newer = other.query("PULL VERSION MYSQL SERVERS 6 3600000").await.unwrap();
    assert_eq!(newer.first().as_deref(), Some("7"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_scheduler_runs_what_its_table_says() {
    let admin = Admin::start();
    let mut client = admin.client().await;
    let file = admin.folder.path().join("ran");
    let sql = format!(
        "INSERT INTO scheduler (id, interval_ms, filename, arg1) VALUES (1, 100, '/usr/bin/touch', '{}')",
        file.display()
    );
    client.query(&sql).await.unwrap();
    client.query("LOAD SCHEDULER TO RUNTIME").await.unwrap();
    until("the program", async || file.exists()).await;
}
