//! Names and values, judged the same way in both formats.

use std::path::Path;
use std::time::Duration;

use crate::model::{Address, AuthPlugin, Config, Role, ServerStatus};
use crate::{Loaded, parse};

/// What a text means, but for the accounts of the admin port, which formats have of their own.
fn loaded(text: &str) -> Loaded {
    let mut loaded = parse(text, Path::new("f")).unwrap_or_else(|problems| panic!("{problems}\n{text}"));
    loaded.config.admin = Config::default().admin;
    loaded.warnings.retain(|warning| !warning.contains("every user of this machine"));
    loaded
}

pub(super) fn config(text: &str) -> Config {
    loaded(text).config
}

/// The problems of a broken text, one per line.
pub(super) fn problems(text: &str) -> String {
    match parse(text, Path::new("f")) {
        Ok(loaded) => panic!("accepted: {loaded:?}\n{text}"),
        Err(problems) => problems.to_string(),
    }
}

/// A server in hostgroup 0 and a user, so that nothing else is to be said about a file.
const REST: &str = "\n[[mysql_servers]]\naddress = \"db\"\n[[mysql_users]]\nusername = \"u\"\n";

#[test]
fn an_empty_file_means_the_defaults() {
    for text in ["", "# nothing\n", "\u{feff}"] {
        assert_eq!(config(text), Config::default());
    }
    assert_eq!(Config::default().listeners[0].address.to_string(), "0.0.0.0:6033");
}

#[test]
fn a_row_that_may_be_missing_something_is_no_sound_one() {
    // Nothing is said of the address, which may stand where the file could not be read.
    assert!(problems("[[listeners").starts_with("f:1: "));
    let text = problems("[[listeners]]\nrole = \"read_only\"\nhostgroup = 1\n[[listeners");
    assert!(!text.contains("address"), "{text}");
}

#[test]
fn both_formats_give_the_same_rows() {
    let toml = r#"
        [[listeners]]
        address = "/run/p.sock"
        [[listeners]]
        address = "[::1]:7000"
        protocol = "tcp"
        hostgroup = 7
        [mysql_variables]
        threads = 3
        default_authentication_plugin = "caching_sha2_password"
        use_tcp_keepalive = false
        connect_timeout_server = 1500
        tcp_keepalive_time = 60
        [pointsman_variables]
        drain_timeout_ms = 0
        [[mysql_servers]]
        hostgroup_id = 7
        hostname = "db"
        status = "offline_soft"
        weight = 0
        [[mysql_users]]
        username = "u"
        default_hostgroup = 7
        default_schema = "s"
        active = 0
    "#;
    let cnf = r#"
        listeners: ( { address = "/run/p.sock" }, { address="[::1]:7000", protocol="tcp", hostgroup=7 } )
        mysql_variables = { threads="3" default_authentication_plugin="CACHING_SHA2_PASSWORD"
            use_tcp_keepalive="FALSE" connect_timeout_server=0x5DC tcp_keepalive_time=60L }
        pointsman_variables = { drain_timeout_ms = 0 }
        mysql_servers = ( { hostgroup=7; address="db"; status="OFFLINE_SOFT"; weight=0 } )
        mysql_users = ( { username = "u", default_hostgroup = 7, default_schema = "s", active = false } )
    "#;
    let config = config(toml);
    assert_eq!(loaded(cnf).config, config);
    assert_eq!(config.listeners[0].address, Address::Unix("/run/p.sock".into()));
    assert_eq!((config.listeners[1].role, config.listeners[1].hostgroup), (Role::Tcp, Some(7)));
    assert_eq!(config.variables.threads, 3);
    assert_eq!(config.variables.default_authentication_plugin, AuthPlugin::CachingSha2Password);
    assert_eq!(config.variables.connect_timeout_server, Duration::from_millis(1500));
    assert_eq!(config.variables.tcp_keepalive_time, Duration::from_mins(1));
    assert_eq!(config.pointsman.drain_timeout, Duration::ZERO);
    assert_eq!(config.servers[0].status, ServerStatus::OfflineSoft);
    assert_eq!((config.servers[0].port, config.servers[0].weight), (3306, 0));
    assert_eq!((config.users[0].active, config.users[0].default_schema.as_deref()), (false, Some("s")));
}

