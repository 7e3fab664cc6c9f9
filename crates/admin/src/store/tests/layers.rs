//! Moves between memory, disk, runtime and files.

use std::sync::atomic::Ordering;

use super::*;

#[test]
fn what_is_inserted_runs_when_it_is_loaded_and_stays_when_it_is_saved() {
    let (mut store, plane) = store();
    assert_eq!(
        store.sql("INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (1,'a'),(1,'b')"),
        "OK 2"
    );
    assert_eq!(store.runtime_of("runtime_mysql_servers", "hostname"), "");
    assert_eq!(store.loaded(Module::MysqlServers), "OK 0");
    assert_eq!(plane.last().servers.len(), 2);
    assert_eq!(
        store.runtime_of("runtime_mysql_servers", "hostgroup_id, hostname, port"),
        "1|a|3306\n1|b|3306"
    );

    assert_eq!(store.moved(Module::MysqlServers, Move::MemoryToDisk), "OK 0");
    assert_eq!(store.sql("DELETE FROM mysql_servers"), "OK 2");
    assert_eq!(store.moved(Module::MysqlServers, Move::DiskToMemory), "OK 0");
    assert_eq!(store.sql("SELECT COUNT(*) FROM mysql_servers"), "2");
    assert_eq!(store.sql("UPDATE mysql_servers SET weight=7"), "OK 2");
    assert_eq!(store.moved(Module::MysqlServers, Move::RuntimeToMemory), "OK 0");
    assert_eq!(store.sql("SELECT DISTINCT weight FROM mysql_servers"), "1");
}

/// A load that is refused says which row and column, and changes nothing.
#[test]
fn c26_a_load_with_a_bad_row_changes_nothing() {
    let (mut store, plane) = store();
    store.sql("INSERT INTO mysql_servers (hostgroup_id, hostname, weight) VALUES (1,'a',3)");
    store.loaded(Module::MysqlServers);
    store.sql("INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (1,'b c'),(2,'/x')");
    assert_eq!(
        store.loaded(Module::MysqlServers),
        "ERROR 1045 ProxySQL Admin Error: MYSQL SERVERS not loaded: mysql_servers row hostgroup_id=1, hostname='b c', \
         port=3306: `hostname` must be a DNS name or an IP address (without brackets); mysql_servers row \
         hostgroup_id=2, hostname='/x', port=3306: `hostname` is the path of a Unix socket, which needs `port = 0`"
    );
    assert_eq!(plane.count(), 1);
    assert_eq!(store.runtime_of("runtime_mysql_servers", "hostname, weight"), "a|3");
    assert_eq!(store.sql("SELECT COUNT(*) FROM mysql_servers"), "3");
}

#[test]
fn what_the_proxy_refuses_does_not_run() {
    let (mut store, plane) = store();
    store.sql("INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (1,'a')");
    plane.refuses.store(true, Ordering::Relaxed);
    assert_eq!(
        store.loaded(Module::MysqlServers),
        "ERROR 1045 ProxySQL Admin Error: MYSQL SERVERS not loaded: the configuration was not applied: not today"
    );
    assert_eq!(store.runtime_of("runtime_mysql_servers", "*"), "");
}

/// ProxySQL restores a rejected value, deletes an unknown name, and answers OK.
#[test]
fn c26_bad_variables_are_errors_and_stay_to_be_corrected() {
    let (mut store, _) = store();
    assert_eq!(shown(store.set_variable("mysql-wait_timeout", "5", Rights::Admin)), "OK 1");
    assert_eq!(store.variable("mysql-wait_timeout").as_deref(), Some("28800000"));
    assert_eq!(store.loaded(Module::MysqlVariables), "OK 0");
    assert_eq!(store.variable("mysql-wait_timeout").as_deref(), Some("5"));

    store.sql(
        "UPDATE global_variables SET variable_value='never' WHERE variable_name='mysql-max_connections'",
    );
    store.sql("INSERT INTO global_variables VALUES ('mysql-max_conections', '1')");
    assert_eq!(
        store.loaded(Module::MysqlVariables),
        "ERROR 1045 ProxySQL Admin Error: MYSQL VARIABLES not loaded: global_variables: there is no variable \
         `mysql-max_conections`; did you mean `max_connections`?; global_variables: `mysql-max_connections` must be a \
         whole number from 1 to 1000000, not \"never\""
    );
    let kept = "SELECT COUNT(*) FROM global_variables WHERE variable_name LIKE 'mysql-max_con%ections'";
    assert_eq!(store.sql(kept), "2");
}

