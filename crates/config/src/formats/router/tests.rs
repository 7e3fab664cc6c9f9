//! Every option, what is refused, and where.

use std::path::Path;
use std::time::Duration;

use crate::model::{Address, Config, Listener, Role, Strategy};

/// A route that lacks nothing, and more options of it.
fn with(more: &str) -> String {
    format!(
        "[routing:a]\nbind_port=7001\nrouting_strategy=first-available\ndestinations=db1,db2:3307\n{more}\n"
    )
}

fn config(text: &str) -> Config {
    crate::parse(text, Path::new("f")).unwrap_or_else(|problems| panic!("{text}\n{problems}")).config
}

fn problems(text: &str) -> String {
    match crate::parse(text, Path::new("f")) {
        Ok(loaded) => panic!("{text}\n{loaded:?}"),
        Err(problems) => problems.to_string(),
    }
}

fn warnings(text: &str) -> Vec<String> {
    crate::parse(text, Path::new("f")).unwrap().warnings
}

#[test]
fn a_route_is_a_listener_and_a_hostgroup() {
    let config = config(&with(""));
    let [listener] = &config.listeners[..] else { panic!("{:?}", config.listeners) };
    assert_eq!(listener.address.to_string(), "127.0.0.1:7001");
    assert_eq!((listener.role, listener.hostgroup, listener.max_connections), (Role::Tcp, Some(0), 0));
    assert_eq!(listener.strategy, Some(Strategy::FirstAvailable));
    let servers: Vec<_> = config
        .servers
        .iter()
        .map(|server| (server.hostgroup_id, server.hostname.as_str(), server.port, server.max_connections))
        .collect();
    assert_eq!(servers, [(0, "db1", 3306, 512), (0, "db2", 3307, 512)]);
    assert_eq!(config.servers[0].comment, "[routing:a]");
    // MySQL Router's defaults.
    let variables = &config.variables;
    assert_eq!(variables.max_connections, 512);
    assert_eq!(variables.connect_timeout_server, Duration::from_secs(5));
    assert_eq!(variables.connect_timeout_server_max, Duration::from_secs(10));
    assert_eq!(variables.connect_timeout_client, Duration::from_secs(9));
    assert_eq!((variables.client_host_error_counts, variables.client_host_cache_size), (100, 10_000));
    assert!(!config.monitor.enabled, "nobody has named an account for that");
    assert!(config.admin.mysql_ifaces.is_empty(), "MySQL Router has no admin port");
    assert_eq!(warnings(&with("")), Vec::<String>::new());
}

#[test]
fn routes_have_hostgroups_of_their_own() {
    let text =
        format!("{}[routing]\nsocket=/r.sock\nrouting_strategy=round-robin\ndestinations=db1\n", with(""));
    let config = config(&text);
    assert_eq!(config.listeners[1].address, Address::Unix("/r.sock".into()));
    assert_eq!((config.listeners[1].hostgroup, config.servers[2].hostgroup_id), (Some(1), 1));
    assert_eq!(config.servers[2].comment, "[routing]");
}

#[test]
fn addresses() {
    let listen = |options: &str| {
        let text = format!("[routing:a]\nrouting_strategy=round-robin\ndestinations=db1\n{options}\n");
        let listeners = config(&text).listeners;
        listeners.iter().map(|listener| listener.address.to_string()).collect::<Vec<_>>().join(" ")
    };
    for (options, addresses) in [
        ("bind_address=0.0.0.0\nbind_port=1", "0.0.0.0:1"),
        ("bind_address=10.0.0.1:2\nbind_port=1", "10.0.0.1:2"),
        ("bind_address=::1\nbind_port=1", "[::1]:1"),
        ("bind_address=[::]:3", "[::]:3"),
        ("bind_address=localhost\nbind_port=0", "127.0.0.1:0"),
        ("bind_address=proxy.example.org\nbind_port=5", "proxy.example.org:5"),
        ("bind_address=proxy:6\nbind_port=5", "proxy:6"),
        ("socket=/a.sock", "/a.sock"),
        ("bind_address=0.0.0.0\nsocket=/a.sock", "/a.sock"),
        ("bind_port=4\nsocket=/a.sock", "127.0.0.1:4 /a.sock"),
    ] {
        assert_eq!(listen(options), addresses, "{options}");
    }
}