/// An unknown key or a bad value stops the whole file, names the line and the nearest valid name,
/// and hides no other problem.
#[test]
fn c26_nothing_is_ignored_and_nothing_half_applied() {
    let broken = "datadri = \"/x\"
[mysql_variables]
max_conections = 5
threads = 0
wait_timeout = 1.5
use_tcp_keepalive = \"yes\"
default_authentication_plugin = \"caching_sha_password\"
[[mysql_servers]]
adress = \"db\"
status = \"ONLIN\"
[mysql_user]
";
    assert_eq!(
        problems(broken),
        "f:1: unknown setting `datadri`; did you mean `datadir`?
f:3: unknown setting `max_conections` in `mysql_variables`; did you mean `max_connections`?
f:4: `mysql_variables.threads` must be a whole number from 1 to 255, not 0
f:5: `mysql_variables.wait_timeout` must be a whole number from 1 to 1728000000 ms, not 1.5
f:6: `mysql_variables.use_tcp_keepalive` must be true or false, not \"yes\"
f:7: `mysql_variables.default_authentication_plugin` must be one of `mysql_native_password`, \
         `caching_sha2_password`, not \"caching_sha_password\"; did you mean `caching_sha2_password`?
f:8: a row of `mysql_servers` needs `hostname`
f:9: unknown setting `adress` in `mysql_servers`; did you mean `address`?
f:10: `mysql_servers.status` must be one of `ONLINE`, `SHUNNED`, `OFFLINE_SOFT`, `OFFLINE_HARD`, not \"ONLIN\"; \
         did you mean `ONLINE`?
f:11: unknown setting `mysql_user`; did you mean `mysql_users`?"
    );
}

#[test]
fn a_setting_in_the_wrong_place_is_sent_home() {
    assert_eq!(problems("threads = 4"), "f:1: unknown setting `threads`; it belongs in `mysql_variables`");
    assert_eq!(
        problems("[mysql_variables]\ndrain_timeout_ms = 1"),
        "f:2: unknown setting `drain_timeout_ms` in `mysql_variables`; it belongs in `pointsman_variables`"
    );
    assert_eq!(
        problems("mysql_variables={ mysql-threads=4 }"),
        "f:1: unknown setting `mysql-threads` in `mysql_variables`; did you mean `threads`?"
    );
}

#[test]
fn sections_have_their_shape() {
    for (text, problem) in [
        ("mysql_variables = 1", "f:1: `mysql_variables` must be a group of settings, not 1"),
        ("[[mysql_variables]]\nthreads=1", "f:1: `mysql_variables` must be a group of settings, not a list"),
        ("mysql_servers = { a = 1 }", "f:1: `mysql_servers` must be a list of groups, not a group"),
        ("mysql_users = (\n\"u\")", "f:2: a row of `mysql_users` must be a group, not \"u\""),
        ("mysql_users = 1979-05-27", "f:1: `mysql_users` must be a list of groups, not 1979-05-27"),
        ("ldap_variables = true", "f:1: `ldap_variables` must be a group of settings, not true"),
        ("datadir = { }", "f:1: `datadir` must be text in quotes, not a group"),
    ] {
        assert_eq!(problems(text), problem);
    }
}

#[test]
fn nothing_is_set_twice() {
    assert_eq!(
        problems("mysql_servers=({address=\"a\"\nhostname=\"b\"})"),
        "f:2: `mysql_servers.hostname` is set twice, first on line 1"
    );
    assert_eq!(
        problems("mysql_users=()\nmysql_users=()"),
        "f:2: `mysql_users` stands twice, first on line 1"
    );
    assert_eq!(problems("uuid=\"a\";\nuuid=\"a\""), "f:2: `uuid` is set twice, first on line 1");
    assert!(problems("[mysql_variables]\nthreads = 1\nthreads = 2").starts_with("f:3: "));
}