#[test]
fn set_of_unknown_names() {
    let (mut store, _) = store();
    assert_eq!(
        shown(store.set_variable("mysql-wait_timeot", "5", Rights::Admin)),
        "ERROR 1045 ProxySQL Admin Error: ERROR: Unknown global variable: 'mysql-wait_timeot'. Did you mean \
         `mysql-wait_timeout`?"
    );
    // What drivers set, they believe to have set.
    assert_eq!(
        shown(store.set_variable("sql_mode", "", Rights::Admin)),
        "OK 0 ERROR: Unknown global variable: 'sql_mode'."
    );
    assert!(shown(store.set_variable("mysql-init_connect", "", Rights::Admin)).starts_with("ERROR 1045"));
    assert!(shown(store.set_variable("mysql-threads", "2", Rights::Stats)).starts_with("ERROR 1045"));
}

/// ProxySQL takes such a value, shows it, and puts the old one back when it is loaded, with OK.
#[test]
fn c26_a_value_that_a_variable_cannot_have_is_refused_at_once() {
    let (mut store, _) = store();
    for (name, value, why) in [
        ("mysql-multiplexing", "perhaps", "`mysql-multiplexing` must be true or false, not \"perhaps\""),
        ("MYSQL-Multiplexing", "2", "`mysql-multiplexing` must be true or false, not \"2\""),
        (
            "mysql-max_connections",
            "0",
            "`mysql-max_connections` must be a whole number from 1 to 1000000, not \"0\"",
        ),
        ("admin-restapi_enabled", "", "`admin-restapi_enabled` must be true or false, not \"\""),
        (
            "pointsman-check_logins",
            "alway",
            "`pointsman-check_logins` must be one of `never`, `first`, `always`, not \"alway\"; did you mean `always`?",
        ),
    ] {
        let shown_before = store.sql(&format!(
            "SELECT variable_value FROM global_variables WHERE variable_name = LOWER('{name}')"
        ));
        let expected = format!("ERROR 1045 ProxySQL Admin Error: {why}");
        assert_eq!(shown(store.set_variable(name, value, Rights::Admin)), expected);
        let shown_now = store.sql(&format!(
            "SELECT variable_value FROM global_variables WHERE variable_name = LOWER('{name}')"
        ));
        assert_eq!(shown_now, shown_before, "{name}");
    }
    for (name, value) in
        [("mysql-multiplexing", "1"), ("mysql-multiplexing", "FALSE"), ("admin-version", "x")]
    {
        assert_eq!(shown(store.set_variable(name, value, Rights::Admin)), "OK 1", "{name}");
    }
}

#[test]
fn what_only_a_start_can_change_is_said_and_not_shown_as_running() {
    let (mut store, _) = store();
    let threads = store.variable("mysql-threads").unwrap();
    store.set_variable("mysql-threads", "77", Rights::Admin);
    assert_eq!(
        store.loaded(Module::MysqlVariables),
        "OK 0 saved values of mysql-threads take effect when the proxy starts again"
    );
    assert_eq!(store.variable("mysql-threads"), Some(threads));
    assert_eq!(
        store.sql("SELECT variable_value FROM global_variables WHERE variable_name='mysql-threads'"),
        "77"
    );
}

#[test]
fn accounts_show_one_row_for_each_side() {
    let (mut store, plane) = store();
    store.sql("INSERT INTO mysql_users (username, password) VALUES ('u','p')");
    store.sql("INSERT INTO mysql_users (username, active) VALUES ('gone',0)");
    store.loaded(Module::MysqlUsers);
    let columns = "username, password, frontend, backend";
    assert_eq!(store.runtime_of("runtime_mysql_users", columns), "u|p|1|0\nu|p|0|1");
    store.moved(Module::MysqlUsers, Move::RuntimeToMemory);
    assert_eq!(store.sql(&format!("SELECT {columns} FROM mysql_users")), "gone||1|1\nu|p|1|1");
    assert_eq!(plane.last().users.len(), 2);
}

