//! Every method of clients with every form of a password, every method of servers, and every way to
//! either.

use e2e::tools::Running;
use e2e::{Backend, Proxy, Setup, on_each_server, run};
use testkit::client::{Client, ClientError, Options};

use super::{NATIVE_HASH, NATIVE_PLUGIN, SECRET, SHA2_HASH, SHA2_PLUGIN, log_in};

const SHA256_PLUGIN: &str = "sha256_password";
const CLEAR_PLUGIN: &str = "mysql_clear_password";
const ED25519_PLUGIN: &str = "client_ed25519";

/// What clients begin with.
const PLUGINS: [&str; 5] = [NATIVE_PLUGIN, SHA2_PLUGIN, SHA256_PLUGIN, CLEAR_PLUGIN, ED25519_PLUGIN];

/// The forms of the password in the table, and their names.
const FORMS: [(&str, &str); 3] = [("clear", SECRET), ("native", NATIVE_HASH), ("sha2", SHA2_HASH)];

/// How accounts of a server are identified: a name for each, and the clause.
const fn accounts(db: &Backend) -> [(&'static str, &'static str); 2] {
    if db.is_mysql() {
        [
            ("sha2", "IDENTIFIED WITH caching_sha2_password BY 'secret'"),
            ("sha256", "IDENTIFIED WITH sha256_password BY 'secret'"),
        ]
    } else {
        [
            ("native", "IDENTIFIED VIA mysql_native_password USING PASSWORD('secret')"),
            ("ed25519", "IDENTIFIED VIA ed25519 USING PASSWORD('secret')"),
        ]
    }
}

/// Creates an account on the server for each form, account and number, and a proxy that knows them.
fn proxy(db: &Backend, prefix: &str, count: usize, over_socket: bool) -> Proxy {
    let mut setup = Setup::new(&db.sandbox);
    setup = if over_socket {
        setup.row("mysql_servers", &format!("hostname = '{}'\nport = 0", db.server.socket().display()))
    } else {
        setup.server(&db.server, "")
    };
    let mut create = String::new();
    for (form, password) in FORMS {
        for (account, clause) in accounts(db) {
            for number in 0..count {
                let name = format!("{prefix}_{form}_{account}_{number}");
                create.extend(["CREATE USER ", &name, " ", clause, ";"]);
                setup = setup.user(&name, password, "");
            }
        }
    }
    db.sql(&create);
    setup.start()
}

/// The first query of a login to the proxy: who the server takes the client for.
async fn first_query(options: &Options) -> Result<String, ClientError> {
    let mut client = Client::connect(options).await.unwrap_or_else(|error| panic!("{options:?}: {error}"));
    let result = client.query("SELECT CURRENT_USER()").await?;
    Ok(result.first().unwrap())
}

fn every_combination_works(db: &'static Backend) {
    for over_socket in [false, true] {
        let prefix = if over_socket { "s" } else { "t" };
        let proxy = proxy(db, prefix, 2 * PLUGINS.len(), over_socket);
        run(async {
            for (form, _) in FORMS {
                for (account, _) in accounts(db) {
                    for (number, plugin) in PLUGINS.iter().chain(&PLUGINS).enumerate() {
                        let name = format!("{prefix}_{form}_{account}_{number}");
                        let private = number >= PLUGINS.len();
                        let options = if private {
                            Options::unix(proxy.socket(), &name, SECRET)
                        } else {
                            Options::tcp(proxy.tcp(), &name, SECRET)
                        };
                        let options = options.auth_plugin(plugin);
                        // A hash is not enough for another method, unless the client has shown
                        // more.
                        let shown = private && *plugin == CLEAR_PLUGIN;
                        if form == "native" && account != "native" && !shown {
                            let error = first_query(&options).await.unwrap_err();
                            assert_eq!(error.code(), Some(9002), "{options:?}: {error}");
                            assert!(error.to_string().contains("connect again"), "{error}");
                        }
                        for _ in 0..2 {
                            let user = first_query(&options).await;
                            let user = user.unwrap_or_else(|error| panic!("{options:?}: {error}"));
                            assert_eq!(user, format!("{name}@%"), "{options:?}");
                        }
                        let wrong = Options::tcp(proxy.tcp(), &name, "wrong").auth_plugin(plugin);
                        assert_eq!(
                            Client::connect(&wrong).await.unwrap_err().code(),
                            Some(1045),
                            "{wrong:?}"
                        );
                    }
                }
            }
        });
    }
}

fn the_command_line_client_logs_in_over_tls(db: &'static Backend) {
    let plugins = [NATIVE_PLUGIN, SHA2_PLUGIN, SHA256_PLUGIN, CLEAR_PLUGIN, ED25519_PLUGIN];
    let proxy = proxy(db, "c", 1, false);
    let port = format!("--port={}", proxy.tcp().port());
    for (form, _) in FORMS {
        for (account, _) in accounts(db) {
            let name = format!("c_{form}_{account}_0");
            let query = |plugin: &str| {
                let (user, plugin) = (format!("--user={name}"), format!("--default-auth={plugin}"));
                let arguments = [
                    "--no-defaults",
                    "--batch",
                    "--skip-column-names",
                    "--host=127.0.0.1",
                    "--ssl",
                    &port,
                    &user,
                    "--password=secret",
                    &plugin,
                    "--execute=SELECT CURRENT_USER()",
                ];
                let client = testkit::mariadb::find().unwrap().client;
                Running::start(&db.sandbox, client, arguments).wait()
            };
            if form == "native" && account != "native" {
                let output = query(NATIVE_PLUGIN);
                assert!(output.stderr.contains("ERROR 9002"), "{output:?}");
            }
            for plugin in plugins {
                assert_eq!(query(plugin).expect_success(), format!("{name}@%\n"), "{plugin}");
            }
        }
    }
}

/// Who begins with the method of its account takes no more messages to the proxy than to the
/// server.
fn a_login_costs_no_more_messages_than_at_the_server(db: &'static Backend) {
    let proxy = proxy(db, "m", 1, false);
    let cases: &[(&str, &str, &str)] = if db.is_mysql() {
        &[
            ("sha2", "sha2", SHA2_PLUGIN),
            ("sha2", "sha256", SHA256_PLUGIN),
            ("clear", "sha2", SHA2_PLUGIN),
            ("clear", "sha256", SHA256_PLUGIN),
        ]
    } else {
        &[
            ("native", "native", NATIVE_PLUGIN),
            ("clear", "native", NATIVE_PLUGIN),
            ("clear", "ed25519", ED25519_PLUGIN),
        ]
    };
    run(async {
        for (form, account, plugin) in cases {
            let name = format!("m_{form}_{account}_0");
            // The first and the second login: with caching_sha2_password, full and fast.
            for _ in 0..2 {
                let (direct, outcome) = log_in(db.server.address(), &name, SECRET, plugin).await;
                outcome.unwrap();
                let (through, outcome) = log_in(proxy.tcp(), &name, SECRET, plugin).await;
                outcome.unwrap();
                assert!(through <= direct, "{name} by {plugin}: {through} messages, {direct} at the server");
            }
        }
    });
}

on_each_server!(
    every_combination_works,
    the_command_line_client_logs_in_over_tls,
    a_login_costs_no_more_messages_than_at_the_server,
);