#[test]
fn keys_of_tables_are_unique() {
    let servers = "mysql_servers = ( { hostgroup=1, address=\"a\" },\n{ hostgroup=2, address=\"a\" },\n\
                   { hostgroup=1, address=\"a\", port=3306 } )";
    assert_eq!(
        problems(servers),
        "f:3: `mysql_servers` has two rows with hostgroup_id = 1, hostname = a, port = 3306, the first on line 1"
    );
    // As they are saved here: one row for clients, one for servers.
    let split = "mysql_users = ( { username=\"u\", frontend=1, backend=0 },\n{ username=\"u\", frontend=0, backend=1 } )\n\
                 pointsman_variables = { }";
    assert_eq!(config(split).users.len(), 2);
    let twice = split.replace("frontend=0", "frontend=1");
    assert_eq!(
        problems(&twice),
        "f:2: `mysql_users` has two rows with username = u, frontend = true, the first on line 1"
    );
    let rules = "mysql_query_rules = ( { rule_id=1 },\n{ rule_id=1 } )";
    assert_eq!(
        problems(rules),
        "f:2: `mysql_query_rules` has two rows with rule_id = 1, the first on line 1"
    );
}

#[test]
fn interfaces_are_listeners() {
    let addresses = |text: &str| -> Vec<String> {
        config(text).listeners.iter().map(|listener| listener.address.to_string()).collect()
    };
    let both = "mysql_variables = { interfaces = \"127.0.0.1:1 ; /x.sock;\" }";
    assert_eq!(addresses(both), ["127.0.0.1:1", "/x.sock"]);
    assert_eq!(
        addresses(&format!("{both} listeners=({{address=\"127.0.0.1:2\"}})")),
        ["127.0.0.1:2", "127.0.0.1:1", "/x.sock"]
    );
    assert_eq!(addresses("listeners=({address=\"127.0.0.1:2\"})"), ["127.0.0.1:2"]);
    assert_eq!(addresses("mysql_variables = { interfaces = \"\" }"), ["0.0.0.0:6033"]);
    assert_eq!(addresses("mysql_variables = { interfaces = \"proxy:1;proxy:0\" }"), ["proxy:1", "proxy:0"]);
    // What is saved has every variable: beside rows the default counts as not given.
    let saved = "mysql_variables = { interfaces = \"0.0.0.0:6033\" } listeners=({address=\"127.0.0.1:2\"})";
    assert_eq!(addresses(saved), ["127.0.0.1:2"]);
    assert_eq!(addresses("listeners=({address=\"127.0.0.1:0\"},{address=\"127.0.0.1:0\"})").len(), 2);

    assert_eq!(
        problems(&format!("{both}\nlisteners=({{address=\"/x.sock\"}})")),
        "f:1: another listener has the address /x.sock (line 2)"
    );
    assert_eq!(problems("listeners=()"), "f:1: there is no listener: `listeners` is empty");
    assert_eq!(
        problems("mysql_variables = { interfaces = \"127.0.0.1:1;no host:2\" }"),
        "f:1: `mysql_variables.interfaces` is wrong: `no host:2` is no address: write 127.0.0.1:6033, [::1]:6033, \
         name:6033 or the absolute path of a Unix socket"
    );
}

#[test]
fn a_tcp_listener_needs_a_server() {
    let listener = "listeners = ( { address=\"127.0.0.1:1\", protocol=\"tcp\", hostgroup=1 } )";
    assert_eq!(
        problems(listener),
        "f:1: the tcp listener 127.0.0.1:1 has no server: `mysql_servers` has no row of hostgroup 1"
    );
    let served = format!("{listener} mysql_servers = ( {{ hostgroup=1, address=\"a\" }} )");
    assert_eq!(loaded(&served).warnings, Vec::<String>::new());
    assert_eq!(
        problems("listeners = ( { address=\"127.0.0.1:1\", hostgroup=1 } )"),
        "f:1: `listeners.hostgroup` may not be set with role = \"auto\": the users' rows decide where statements go"
    );
}

#[test]
fn a_table_of_heartbeats_is_named_with_its_schema() {
    let variable = |table: &str| {
        format!("mysql_variables = {{ monitor_replication_lag_use_percona_heartbeat=\"{table}\" }}")
    };
    for table in ["", "percona.heartbeat", " `per-cona`.heartbeat"] {
        let name = Some(table.trim()).filter(|table| !table.is_empty());
        assert_eq!(config(&variable(table)).monitor.heartbeat_table(), name);
    }
    for table in ["heartbeat", "a.b; DROP TABLE c", "a.`b", "a."] {
        let expected = format!(
            "f:1: `mysql_variables.monitor_replication_lag_use_percona_heartbeat` must be the name of a table with its \
             schema, not {table}"
        );
        assert_eq!(problems(&variable(table)), expected);
    }
}