#[test]
fn the_destinations() {
    let servers = |destinations: &str| {
        let text =
            format!("[routing:a]\nbind_port=1\nrouting_strategy=round-robin\ndestinations={destinations}\n");
        let servers = config(&text).servers;
        servers.iter().map(|server| server.endpoint().to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        servers("a.example:1 , 10.0.0.1,[::1]:7 ,::2"),
        "a.example:1 10.0.0.1:3306 [::1]:7 [::2]:3306"
    );
    assert_eq!(servers("local:/run/mysqld.sock"), "/run/mysqld.sock");
}

#[test]
fn strategies_and_the_modes_of_old_versions() {
    for (option, strategy) in [
        ("routing_strategy=first-available", Strategy::FirstAvailable),
        ("routing_strategy = Next-Available", Strategy::NextAvailable),
        ("ROUTING_STRATEGY: round-robin", Strategy::RoundRobin),
        ("mode=read-write", Strategy::FirstAvailable),
        ("mode=read-only", Strategy::RoundRobin),
        ("mode=read-only\nrouting_strategy=first-available", Strategy::FirstAvailable),
    ] {
        let text = format!("[routing:a]\nbind_port=1\ndestinations=db1\n{option}\n");
        assert_eq!(config(&text).listeners[0].strategy, Some(strategy), "{option}");
    }
}

#[test]
fn numbers() {
    let text = format!(
        "[DEFAULT]\nmax_total_connections=700\nconnect_timeout=2\nclient_connect_timeout=30\n{}",
        with("max_connections=20\nmax_connect_errors=7")
    );
    let config = config(&text);
    assert_eq!((config.listeners[0].max_connections, config.variables.max_connections), (20, 700));
    assert_eq!(config.variables.connect_timeout_server, Duration::from_secs(2));
    assert_eq!(config.variables.connect_timeout_client, Duration::from_secs(30));
    assert_eq!(config.variables.client_host_error_counts, 7);
    assert_eq!(config.servers[0].max_connections, 700);
    // Every destination can be tried.
    let many = with("connect_timeout=20");
    assert_eq!(self::config(&many).variables.connect_timeout_server_max, Duration::from_secs(40));
}

#[test]
fn routes_have_numbers_of_their_own() {
    let text = format!(
        "[DEFAULT]\nmax_connect_errors=9\n{}[routing:b]\nbind_port=7002\nrouting_strategy=round-robin\n\
         destinations=a,b,c,d,e\nclient_connect_timeout=2\n",
        with("connect_timeout=3\nmax_connect_errors=4")
    );
    let config = config(&text);
    let numbers = |listener: &Listener| {
        let seconds = |time: Option<Duration>| time.map_or(0, |time| time.as_secs());
        (
            seconds(listener.connect_timeout_server),
            seconds(listener.connect_timeout_server_max),
            seconds(listener.connect_timeout_client),
            listener.client_host_error_counts,
        )
    };
    let [one, other] = &config.listeners[..] else { panic!("{:?}", config.listeners) };
    assert_eq!((numbers(one), numbers(other)), ((3, 10, 9, Some(4)), (5, 25, 2, Some(9))));
    // What is done for no single route has the most time.
    let variables = &config.variables;
    assert_eq!(variables.connect_timeout_server, Duration::from_secs(5));
    assert_eq!(variables.connect_timeout_server_max, Duration::from_secs(25));
    assert_eq!(
        (variables.connect_timeout_client, variables.client_host_error_counts),
        (Duration::from_secs(9), 9)
    );
    assert_eq!(warnings(&text), Vec::<String>::new());
}

#[test]
fn what_is_passed_on_needs_no_certificates() {
    for option in [
        "client_ssl_mode=passthrough",
        "client_ssl_mode=PASSTHROUGH\nserver_ssl_mode=AS_CLIENT",
        "protocol=classic",
    ] {
        assert_eq!(config(&with(option)).listeners[0].role, Role::Tcp, "{option}");
    }
}

#[test]
fn what_has_no_effect_is_warned_of() {
    let text = format!(
        "[DEFAULT]\nlogging_folder=/var/log\nuser=router\n[logger]\nlevel=INFO\n[keepalive]\ninterval=60\n{}",
        with("net_buffer_length=8192")
    );
    assert_eq!(
        warnings(&text),
        [
            "f: accepted, but without effect here: [DEFAULT] logging_folder, [DEFAULT] user, [logger] level, [keepalive], \
          [routing:a] net_buffer_length"
        ]
    );
}

#[test]
fn what_cannot_be_done_is_refused() {
    let route = |options: &str| format!("[routing:a]\nbind_port=1\n{options}\n");
    for (text, message) in [
        (with("protocol=x"), "f:5: `protocol` in [routing:a] cannot be `x`"),
        (
            with("protocol=clasic"),
            "f:5: `protocol` in [routing:a] must be one of `classic`, not `clasic`; did you mean `classic`?",
        ),
        (
            with("client_ssl_mode=PREFERRED"),
            "f:5: `client_ssl_mode` in [routing:a] is `PREFERRED`, which cannot be done without",
        ),
        (with("client_ssl_mode=required"), "f:5: `client_ssl_mode` in [routing:a] is `REQUIRED`, which"),
        (with("client_ssl_mode=DISABLED"), "f:5: `client_ssl_mode` in [routing:a] is `DISABLED`, which"),
        (with("client_ssl_mode=PREFERED"), "did you mean `PREFERRED`?"),
        (
            with("client_ssl_cert=/c.pem"),
            "f:5: `client_ssl_cert` in [routing:a] is for `client_ssl_mode` = `PREFERRED`",
        ),
        (with("server_ssl_mode=REQUIRED"), "f:5: `server_ssl_mode` in [routing:a] is `REQUIRED`; where"),
        (with("server_ssl_key=/k"), "f:5: `server_ssl_key` in [routing:a] cannot be set"),
        (
            with("access_mode=auto"),
            "f:5: `access_mode` in [routing:a] cannot be set: bytes are passed on unread",
        ),
        (with("connection_sharing=1"), "f:5: `connection_sharing` in [routing:a] must be 0"),
        (
            route("routing_strategy=round-robin\ndestinations=metadata-cache://c/default?role=PRIMARY"),
            "f:4: `destinations` in [routing:a] needs the metadata of an InnoDB Cluster",
        ),
        (
            route("routing_strategy=round-robin-with-fallback\ndestinations=a"),
            "f:3: `routing_strategy` in [routing:a] cannot be `round-robin-with-fallback` with static destinations",
        ),
        (
            format!("{}[metadata_cache:c]\nttl=5\n", with("")),
            "f:6: [metadata_cache:c] needs the metadata of an InnoDB Cluster",
        ),
    ] {
        let problems = problems(&text);
        assert!(problems.contains(message), "{text}\n{problems}");
    }
}

#[test]
fn what_is_wrong_is_named_with_line_and_what_was_meant() {
    let bare = "[routing:a]\nbind_port=1\n";
    for (text, message) in [
        (
            with("max_connection=5"),
            "f:5: unknown option `max_connection` in [routing:a]; did you mean `max_connections`?",
        ),
        (
            with("max_connections=-1"),
            "f:5: `max_connections` in [routing:a] must be a whole number from 0 to 65535, not `-1`",
        ),
        (
            with("connect_timeout=0"),
            "f:5: `connect_timeout` in [routing:a] must be a whole number from 1 to 120, not `0`",
        ),
        (with("client_connect_timeout=x"), "from 2 to 3600, not `x`"),
        (with("max_connect_errors=0"), "from 1 to 1048576, not `0`"),
        (format!("{bare}destinations=a"), "f:1: [routing:a] needs `routing_strategy`"),
        (format!("{bare}routing_strategy=round-robin"), "f:1: [routing:a] needs `destinations`"),
        (format!("{bare}routing_strategy=round-robbin\ndestinations=a"), "did you mean `round-robin`?"),
        (
            format!("{bare}mode=readonly\ndestinations=a"),
            "f:3: `mode` in [routing:a] must be one of `read-write`, `read-only`",
        ),
        (
            format!("{bare}routing_strategy=round-robin\ndestinations=a,,b"),
            "f:4: `destinations` in [routing:a] is wrong: `` is no server",
        ),
        (format!("{bare}routing_strategy=round-robin\ndestinations=a:0"), "`a:0` is no server"),
        (format!("{bare}routing_strategy=round-robin\ndestinations=a,a:3306"), "has a:3306 twice"),
        (
            "[routing:a]\nrouting_strategy=round-robin\ndestinations=a".to_owned(),
            "f:1: [routing:a] needs `bind_port`",
        ),
        (
            with("bind_address=example org"),
            "f:5: `bind_address` in [routing:a] is wrong: `example org` is no IP address",
        ),
        (with("socket=r.sock"), "f:5: `socket` in [routing:a] must be an absolute path"),
        (format!("[logger]\nlevel=inf\n{}", with("")), "f:2: `level` in [logger] must be one of"),
        (
            format!("[logger]\nlevels=info\n{}", with("")),
            "f:2: unknown option `levels` in [logger]; did you mean `level`?",
        ),
        (
            format!("[DEFAULT]\nloging_folder=\n{}", with("")),
            "f:2: unknown option `loging_folder` in [DEFAULT]; did you mean `logging_folder`?",
        ),
        (format!("[routng:b]\n{}", with("")), "unknown section [routng:b]; did you mean `routing`?"),
        (format!("{}[routing:a]\n", with("")), "f:6: [routing:a] stands twice, first on line 1"),
        (with("bind_port=5"), "f:5: `bind_port` in [routing:a] is set twice, first on line 2"),
        (with("x"), "f:5: expected `name = value` or `[section]`"),
        (format!("{}[routing:b\n", with("")), "f:6: a section ends with `]`"),
        ("[DEFAULT]\nuser=x\n".to_owned(), "f: there is no section [routing:NAME]"),
        (
            format!(
                "{}[routing:b]\nbind_port=7001\nrouting_strategy=round-robin\ndestinations=a\n",
                with("")
            ),
            "another listener has the address 127.0.0.1:7001 (line 2)",
        ),
    ] {
        // A section that is not the first, where the first decides which format it is.
        let text = if text.starts_with("[routng") { format!("[keepalive]\n{text}") } else { text };
        let problems = problems(&text);
        assert!(problems.contains(message), "{text}\n{problems}");
    }
}

#[test]
fn the_admin_port_has_an_address_if_the_file_gives_one() {
    let text = format!("{}[pointsman]\nadmin_address=127.0.0.1:6032\nadmin_credentials=a:b\n", with(""));
    assert_eq!(config(&text).admin.mysql_ifaces.len(), 1);
    assert_eq!(config(&text).admin.admin_credentials.password("a"), Some("b"));
    let text = format!("{}[pointsman]\nadmin_adress=127.0.0.1:6032\n", with(""));
    assert!(problems(&text).contains("did you mean `admin_address`?"));
}

#[test]
fn the_content_tells_the_format() {
    for text in [
        "# x\n\n[DEFAULT]\nuser=x",
        "; x\n[logger]",
        "[routing:a]\nx=1",
        "[routing]",
        "[keepalive]\ninterval=60",
    ] {
        assert!(super::is_router(text), "{text}");
    }
    for text in [
        "[mysql_variables]\nthreads=1",
        "[[listeners]]\naddress=\"x\"",
        "datadir=\"/x\"",
        "",
        "routing=1\n[routing]",
    ] {
        assert!(!super::is_router(text), "{text}");
    }
}
