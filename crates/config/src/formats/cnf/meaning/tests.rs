use std::path::Path;

use crate::{Loaded, Strictness, parse};

/// What a file means to `serve`, with its bare name in the warnings.
fn loaded(text: &str) -> Loaded {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("proxysql.cnf");
    std::fs::write(&path, text).unwrap();
    let loaded = crate::load(&path, Strictness::Lenient).unwrap_or_else(|problems| panic!("{problems}"));
    let shown = format!("{}/", folder.path().display());
    let warnings = loaded.warnings.iter().map(|warning| warning.replace(&shown, "")).collect();
    Loaded { warnings, ..loaded }
}

/// The warnings about what ProxySQL passes over.
fn passed_over(loaded: &Loaded) -> Vec<&str> {
    let all = loaded.warnings.iter().map(String::as_str);
    all.filter(|warning| warning.contains(": ProxySQL ")).collect()
}

#[test]
fn rows_have_the_defaults_of_the_reader_of_the_file() {
    let loaded = loaded(
        "mysql_query_rules = ( { rule_id = 1 }, { rule_id = 2, active = 0 }, { rule_id = 3, active = 1 } )\n\
         mysql_aws_aurora_hostgroups = (\n  { writer_hostgroup = 1, reader_hostgroup = 2, domain_name = \".x\" },\n  \
         { writer_hostgroup = 3, reader_hostgroup = 4, domain_name = \".x\", check_timeout_ms = 900 }\n)\n",
    );
    let active: Vec<bool> = loaded.config.query_rules.iter().map(|rule| rule.active).collect();
    assert_eq!(active, [true, false, true]);
    let timeouts = loaded.config.aurora_hostgroups.iter().map(|row| row.check_timeout.as_millis());
    assert_eq!(timeouts.collect::<Vec<_>>(), [1_000, 900]);
    assert_eq!(passed_over(&loaded), [""; 0]);
}

/// `DEFAULT 0` of the table is for `INSERT`, and for files of this proxy.
#[test]
fn a_toml_has_the_defaults_of_the_table() {
    let loaded =
        parse("[[mysql_query_rules]]\nrule_id = 1\nmatch_digest = \"x\"\n", Path::new("pointsman.toml"));
    assert!(!loaded.unwrap().config.query_rules.iter().any(|rule| rule.active));
}

#[test]
fn a_negative_number_is_null_where_null_may_be() {
    let loaded = loaded(
        "mysql_query_rules = ( { rule_id = 1, destination_hostgroup = -1, flagOUT = -1, cache_ttl = -1, log = -1 } )\n",
    );
    let rule = loaded.config.query_rules.iter().next().unwrap();
    assert_eq!((rule.destination_hostgroup, rule.flag_out, rule.log), (None, None, None));
    assert!(parse("mysql_query_rules = ( { rule_id = 1, flagIN = -1 } )\n", Path::new("a.cnf")).is_err());
}

#[test]
fn what_is_not_read_does_not_count_and_is_named_once() {
    let loaded = loaded(
        "mysql_users = (\n  { username = \"a\", frontend = 0 },\n  { username = \"b\", frontend = 0, active = false },\n  \
         { username = \"c\", frontend = 1, active = true }\n)\n\
         mysql_servers = ( { address = \"h\", hostgroup = 0, status = \"UP\", use_ssl = true, weight = \"7\" } )\n\
         mysql_replication_hostgroups = ( { writer_hostgroup = 0, reader_hostgroup = 1, check_type = \"read_only|innodb_read_only\" } )\n\
         mysql_galera_hostgroups = ( { writer_hostgroup = 10, backup_writer_hostgroup = 11, reader_hostgroup = 12, offline_hostgroup = 13, active = 0 } )\n",
    );
    assert!(loaded.config.users.iter().all(|user| user.frontend && user.active));
    let server = &loaded.config.servers[0];
    assert_eq!((server.status, server.use_ssl, server.weight), (crate::ServerStatus::Online, false, 1));
    assert!(loaded.config.galera_hostgroups.iter().all(|row| row.active));
    assert_eq!(loaded.config.replication_hostgroups[0].check_type, "read_only");
    assert_eq!(
        passed_over(&loaded),
        [
            "proxysql.cnf:2: ProxySQL does not read `mysql_users.frontend` from a file; 1 counts (1 more like it)",
            "proxysql.cnf:3: ProxySQL reads only whole numbers in `mysql_users.active`, not false; 1 counts",
            "proxysql.cnf:6: ProxySQL reads only `ONLINE`, `SHUNNED`, `OFFLINE_SOFT`, `OFFLINE_HARD` in \
             `mysql_servers.status`, not \"UP\"; ONLINE counts",
            "proxysql.cnf:6: ProxySQL reads only whole numbers in `mysql_servers.use_ssl`, not true; 0 counts",
            "proxysql.cnf:6: ProxySQL reads only whole numbers in `mysql_servers.weight`, not \"7\"; 1 counts",
            "proxysql.cnf:7: ProxySQL reads only `read_only`, `innodb_read_only`, `super_read_only` in \
             `mysql_replication_hostgroups.check_type`, not \"read_only|innodb_read_only\"; read_only counts",
            "proxysql.cnf:8: ProxySQL does not read `mysql_galera_hostgroups.active` from a file; 1 counts",
        ]
    );
}

#[test]
fn what_cannot_be_is_refused_by_strict() {
    let status = "mysql_servers = ( { address = \"h\", hostgroup = 0, status = \"UP\" } )\n";
    let problems = parse(status, Path::new("a.cnf")).unwrap_err().to_string();
    assert!(problems.starts_with("a.cnf:1: `mysql_servers.status` must be one of"), "{problems}");
}

/// ProxySQL saves two rows of a user; its reader makes one of them.
#[test]
fn halves_of_a_user_are_one() {
    let row = |sides: &str| format!("{{ username = \"u\", password = \"p\", {sides} }}");
    let (client, server) = (row("backend = 0, frontend = 1"), row("backend = 1, frontend = 0"));
    for rows in [format!("{client}, {server}"), format!("{server}, {client}")] {
        let text = format!("mysql_users = ( {rows} )\n");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("proxysql.cnf");
        std::fs::write(&path, &text).unwrap();
        for strictness in [Strictness::Strict, Strictness::Lenient] {
            let loaded = crate::load(&path, strictness).unwrap();
            let [user] = &loaded.config.users[..] else { panic!("{:?}", loaded.config.users) };
            assert!(user.frontend && user.backend, "{text}");
            assert_eq!(passed_over(&loaded), [""; 0], "{text}");
        }
    }
}

/// A file that was saved here has variables of this proxy.
#[test]
fn what_was_saved_here_counts_as_it_stands() {
    let loaded = loaded(
        "pointsman_variables = { }\nmysql_users = (\n  { username = \"u\", backend = 1, frontend = 0 },\n  \
         { username = \"u\", backend = 0, frontend = 1, active = false }\n)\n",
    );
    let sides: Vec<_> = loaded.config.users.iter().map(|user| (user.backend, user.active)).collect();
    assert_eq!(sides, [(true, true), (false, false)]);
}