#[test]
fn hostnames_and_ports_fit() {
    let server =
        |hostname: &str, port: u16| format!("mysql_servers = ( {{ address=\"{hostname}\", port={port} }} )");
    let longest = format!("/{}", "x".repeat(106));
    for (hostname, port) in [
        ("db1.example", 1),
        ("10.0.0.1", 65535),
        ("::1", 3306),
        ("fe80::1%eth0", 3306),
        ("/x.sock", 0),
        (&longest, 0),
    ] {
        assert_eq!(config(&server(hostname, port)).servers[0].hostname, hostname);
    }
    for (hostname, port, message) in [
        ("db", 0, "with `port = 0`, `mysql_servers.hostname` must be the absolute path of a Unix socket"),
        ("/x.sock", 3306, "`mysql_servers.hostname` is the path of a Unix socket, which needs `port = 0`"),
        ("", 3306, "`mysql_servers.hostname` must be a DNS name or an IP address (without brackets)"),
        ("db:3307", 3306, "`mysql_servers.hostname` must be without a port, which has the column `port`"),
        (
            "10.0.0.1:3306",
            3306,
            "`mysql_servers.hostname` must be without a port, which has the column `port`",
        ),
        ("[::1]", 3306, "`mysql_servers.hostname` must be a DNS name or an IP address (without brackets)"),
        ("a b", 3306, "`mysql_servers.hostname` must be a DNS name or an IP address (without brackets)"),
    ] {
        assert_eq!(problems(&server(hostname, port)), format!("f:1: {message}"));
    }
    assert!(problems(&server(&format!("{longest}x"), 0)).contains("has 108 bytes, at most 107 are possible"));
    assert_eq!(
        problems("mysql_users=({username=\"a\\x00b\"})"),
        "f:1: `mysql_users.username` must not hold a zero byte"
    );
}

#[test]
fn passwords_are_judged_and_never_repeated() {
    let user = |password: &str| format!("mysql_users = ( {{ username=\"u\", password={password} }} )");
    let native = "*6BB4837EB74329105EE4568DDA7DC67ED2CA2AD9";
    assert_eq!(config(&user(&format!("\"{native}\""))).users[0].password, native);
    let sha2 = r"$A$005$\x10\x1asalt of 20 bytes..ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopq";
    assert_eq!(config(&user(&format!("\"{sha2}\""))).users[0].password.len(), 70);
    assert_eq!(config(&user("\"\"")).users[0].password, "");
    for password in [&native[..40], "$A$005$short", "$A$006$x"] {
        let shown = problems(&user(&format!("\"{password}\"")));
        assert!(shown.starts_with("f:1: `mysql_users.password` "), "{shown}");
        assert!(!shown.contains(password), "{shown}");
    }
    assert_eq!(problems(&user("12345")), "f:1: `mysql_users.password` must be text in quotes");
    assert_eq!(problems(&user("hunter2")), "f:1: expected a value, found a word without quotes");
    let toml = problems("[[mysql_users]]\nusername = \"u\"\npassword = hunter2\n");
    assert!(toml.starts_with("f:3: ") && !toml.contains("hunter2"), "{toml}");
}

#[test]
fn a_server_in_one_hostgroup_of_a_cluster_serves_all_of_them() {
    let with = |reader: u32| {
        let cluster = format!(
            "\n[[mysql_galera_hostgroups]]\nwriter_hostgroup = 9\nbackup_writer_hostgroup = 8\n\
             reader_hostgroup = {reader}\noffline_hostgroup = 6\n\
             [[mysql_servers]]\nhostgroup_id = 8\nhostname = \"a\"\n\
             [[mysql_servers]]\nhostgroup_id = 1\nhostname = \"b\"\n\
             [[mysql_users]]\nusername = \"w\"\ndefault_hostgroup = 9\n\
             [[mysql_replication_hostgroups]]\nwriter_hostgroup = 1\nreader_hostgroup = 2\n"
        );
        loaded(&format!("{REST}{cluster}")).warnings
    };
    assert_eq!(with(7), Vec::<String>::new());
    assert_eq!(with(2), ["f: hostgroup 2 is part of more than one pair or cluster: one of them counts"]);
}

