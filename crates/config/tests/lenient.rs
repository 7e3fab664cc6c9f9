//! Files of other programs: what those start with, starts here with warnings, and is refused by
//! `--strict`.

use std::path::Path;

use config::schema::ADMIN_VARIABLES;
use config::{Loaded, Strictness, load};

fn read(name: &str, text: &str, strictness: Strictness) -> Result<Loaded, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    let shown = format!("{}/", folder.path().display());
    load(&path, strictness).map_err(|problems| problems.to_string().replace(&shown, "")).map(|loaded| {
        let warnings = loaded.warnings.iter().map(|warning| warning.replace(&shown, "")).collect();
        Loaded { warnings, ..loaded }
    })
}

fn lenient(name: &str, text: &str) -> Loaded {
    assert!(read(name, text, Strictness::Strict).is_err(), "{text}");
    read(name, text, Strictness::Lenient).unwrap_or_else(|problems| panic!("{problems}"))
}

fn warned(loaded: &Loaded, parts: &[&str]) {
    let is_it = |warning: &&String| parts.iter().all(|part| warning.contains(part));
    assert!(loaded.warnings.iter().any(|warning| is_it(&warning)), "{parts:?}: {:#?}", loaded.warnings);
}

#[test]
fn names_of_other_versions_are_left_out() {
    let loaded = lenient(
        "proxysql.cnf",
        "mysql_variables=\n{\n  interfaces=\"127.0.0.1:6033\"\n  ping_interval_server=10000\n  \
         mysql-max_connections=5\n}\npgsql_variables=\n{\n  interfaces=\"127.0.0.1:6133\"\n}\npgsql_users: ( )\n",
    );
    warned(&loaded, &["proxysql.cnf:4: ", "ping_interval_server", "left out"]);
    warned(&loaded, &["proxysql.cnf:5: ", "mysql-max_connections", "left out"]);
    warned(&loaded, &["proxysql.cnf:7: ", "pgsql_variables`; PostgreSQL is not proxied; it is left out"]);
    warned(&loaded, &["proxysql.cnf:11: ", "pgsql_users"]);
}

#[test]
fn values_that_cannot_be_keep_the_default_and_rows_are_skipped() {
    let loaded = lenient(
        "proxysql.cnf",
        "mysql_variables = { max_connections = -5 }\nmysql_servers = (\n  { address = \"a\", port = 3306 },\n  \
         { address = \"b\", port = 3306, weight = -1 },\n  { port = 3307 }\n)\nmysql_users = (\n  \
         { username = \"u\", password = \"first\" },\n  { username = \"u\", password = \"second\" }\n)\n",
    );
    assert_eq!(loaded.config.variables.max_connections, config::MysqlVariables::default().max_connections);
    warned(&loaded, &["proxysql.cnf:1: ", "max_connections", "the default is kept"]);
    assert_eq!(loaded.config.servers.len(), 1);
    warned(&loaded, &["proxysql.cnf:4: ", "weight", "the row is skipped"]);
    assert_eq!(loaded.left_out.len(), 5, "{:?}", loaded.left_out);
    warned(&loaded, &["proxysql.cnf:5: ", "needs `hostname`", "the row is skipped"]);
    assert_eq!(loaded.config.users.len(), 1);
    warned(&loaded, &["proxysql.cnf:8: ", "two rows with username = 'u'", "the row on line 9 counts"]);
}

#[test]
fn broken_grammar_is_refused_and_so_is_a_toml() {
    assert!(read("proxysql.cnf", "mysql_servers = (\n  { address = \"a\" ", Strictness::Lenient).is_err());
    let text = "[mysql_variables]\nping_interval_server = 1\n";
    assert!(read("pointsman.toml", text, Strictness::Lenient).is_err());
}

#[test]
fn localhost_is_an_address_of_a_listener() {
    let text = "mysql_variables = { interfaces = \"localhost:6033\" }\n";
    let loaded = read("proxysql.cnf", text, Strictness::Strict).unwrap();
    assert_eq!(loaded.config.listeners[0].address, "127.0.0.1:6033".parse().unwrap());
}

