//! Configuration files: what is wrong with one is said with its line, and then nothing starts.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use e2e::tools::{Output, pointsman};
use e2e::{Proxy, run};
use testkit::client::{Client, Options};
use testkit::guard::Sandbox;

static SANDBOX: LazyLock<Sandbox> = LazyLock::new(|| Sandbox::new().unwrap());

/// A file with this text.
fn file(name: &str, text: &str) -> PathBuf {
    let path = SANDBOX.path().join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn command(command: &str, file: &Path) -> Output {
    pointsman(&SANDBOX, [command.as_ref(), "--config".as_ref(), file.as_os_str()])
}

/// The same with `--strict`.
fn strictly(command: &str, file: &Path) -> Output {
    pointsman(&SANDBOX, [command.as_ref(), "--strict".as_ref(), "--config".as_ref(), file.as_os_str()])
}

/// The listeners are free ports, so that a file that should not start cannot fail for another
/// reason.
const TOML: &str = r#"[[listeners]]
address = "127.0.0.1:0"

[mysql_variables]
max_connections = 7
monitor_enabled = false

[[mysql_servers]]
hostname = "127.0.0.1"
port = 1

[[mysql_users]]
username = "app"
password = "pw"
"#;

const CNF: &str = r#"datadir="/var/lib/proxysql"
admin_variables=
{
    admin_credentials="admin:admin"
}
mysql_variables=
{
    interfaces="127.0.0.1:0"
    max_connections=7
    ldap_user_variable="who"
}
mysql_servers =
(
    { address="127.0.0.1" , port=1 , hostgroup=0 }
)
mysql_users:
(
    { username = "app" , password = "pw" , default_hostgroup = 0 , active = 1 }
)
mysql_query_rules:
(
    { rule_id=1, active=1, match_pattern="^SELECT .* FOR UPDATE$", destination_hostgroup=0, apply=1 }
)
"#;

#[test]
fn check_accepts_both_formats_whatever_the_name() {
    for (name, text, warns) in
        [("a.toml", TOML, false), ("b.cnf", CNF, true), ("c.cnf", TOML, false), ("d.toml", CNF, true)]
    {
        let path = file(name, text);
        let output = command("check", &path);
        let counted = if warns { ", 3 warnings" } else { "" };
        assert_eq!(
            output.stdout,
            format!("{}: ok, 1 listener, 1 server, 1 user{counted}\n", path.display()),
            "{output:?}"
        );
        assert_eq!(output.code, Some(0));
        // What has no effect yet, known passwords, and a folder that this machine
        // does not have.
        let warnings: Vec<&str> = output.stderr.lines().collect();
        assert_eq!(warnings.len(), 3 * usize::from(warns), "{output:?}");
        for (at, part) in [
            (0, "ldap_user_variable"),
            (1, "the admin port, at 0.0.0.0:6032, has `admin:admin` and `stats:stats`"),
            (2, "datadir is /var/lib/proxysql, which is no folder"),
        ] {
            assert!(
                !warns || (warnings[at].starts_with("warning: ") && warnings[at].contains(part)),
                "{warnings:?} has no {part:?}"
            );
        }
    }
}

#[test]
fn serve_logs_what_has_no_effect_and_runs() {
    let text = CNF
        .replace("/var/lib/proxysql", &SANDBOX.path().display().to_string())
        .replace("admin_credentials=", "mysql_ifaces=\"\" admin_credentials=");
    let proxy = Proxy::start(&SANDBOX, &file("serve.cnf", &text), &[], &[]);
    proxy.wait_for_log("ldap_user_variable");
    run(async {
        let mut client = Client::connect(&Options::tcp(proxy.tcp(), "app", "pw")).await.unwrap();
        client.ping().await.unwrap();
    });
}

/// Or the file that is mended would not count: the start behind it would take what the first one
/// has saved.
#[test]
fn a_start_that_fails_saves_nothing() {
    let folder = SANDBOX.path().join("fails");
    std::fs::create_dir(&folder).unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let top = format!("datadir = '{}'\n", folder.display());
    let admin = |address: &str| format!("[admin_variables]\nmysql_ifaces = '{address}'\n");
    for text in [
        format!("{top}{}{}", TOML.replace("127.0.0.1:0", &taken), admin("127.0.0.1:0")),
        format!("{top}{TOML}{}", admin(&taken)),
    ] {
        let output = command("serve", &file("fails.toml", &text));
        assert!(output.code == Some(1) && output.stderr.contains(&taken), "{output:?}");
    }
    let path = file("fails.toml", &format!("{top}{TOML}{}", admin("127.0.0.1:0")));
    let first = Proxy::start(&SANDBOX, &path, &[], &[]);
    assert!(
        !first.log().iter().any(|line| line.contains("the saved configuration counts")),
        "{:?}",
        first.log()
    );
    drop(first);
    // What has started is saved, and counts from then on.
    let output = command("check", &path);
    assert!(
        output.code == Some(0) && output.stderr.contains("pointsman.db has a saved configuration"),
        "{output:?}"
    );
    file("fails.toml", &format!("{top}{}", TOML.replace("= 7", "= 8")));
    Proxy::start(&SANDBOX, &path, &[], &[]).wait_for_log("the saved configuration counts");
    // A file with a mistake does not start either, though it would not count.
    file("fails.toml", &format!("{top}datadri = 'x'\n{TOML}"));
    let output = command("serve", &path);
    assert!(output.code == Some(1) && output.stderr.contains("did you mean `datadir`?"), "{output:?}");
}

/// Files that must not be accepted: text, and the lines that are said about it.
fn bad() -> Vec<(&'static str, String, Vec<&'static str>)> {
    vec![
        (
            "unknown.toml",
            TOML.replace("max_connections", "max_conections"),
            vec![
                "unknown.toml:5: unknown setting `max_conections` in `mysql_variables`; did you mean `max_connections`?",
            ],
        ),
        (
            "unknown.cnf",
            CNF.replace("max_connections", "max_conections"),
            vec![
                "unknown.cnf:9: unknown setting `max_conections` in `mysql_variables`; did you mean `max_connections`?",
            ],
        ),
        (
            "table.toml",
            TOML.replace("mysql_users", "mysql_user"),
            vec!["table.toml:12: ", "`mysql_user`", "`mysql_users`"],
        ),
        ("column.cnf", CNF.replace("default_hostgroup", "hostgrup"), vec!["column.cnf:18: ", "`hostgrup`"]),
        (
            "value.toml",
            TOML.replace("= 7", "= 0"),
            vec!["value.toml:5: `mysql_variables.max_connections` must be", "not 0"],
        ),
        ("value.cnf", CNF.replace("port=1", "port=70000"), vec!["value.cnf:14: ", "port", "70000"]),
        (
            "twice.toml",
            format!("{TOML}[[mysql_users]]\nusername = 'app'\n"),
            vec!["twice.toml:15: `mysql_users` has two rows with username = app"],
        ),
        ("grammar.toml", TOML.replace("= 7", "= "), vec!["grammar.toml:5: "]),
        ("grammar.cnf", CNF.replace("(\n    { address", "( address"), vec!["grammar.cnf:13: "]),
        (
            "two.toml",
            TOML.replace("= 7", "= -7").replace("port = 1", "prot = 1"),
            vec![
                "two.toml:5: ",
                "two.toml:10: unknown setting `prot` in `mysql_servers`; did you mean `port`?",
            ],
        ),
        (
            "hash.toml",
            TOML.replace("\"pw\"", "\"*0123456789ABCDEF0123456789ABCDEF0123456\""),
            vec!["hash.toml:14: ", "39"],
        ),
    ]
}

#[test]
fn c26_a_file_with_a_mistake_is_refused_with_its_line_and_nothing_starts() {
    for (name, text, lines) in bad() {
        let path = file(name, &text);
        for what in ["check", "serve"] {
            let output = strictly(what, &path);
            assert_eq!(output.code, Some(1), "{what} {name}: {output:#?}");
            assert_eq!(output.stdout, "", "{what} {name}");
            for line in &lines {
                assert!(output.stderr.contains(line), "{what} {name}: no {line:?} in:\n{}", output.stderr);
            }
            assert!(!output.stderr.contains(" ready "), "{what} {name}: {output:#?}");
            // Passwords are not repeated.
            assert!(!output.stderr.contains("0123456789ABCDEF"), "{what} {name}: {output:#?}");
        }
    }
}

/// ProxySQL starts with such a file.
#[test]
fn a_file_of_another_program_is_taken_with_warnings() {
    let path = file("left_out.cnf", &CNF.replace("max_connections", "ping_interval_server"));
    let output = command("check", &path);
    assert_eq!(output.code, Some(0), "{output:#?}");
    let warning = "left_out.cnf:9: unknown setting `ping_interval_server` in `mysql_variables`";
    assert!(output.stderr.contains(warning) && output.stderr.contains("it is left out"), "{output:#?}");
    assert!(output.stdout.contains(": ok, ") && output.stdout.contains(", 4 warnings\n"), "{output:#?}");
    let output = strictly("check", &path);
    assert_eq!(output.code, Some(1), "{output:#?}");
    assert!(output.stderr.contains(warning), "{output:#?}");
}

/// ProxySQL starts with such a rule, too, and it does not match.
#[test]
fn a_rule_of_another_program_that_does_not_compile_is_skipped() {
    let more = "    , { rule_id=2, active=1, match_digest=\"(\", apply=1 }\n    \
                , { rule_id=3, active=1, match_digest=\"[\", negate_match_pattern=1, apply=1 }\n)\n";
    let text = CNF
        .replace("datadir=\"/var/lib/proxysql\"\n", "")
        .replace("admin_credentials=", "mysql_ifaces=\"\" admin_credentials=");
    let path = file("expression.cnf", &format!("{}{more}", text.strip_suffix(")\n").unwrap()));
    let output = command("check", &path);
    assert_eq!(output.code, Some(0), "{output:#?}");
    for (rule, why) in [(2, "; the rule is skipped\n"), (3, "lets it match every statement\n")] {
        let start =
            format!("warning: {}: mysql_query_rules row rule_id={rule}: `match_digest`: ", path.display());
        let warning = output.stderr.lines().find(|line| line.starts_with(&start)).unwrap_or_default();
        assert!(format!("{warning}\n").ends_with(why), "{output:#?}");
    }
    let output = strictly("check", &path);
    assert_eq!(output.code, Some(1), "{output:#?}");
    assert!(output.stderr.contains("2 rules of "), "{output:#?}");
    let proxy = Proxy::start(&SANDBOX, &path, &[], &[]);
    proxy.wait_for_log("rule_id=2");
}

#[test]
fn check_finds_what_serve_refuses() {
    let plain = SANDBOX.path().join("plain");
    std::fs::write(&plain, "").unwrap();
    let top = |datadir: &Path| format!("datadir = '{}'\n{TOML}", datadir.display());
    let address = |address: &str| TOML.replace("127.0.0.1:0", address);
    let twice = |one: &str, other: &str| format!("[[listeners]]\naddress = \"{one}\"\n{}", address(other));
    for (text, part) in [
        (top(&plain), "which is no folder"),
        (top(Path::new("/proc")), "where this user cannot write"),
        (address("no-such-host.invalid:0"), "no-such-host.invalid"),
        (twice("0.0.0.0:6433", "127.0.0.1:6433"), "127.0.0.1:6433 is a part of 0.0.0.0:6433"),
        (address("127.0.0.1:6032"), "the admin port cannot be at "),
    ] {
        let path = file("refused.toml", &text);
        let output = command("check", &path);
        assert!(output.code == Some(1) && output.stderr.contains(part), "{text}{output:?}");
        assert_eq!(command("serve", &path).code, Some(1), "{text}");
    }
}

/// The file may be checked beside the process that it will be used by, or elsewhere.
#[test]
fn check_warns_of_what_may_be_different_then() {
    let folder = SANDBOX.path().join("used");
    std::fs::create_dir(&folder).unwrap();
    let text = format!("datadir = '{}'\n{TOML}[admin_variables]\nmysql_ifaces = ''\n", folder.display())
        .replace("hostname = \"127.0.0.1\"", "hostname = \"no-such-host.invalid\"");
    let path = file("used.toml", &text);
    let _proxy = Proxy::start(&SANDBOX, &path, &[], &[]);
    let output = command("check", &path);
    assert_eq!(output.code, Some(0), "{output:?}");
    for part in ["another process uses datadir", "the server no-such-host.invalid cannot be reached"] {
        assert!(output.stderr.contains(part), "{output:?}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    for what in ["check", "serve"] {
        let missing = SANDBOX.path().join("missing.toml");
        let output = command(what, &missing);
        assert_eq!(output.code, Some(1), "{output:?}");
        assert!(
            output.stderr.contains("missing.toml") && output.stderr.contains("No such file"),
            "{output:?}"
        );
        let folder = command(what, SANDBOX.path());
        assert!(folder.code == Some(1) && folder.stderr.contains("is a folder"), "{folder:?}");
        let binary = SANDBOX.path().join("binary");
        std::fs::write(&binary, [0xff, 0xfe, 0, 1, 2]).unwrap();
        let output = command(what, &binary);
        assert!(output.code == Some(1) && output.stderr.contains("binary"), "{output:?}");
    }
}

#[test]
fn the_command_line_is_checked_too() {
    let usage = pointsman(&SANDBOX, ["serve"]);
    assert!(usage.code == Some(2) && usage.stderr.contains("--config"), "{usage:?}");
    let unknown = pointsman(&SANDBOX, ["sevre"]);
    assert!(unknown.code == Some(2) && unknown.stderr.contains("serve"), "{unknown:?}");
    let version = pointsman(&SANDBOX, ["--version"]);
    assert_eq!(
        (version.code, version.stdout.as_str()),
        (Some(0), concat!("pointsman ", env!("CARGO_PKG_VERSION"), "\n"))
    );
}

#[test]
fn the_example_of_the_repository_is_accepted() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../pointsman.example.toml");
    let output = command("check", &example);
    assert!(output.code == Some(0) && output.stdout.contains(": ok, "), "{output:?}");
}