#[test]
fn one_user_is_loaded_alone() {
    let (mut store, plane) = store();
    store.sql("INSERT INTO mysql_users (username) VALUES ('a'),('b')");
    assert_eq!(shown(store.load_user("a", "tester")), "OK 0");
    let names =
        |plane: &FakePlane| plane.last().users.iter().map(|user| user.username.clone()).collect::<Vec<_>>();
    assert_eq!(names(&plane), ["a"]);
    store.sql("DELETE FROM mysql_users");
    assert_eq!(shown(store.load_user("a", "tester")), "OK 0");
    assert!(names(&plane).is_empty());
    assert_eq!(shown(store.load_user("a b", "x")), "ERROR 1045 ProxySQL Admin Error: Invalid name a b");
}

/// Every module and direction, with a row in every table.
#[test]
fn all_modules_move_in_all_directions() {
    let (mut store, _) = store();
    for sql in [
        "INSERT INTO mysql_users (username) VALUES ('u')",
        "INSERT INTO mysql_servers (hostname) VALUES ('a')",
        "INSERT INTO mysql_replication_hostgroups (writer_hostgroup, reader_hostgroup) VALUES (1,2)",
        "INSERT INTO mysql_group_replication_hostgroups VALUES (1,2,3,4,1,1,0,0,NULL)",
        "INSERT INTO mysql_galera_hostgroups VALUES (11,12,13,14,1,1,2,0,'g')",
        "INSERT INTO mysql_aws_aurora_hostgroups (writer_hostgroup, reader_hostgroup, domain_name) VALUES (1,2,'.x')",
        "INSERT INTO mysql_hostgroup_attributes (hostgroup_id) VALUES (1)",
        "INSERT INTO mysql_servers_ssl_params (hostname) VALUES ('a')",
        "INSERT INTO pointsman_servers (hostname) VALUES ('a')",
        "INSERT INTO mysql_query_rules (active, match_pattern) VALUES (1,'\\d')",
        "INSERT INTO mysql_query_rules_fast_routing VALUES ('u','s',0,1,'')",
        "INSERT INTO mysql_firewall_whitelist_users VALUES (1,'u','','OFF','')",
        "INSERT INTO mysql_firewall_whitelist_rules VALUES (1,'u','','s',0,'0x1','')",
        "INSERT INTO mysql_firewall_whitelist_sqli_fingerprints VALUES (1,'s&1')",
        "INSERT INTO pointsman_shard_tables VALUES ('s','t','sharded','k','mod','','checked','')",
        "INSERT INTO pointsman_shard_nodes VALUES ('s','t',0,1,'','t_0')",
        "INSERT INTO pointsman_shard_groups VALUES ('s','g','t')",
        "INSERT INTO pointsman_shard_sequences VALUES ('s','t','id','segment',NULL,NULL,NULL)",
        "INSERT INTO pointsman_shard_homes VALUES ('',1,'')",
        "INSERT INTO scheduler (interval_ms, filename) VALUES (1000,'/bin/true')",
        "INSERT INTO restapi_routes (timeout_ms, method, uri, script) VALUES (1000,'get','x','/bin/true')",
        "INSERT INTO proxysql_servers (hostname) VALUES ('p')",
        "INSERT INTO coredump_filters VALUES ('f.cpp', 1)",
    ] {
        assert_eq!(store.sql(sql), "OK 1", "{sql}");
    }
    for module in Module::ALL {
        for by in [Move::MemoryToRuntime, Move::RuntimeToMemory] {
            let answer = store.moved(module, by);
            assert!(answer.starts_with("OK"), "{module:?} {by:?}: {answer}");
        }
        if module != Module::Coredump {
            for by in [Move::MemoryToDisk, Move::DiskToMemory] {
                let answer = store.moved(module, by);
                assert!(answer.starts_with("OK"), "{module:?} {by:?}: {answer}");
            }
        }
        for section in module.sections().iter().filter(|section| section.prefix.is_none()) {
            let table = section.table_name();
            if module == Module::PointsmanListeners {
                continue;
            }
            let count = |schema: &str, store: &mut Store| {
                store.sql(&format!("SELECT COUNT(*) FROM {schema}.{table}"))
            };
            assert_eq!(count("main", &mut store), "1", "{table}");
            assert_eq!(count("disk", &mut store), "1", "{table}");
            assert!(!store.runtime_of(&format!("runtime_{table}"), "*").is_empty(), "{table}");
        }
    }
    assert_eq!(store.sql("SELECT * FROM runtime_coredump_filters"), "f.cpp|1");
}