#[test]
fn users_without_servers_are_worth_a_warning() {
    let users = "\n[[mysql_users]]\nusername = \"lost\"\ndefault_hostgroup = 9\n\
                 [[mysql_users]]\nusername = \"late\"\ndefault_hostgroup = 9\nactive = false\n";
    assert_eq!(
        loaded(&format!("{REST}{users}")).warnings,
        ["f: hostgroup 9 has no server, and is the default_hostgroup of `lost`"]
    );
    assert_eq!(loaded("").warnings, ["f: nobody can log in: `mysql_users` has no active frontend user"]);
    assert_eq!(loaded(REST).warnings, Vec::<String>::new());
}

#[test]
fn known_settings_without_effect_are_named_in_one_warning() {
    let text = format!(
        "datadir = \"/x\"\nuuid = \"y\"\n[mysql_variables]\nthreads = 1\nforward_autocommit = 1\n\
         default_reconnect = false\nldap_user_variable = \"\"\n[admin_variables]\nweb_verbosity = 1\n[ldap_variables]\nanything = 1\n\
         [[mysql_query_rules]]\nrule_id = 1\nsticky_conn = 1\n{REST}schema_locked = 1\n"
    );
    assert_eq!(
        loaded(&text).warnings,
        ["f: accepted, but without effect so far: mysql_variables (forward_autocommit, default_reconnect), \
          admin_variables (web_verbosity), ldap_variables, \
          mysql_query_rules (sticky_conn), mysql_users (schema_locked), uuid"]
    );
}

#[test]
fn settings_without_effect_are_judged_too() {
    for (text, problem) in [
        (
            "admin_variables={ refresh_interval=5 }",
            "`admin_variables.refresh_interval` must be a whole number from 101 to 99999 ms, not 5",
        ),
        ("admin_variables={ nonsense=5 }", "unknown setting `nonsense` in `admin_variables`"),
        (
            "mysql_query_rules=({ rule_id=1, cache_ttl=0 })",
            "`mysql_query_rules.cache_ttl` must be a whole number of at least 1 ms, not 0",
        ),
        (
            "mysql_firewall_whitelist_rules=({ username=\"u\", client_address=\"\", schemaname=\"s\", digest=\"SELECT ?\", \
             comment=\"\" })",
            "`mysql_firewall_whitelist_rules.digest` must be a digest such as 0x1234567890ABCDEF, not \"SELECT ?\"",
        ),
        (
            "mysql_firewall_whitelist_sqli_fingerprints=({ fingerprint=\"SELECT ?\" })",
            "`mysql_firewall_whitelist_sqli_fingerprints.fingerprint` must be a fingerprint such as Enknk, not \"SELECT ?\"",
        ),
        (
            "mysql_query_rules=({ rule_id=\"x\" })",
            "`mysql_query_rules.rule_id` must be a whole number, not \"x\"",
        ),
    ] {
        assert_eq!(problems(text), format!("f:1: {problem}"));
    }
}

#[test]
fn options_of_servers_that_are_not_there_are_named() {
    let options = "[[pointsman_servers]]\nhostname = \"db\"\n";
    assert_eq!(loaded(&format!("{options}{REST}")).warnings, Vec::<String>::new());
    let warning = "f: `pointsman_servers` has db:3307, which `mysql_servers` has not";
    assert_eq!(loaded(&format!("{options}port = 3307\n{REST}")).warnings, [warning]);
    let twice = "f:3: `pointsman_servers` has two rows with hostname = db, port = 3306, the first on line 1";
    assert_eq!(problems(&format!("{options}{options}")), twice);
}