#[test]
fn routes_of_the_other_protocol_are_left_out() {
    let loaded = lenient(
        "mysqlrouter.conf",
        "[routing:classic]\nbind_address = 127.0.0.1:7001\ndestinations = db:3306\n\
         routing_strategy = first-available\nclient_ssl_mode = PREFERRED\nno_such_option = 1\n[routing:x]\n\
         bind_address = 127.0.0.1:7002\ndestinations = db:33060\nprotocol = x\nrouting_strategy = first-available\n",
    );
    assert_eq!(loaded.config.listeners.len(), 1);
    warned(&loaded, &["mysqlrouter.conf:10: ", "the route is left out"]);
    warned(&loaded, &["mysqlrouter.conf:6: ", "no_such_option", "left out"]);
    warned(&loaded, &["mysqlrouter.conf:5: ", "client_ssl_mode", "bytes are passed on"]);
    let required = "[routing:a]\nbind_address = 127.0.0.1:7001\ndestinations = db\nmode = read-write\n\
                    client_ssl_mode = REQUIRED\n";
    assert!(read("mysqlrouter.conf", required, Strictness::Lenient).is_err(), "clients without TLS get in");
}

#[test]
fn what_leads_nowhere_is_warned_of() {
    let text = "mysql_variables = { interfaces = \"127.0.0.1:6033\" }\n\
                mysql_servers = (\n  { address = \"db\", hostgroup = 1, max_connections = 0 }\n)\nmysql_users:\n(\n  \
                { username = \"app\", password = \"app\", default_hostgroup = 1 }\n)\nmysql_query_rules:\n(\n  \
                { rule_id = 1, active = 1, match_digest = \"^SELECT\", destination_hostgroup = 20, apply = 1 },\n  \
                { rule_id = 2, active = 0, match_digest = \"^SELECT\", destination_hostgroup = 30, apply = 1 }\n)\n";
    let loaded = read("proxysql.cnf", text, Strictness::Strict).unwrap();
    warned(&loaded, &["hostgroup 20 has no server", "rule `1`"]);
    warned(&loaded, &["hostgroup 1", "`max_connections` is 0"]);
    assert!(!loaded.warnings.iter().any(|warning| warning.contains("30")));
}

/// Else the process would not start.
#[test]
fn addresses_that_are_one_are_refused() {
    let read = |top: &str| {
        let text = format!("{top}\nmysql_servers = ( {{ address = \"db\", hostgroup = 0 }} )\n");
        read("proxysql.cnf", &text, Strictness::Lenient)
    };
    let problem = |top: &str| read(top).unwrap_err();
    assert_eq!(
        problem("mysql_variables = { interfaces = \"0.0.0.0:6033;127.0.0.1:6033\" }"),
        "proxysql.cnf:1: 127.0.0.1:6033 is a part of 0.0.0.0:6033, where another listener is (line 1)"
    );
    let clients = "mysql_variables = { interfaces = \"127.0.0.1:6033\" }\n";
    assert_eq!(
        problem(&format!("{clients}admin_variables = {{ mysql_ifaces = \"0.0.0.0:6033\" }}")),
        "proxysql.cnf:2: the admin port cannot be at 0.0.0.0:6033 (`admin_variables.mysql_ifaces`): clients \
         connect at 127.0.0.1:6033"
    );
    let web =
        read(&format!("{clients}pointsman_variables = {{ web_address = \"127.0.0.1:6033\" }}")).unwrap();
    warned(
        &web,
        &["`pointsman-web_address` cannot be 127.0.0.1:6033: 127.0.0.1:6033 is where clients connect"],
    );
}

#[test]
fn rows_whose_columns_do_not_go_together_are_skipped() {
    let text = "mysql_servers = ( { address = \"a\", port = 3306 } )\nmysql_replication_hostgroups = (\n  \
                { writer_hostgroup = 1, reader_hostgroup = 1 },\n  { writer_hostgroup = 2, reader_hostgroup = 3 }\n)\n";
    let loaded = lenient("proxysql.cnf", text);
    warned(&loaded, &["proxysql.cnf:3: ", "mysql_replication_hostgroups", "the row is skipped"]);
    let pairs = &loaded.config.replication_hostgroups;
    assert_eq!((pairs.len(), pairs[0].writer_hostgroup), (1, 2));
    assert!(read("proxysql.cnf", text, Strictness::Strict).is_err());
}