#[test]
fn the_file_that_is_written_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("proxysql.cnf");
    let (mut store, _) = store();
    store.sql("INSERT INTO mysql_servers (hostname, comment) VALUES ('a','say \"no\"')");
    store.sql("INSERT INTO mysql_hostgroup_attributes (hostgroup_id, init_connect) VALUES (1,'SET @a=\\''')");
    store.sql("INSERT INTO mysql_query_rules_fast_routing VALUES ('','s',0,1,'')");
    store.sql("INSERT INTO mysql_query_rules (rule_id, match_pattern) VALUES (1,'^a\\s\\\\b\\.')");
    store.set_variable("mysql-wait_timeout", "77", Rights::Admin);
    let all = "SELECT * FROM mysql_query_rules; ";
    let before = store.sql(all);
    let count = store.sql("SELECT COUNT(*) FROM global_variables WHERE variable_name LIKE 'mysql-%'");
    let saved = shown(store.save_config_to(&path));
    assert_eq!(saved, format!("OK 0 File {} is saved.", path.display()));

    store.set_file(&path);
    for table in
        ["mysql_servers", "mysql_hostgroup_attributes", "mysql_query_rules_fast_routing", "mysql_query_rules"]
    {
        store.sql(&format!("DELETE FROM {table}"));
    }
    store.set_variable("mysql-wait_timeout", "78", Rights::Admin);
    assert_eq!(store.moved(Module::MysqlServers, Move::FileToMemory), "OK 2");
    assert_eq!(store.moved(Module::MysqlQueryRules, Move::FileToMemory), "OK 2");
    assert_eq!(store.moved(Module::MysqlVariables, Move::FileToMemory), format!("OK {count}"));
    assert_eq!(store.sql(all), before);
    assert_eq!(store.sql("SELECT comment FROM mysql_servers"), "say \"no\"");
    let wait = "SELECT variable_value FROM global_variables WHERE variable_name='mysql-wait_timeout'";
    assert_eq!(store.sql(wait), "77");

    std::fs::write(&path, "mysql_servers = (").unwrap();
    assert!(
        store.moved(Module::MysqlServers, Move::FileToMemory).contains("Unable to open or parse config file")
    );
    let (mut other, _) = super::store();
    assert_eq!(
        other.moved(Module::MysqlServers, Move::FileToMemory),
        "ERROR 1045 ProxySQL Admin Error: Config file unknown"
    );
}

#[test]
fn what_runs_and_is_not_saved_is_a_difference() {
    let (mut store, _plane) = store();
    for module in [Module::MysqlVariables, Module::AdminVariables] {
        let saved = store.moved(module, Move::MemoryToDisk);
        assert!(saved.starts_with("OK "), "{saved}");
    }
    assert_eq!(shown(store.diff(Module::MysqlVariables)), "");
    store.sql("UPDATE global_variables SET variable_value=7 WHERE variable_name='mysql-max_connections'");
    store.loaded(Module::MysqlVariables);
    assert_eq!(
        shown(store.diff(Module::MysqlVariables)),
        "disk|global_variables|mysql-max_connections|changed|variable_value|10000|7"
    );
    store.sql("UPDATE disk.global_variables SET variable_value='2.0' WHERE variable_name='admin-version'");
    assert_eq!(shown(store.diff(Module::AdminVariables)), "", "saved by a former version of the program");
    let answer = shown(store.shift(Module::AdminVariables, Move::DiskToMemory, "t"));
    assert!(answer.starts_with("OK "), "{answer}");
    let old = "SELECT COUNT(*) FROM main.global_variables WHERE variable_name='admin-version' AND variable_value='2.0'";
    assert_eq!(shown(store.query(old)), "0");
    store.sql(
        "UPDATE disk.global_variables SET variable_value='x' WHERE variable_name='mysql-max_connections'",
    );
    let refused = shown(store.diff(Module::MysqlVariables));
    assert!(refused.contains("MYSQL VARIABLES on disk cannot be used, so not compared"), "{refused}");
}