#[test]
fn columns_are_judged_together() {
    for (text, problem) in [
        (
            "mysql_replication_hostgroups=({ writer_hostgroup=1, reader_hostgroup=1 })",
            "`mysql_replication_hostgroups.reader_hostgroup` must differ from `writer_hostgroup`",
        ),
        (
            "mysql_servers=({ address=\"a\", gtid_port=3306 })",
            "`mysql_servers.gtid_port` must be 0 or differ from `port`",
        ),
        (
            "mysql_query_rules=({ rule_id=1, replace_pattern=\"x\" })",
            "`mysql_query_rules.replace_pattern` may only be set with `match_pattern`",
        ),
        (
            "mysql_aws_aurora_hostgroups=({ writer_hostgroup=1, reader_hostgroup=2, domain_name=\"x\" })",
            "`mysql_aws_aurora_hostgroups.domain_name` must start with `.`",
        ),
        (
            "mysql_users=({ username=\"u\", attributes=\"{x}\" })",
            "`mysql_users.attributes` must be JSON, or empty",
        ),
        (
            "admin_variables={ admin_credentials=\"secret\" }",
            "`admin_variables.admin_credentials` must be `user:password`, several separated by `;`",
        ),
    ] {
        assert_eq!(problems(text), format!("f:1: {problem}"));
    }
}

#[test]
fn networks_are_judged() {
    let text = "mysql_variables={ proxy_protocol_networks=\"10.0.0.0/8, localhost\" }";
    assert_eq!(
        problems(text),
        "f:1: `mysql_variables.proxy_protocol_networks` is wrong: `localhost` is no network: write 10.0.0.0/8, \
         192.0.2.1, 2001:db8::/32, or `*` alone for every address"
    );
}

#[test]
fn a_broken_file_does_not_accuse_what_could_not_be_read() {
    // The server that the listener needs, and the address that the row needs, may be in the broken
    // part.
    let cnf = "listeners=({address=\"127.0.0.1:1\", protocol=\"tcp\"})\nmysql_servers=({\naddress \"a\"})";
    assert_eq!(problems(cnf), "f:3: expected `=` or `:` after `address`, found a string");
    let toml = "[[mysql_servers]]\nhostname = \n[[mysql_users]]\nusername = \"u\"\nactve = 1\n";
    let shown = problems(toml);
    assert_eq!(shown.lines().count(), 2, "{shown}");
    assert!(
        shown.contains("f:5: unknown setting `actve` in `mysql_users`; did you mean `active`?"),
        "{shown}"
    );
}

#[test]
fn a_flood_of_problems_is_cut_short() {
    let shown = problems(&"[[mysql_servers]]\n".repeat(150));
    assert_eq!(shown.lines().count(), 101);
    assert!(shown.ends_with("\nf: 50 more problems are not shown"), "{shown}");
}

/// The operator would not notice otherwise that a limit of a user does not hold.
#[test]
fn members_of_json_that_mean_nothing_are_warned_of() {
    let text = r#"
        [[mysql_users]]
        username = "a"
        attributes = '{"max_qsp": 5, "hints": true}'
        [[mysql_query_rules]]
        rule_id = 1
        attributes = '{"flagOUTs": [], "ours": {}}'
        [[mysql_hostgroup_attributes]]
        hostgroup_id = 1
        hostgroup_settings = '{"balance": "weighted"}'
        servers_defaults = '{"wieght": 5}'
        [[mysql_hostgroup_attributes]]
        hostgroup_id = 2
        hostgroup_settings = '{"handle_warnings": 1}'
        [[mysql_hostgroup_attributes]]
        hostgroup_id = 3
        hostgroup_settings = '{"handle_warnings": 0}'
    "#;
    let warnings = loaded(text).warnings;
    let expected = [
        "mysql_users row username='a', backend=1: `attributes` with `max_qsp`, which means nothing here; did you mean `max_qps`?",
        "mysql_hostgroup_attributes row hostgroup_id=2, and 1 more row has: `hostgroup_settings` with `handle_warnings`, which has no effect so far",
        "mysql_query_rules row rule_id=1: `attributes` with `ours`, which means nothing here",
        "mysql_hostgroup_attributes row hostgroup_id=1: `servers_defaults` with `wieght`, which means nothing here; did you mean \
         `weight`?",
    ];
    for line in expected {
        assert!(warnings.contains(&format!("f: {line}")), "{line}\n{warnings:#?}");
    }
}