#[test]
fn a_row_that_is_skipped_is_named_by_its_key() {
    let text = "mysql_servers = ( { address = \"a\", port = 3306, hostgroup = 0 } )\nmysql_query_rules = (\n  \
                { rule_id = 7, active = 2, apply = 1 },\n  { rule_id = 8, active = 1, apply = 1 }\n)\n";
    let loaded = lenient("proxysql.cnf", text);
    warned(&loaded, &["proxysql.cnf:3: row rule_id=7: ", "active", "the row is skipped"]);
    assert_eq!(loaded.left_out.len(), 1, "{:?}", loaded.left_out);
    let rules: Vec<_> = loaded.config.query_rules.iter().map(|rule| rule.rule_id).collect();
    assert_eq!(rules, [8]);
}

#[test]
fn a_server_that_is_the_proxy_itself_is_refused() {
    let text = "mysql_variables = { interfaces = \"127.0.0.1:6033\" }\n\
                mysql_servers = ( { address = \"localhost\", port = 6033 } )\n";
    let problems = read("proxysql.cnf", text, Strictness::Lenient).unwrap_err();
    assert!(problems.ends_with("which is where clients connect to the proxy itself"), "{problems}");
}

/// A route that passes TLS on is not told of the modes of another one.
#[test]
fn tls_modes_are_those_of_their_route() {
    let route = |name: &str, port: u16, modes: &str| {
        format!(
            "[routing:{name}]\nbind_port={port}\nrouting_strategy=first-available\ndestinations=db\n{modes}\n"
        )
    };
    let one = route("one", 7001, "client_ssl_mode=PASSTHROUGH\nserver_ssl_mode=AS_CLIENT");
    let two = route("two", 7002, "client_ssl_mode=PREFERRED\nserver_ssl_mode=DISABLED");
    let loaded = lenient("mysqlrouter.conf", &format!("{one}{two}"));
    warned(&loaded, &["`client_ssl_mode` in [routing:two] is `PREFERRED`"]);
    warned(&loaded, &["`server_ssl_mode` in [routing:two] is `DISABLED`"]);
    let told = loaded.warnings.iter().filter(|warning| warning.contains("ssl_mode"));
    assert!(!told.clone().any(|warning| warning.contains("[routing:one]")), "{:#?}", loaded.warnings);
    let required = route("three", 7003, "client_ssl_mode=REQUIRED");
    let refused = read("mysqlrouter.conf", &format!("{one}{required}"), Strictness::Lenient).unwrap_err();
    assert!(
        refused.contains("[routing:three] is `REQUIRED`") && !refused.contains("[routing:one]"),
        "{refused}"
    );
}

#[test]
fn accounts_of_the_admin_port_are_proxysql_s_in_its_files_only() {
    let admin = |text: &str, name: &str| {
        let loaded = config::parse(text, Path::new(name)).unwrap();
        let admin = &loaded.config.admin;
        let accounts = |list: &config::Credentials| {
            list.iter().map(|(user, password)| format!("{user}:{password}")).collect::<Vec<_>>().join(";")
        };
        let addresses: Vec<String> = admin.mysql_ifaces.iter().map(ToString::to_string).collect();
        let warned = loaded.warnings.iter().any(|warning| warning.contains("every user of this machine"));
        let (field, _) = ADMIN_VARIABLES.find("admin_credentials").unwrap();
        let shown =
            [accounts(&admin.admin_credentials), accounts(&admin.stats_credentials), addresses.join(";")];
        (shown.join(" "), warned, loaded.draft.gives(&ADMIN_VARIABLES, field))
    };
    let told = |shown: &str, warned, given| (shown.to_owned(), warned, given);
    for text in ["", "[mysql_variables]\nthreads = 1", "[admin_variables]\nread_only = true"] {
        assert_eq!(admin(text, "x.toml"), told("  127.0.0.1:6032", false, false), "{text}");
    }
    for text in ["mysql_servers = ( );", "admin_variables = { read_only = true }", "datadir = \"/\""] {
        let all = "admin:admin stats:stats 0.0.0.0:6032";
        assert_eq!(admin(text, "x.cnf"), told(all, true, false), "{text}");
    }
    let own = "admin_variables = { admin_credentials = \"a:b\" stats_credentials = \"\" mysql_ifaces = \"[::1]:1\" }";
    assert_eq!(admin(own, "x.cnf"), told("a:b  [::1]:1", false, true));
    let own = "[admin_variables]\nadmin_credentials = 'admin:admin'";
    assert_eq!(admin(own, "x.toml"), told("admin:admin  127.0.0.1:6032", true, true));
}