#[test]
fn versions_can_be_compared_and_gone_back_to() {
    let (mut store, plane) = store();
    assert_eq!(
        shown(store.rollback(Module::MysqlServers, None, "t")),
        "ERROR 1045 ProxySQL Admin Error: MYSQL SERVERS has no former version"
    );
    for weight in [1, 2, 2, 3] {
        store.sql(&format!("REPLACE INTO mysql_servers (hostname, weight) VALUES ('a',{weight})"));
        store.loaded(Module::MysqlServers);
    }
    assert_eq!(
        store.sql("SELECT version, module, username FROM disk.pointsman_versions"),
        "1|MYSQL SERVERS|tester\n2|MYSQL SERVERS|tester\n3|MYSQL SERVERS|tester"
    );
    store.sql("UPDATE mysql_servers SET weight=9");
    store.sql("INSERT INTO mysql_servers (hostname) VALUES ('b')");
    assert_eq!(
        shown(store.diff(Module::MysqlServers)),
        "runtime|mysql_servers|hostgroup_id=0, hostname='a', port=3306|changed|weight|3|9\n\
         runtime|mysql_servers|hostgroup_id=0, hostname='b', port=3306|added|NULL|NULL|NULL\n\
         disk|mysql_servers|hostgroup_id=0, hostname='a', port=3306|added|NULL|NULL|NULL\n\
         disk|mysql_servers|hostgroup_id=0, hostname='b', port=3306|added|NULL|NULL|NULL"
    );
    assert_eq!(
        shown(store.rollback(Module::MysqlServers, None, "tester")),
        "OK 0 MYSQL SERVERS is that of version 2"
    );
    assert_eq!(plane.last().servers.iter().map(|server| server.weight).collect::<Vec<_>>(), [2]);
    assert_eq!(store.sql("SELECT hostname, weight FROM mysql_servers"), "a|2");
    assert_eq!(
        shown(store.diff(Module::MysqlServers)),
        "disk|mysql_servers|hostgroup_id=0, hostname='a', port=3306|added|NULL|NULL|NULL"
    );
    assert_eq!(
        shown(store.rollback(Module::MysqlServers, Some(1), "tester")),
        "OK 0 MYSQL SERVERS is that of version 1"
    );
    assert_eq!(
        shown(store.rollback(Module::MysqlServers, Some(99), "tester")),
        "ERROR 1045 ProxySQL Admin Error: MYSQL SERVERS has no version 99"
    );
}

#[test]
fn the_memory_layer_can_be_judged_without_loading_it() {
    let (mut store, plane) = store();
    assert_eq!(
        shown(store.check_config()),
        "warning|nobody can log in: `mysql_users` has no active frontend user"
    );
    store.sql("INSERT INTO mysql_servers (hostname) VALUES ('a b')");
    store.sql("UPDATE global_variables SET variable_value='0' WHERE variable_name='mysql-threads'");
    assert_eq!(
        shown(store.check_config()),
        "error|global_variables: `mysql-threads` must be a whole number from 1 to 255, not \"0\"\n\
         error|mysql_servers row hostgroup_id=0, hostname='a b', port=3306: `hostname` must be a DNS name or an IP \
         address (without brackets)"
    );
    assert_eq!(plane.count(), 0);
}

#[test]
fn checksums_count_loads_and_follow_contents() {
    let (mut store, _) = store();
    let columns = "name, version, checksum";
    let rows = |store: &mut Store| store.runtime_of("runtime_checksums_values", columns);
    assert_eq!(rows(&mut store).lines().nth(4).unwrap(), "mysql_users|0|");
    store.sql("INSERT INTO mysql_users (username) VALUES ('u')");
    store.loaded(Module::MysqlUsers);
    let first = rows(&mut store);
    let line = first.lines().nth(4).unwrap();
    assert!(line.starts_with("mysql_users|1|0x") && line.len() == "mysql_users|1|0x".len() + 16, "{line}");
    let all = shown(store.global_checksum());
    store.loaded(Module::MysqlUsers);
    assert_eq!(rows(&mut store), first.replace("mysql_users|1|", "mysql_users|2|"));
    assert_eq!(shown(store.global_checksum()), all);
    store.sql("INSERT INTO mysql_users (username) VALUES ('v')");
    store.loaded(Module::MysqlUsers);
    assert_ne!(shown(store.global_checksum()), all);
    assert_eq!(shown(store.checksum("main", "mysql_servers", "MYSQL SERVERS")), "MYSQL SERVERS|0x00");
    let memory = shown(store.checksum("main", "mysql_users", "MYSQL USERS"));
    assert_ne!(memory, "MYSQL USERS|0x00");
    assert_ne!(memory, shown(store.checksum("disk", "mysql_users", "MYSQL USERS")));
}

/// A list with a digest that names none would let nothing pass, and the operator would not know
/// why.
#[test]
fn a_firewall_rule_whose_digest_cannot_be_read_is_refused_with_its_row() {
    let (mut store, plane) = store();
    store.sql("INSERT INTO mysql_firewall_whitelist_users VALUES (1,'u','','PROTECTING','')");
    store.sql("INSERT INTO mysql_firewall_whitelist_rules VALUES (1,'u','','s',0,'SELECT ?','')");
    let load = Move::MemoryToRuntime;
    assert_eq!(
        store.moved(Module::MysqlFirewall, load),
        "ERROR 1045 ProxySQL Admin Error: MYSQL FIREWALL not loaded: mysql_firewall_whitelist_rules row username='u', \
         client_address='', schemaname='s', flagIN=0, digest='SELECT ?': `digest` must be a digest such as \
         0x1234567890ABCDEF, not \"SELECT ?\""
    );
    store.sql("UPDATE mysql_firewall_whitelist_rules SET digest = '0x1C46AE529DD5A40E'");
    assert!(store.moved(Module::MysqlFirewall, load).starts_with("OK"));
    let applied = plane.applied.lock().unwrap();
    let config = applied.last().unwrap();
    assert_eq!(config.firewall_users[0].mode, config::FirewallMode::Protecting);
    assert_eq!(config.firewall_rules[0].digest, "0x1C46AE529DD5A40E");
}

/// The same for a fingerprint that nothing has.
#[test]
fn a_fingerprint_that_cannot_be_one_is_refused_with_its_row() {
    let (mut store, plane) = store();
    store.sql("INSERT INTO mysql_firewall_whitelist_sqli_fingerprints VALUES (1,'enknk'), (0,'s&1c')");
    let load = Move::MemoryToRuntime;
    assert_eq!(
        store.moved(Module::MysqlFirewall, load),
        "ERROR 1045 ProxySQL Admin Error: MYSQL FIREWALL not loaded: mysql_firewall_whitelist_sqli_fingerprints row \
         fingerprint='enknk': `fingerprint` must be a fingerprint such as Enknk, not \"enknk\""
    );
    store.sql("UPDATE mysql_firewall_whitelist_sqli_fingerprints SET fingerprint = 'Enknk' WHERE active");
    assert!(store.moved(Module::MysqlFirewall, load).starts_with("OK"));
    let applied = plane.applied.lock().unwrap();
    let rows = &applied.last().unwrap().sqli_fingerprints;
    let rows: Vec<_> = rows.iter().map(|row| (row.active, row.fingerprint.as_str())).collect();
    assert_eq!(rows, [(true, "Enknk"), (false, "s&1c")]);
}

/// Nodes that a file no longer has would take rows of the table.
#[test]
fn a_file_replaces_all_nodes_of_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pointsman.toml");
    let text =
        "[[shards.table]]\nschema = 's'\ntable = 't'\nkey = 'k'\nfunction = 'mod'\nnodes = '1/s.t_${0..1}'\n";
    std::fs::write(&path, text).unwrap();
    let (mut store, _) = store();
    store.set_file(&path);
    store.sql("INSERT INTO pointsman_shard_nodes VALUES ('s','t',2,1,'','t_2'), ('s','other',0,1,'','')");
    assert_eq!(store.moved(Module::Shards, Move::FileToMemory), "OK 3");
    let nodes = "SELECT table_name, shard, physical_table FROM pointsman_shard_nodes ORDER BY 1, 2";
    assert_eq!(store.sql(nodes), "other|0|\nt|0|t_0\nt|1|t_1");
}
