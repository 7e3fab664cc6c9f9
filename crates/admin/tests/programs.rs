//! Programs of other people at the admin port: command-line clients, dump programs, drivers.

mod common;

use std::ffi::OsStr;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::Arc;

use admin::{Answer, Module, Move, Port, Store};
use common::FakePlane;
use config::Address;
use observe::plane::DataPlane;
use tokio::runtime::{Builder, Runtime};

/// A running admin port. Dropped in this order.
struct Admin {
    port: Port,
    _runtime: Runtime,
}

impl Admin {
    fn start() -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let plane: Arc<dyn DataPlane> = Arc::new(FakePlane::default());
        let mut store = Store::open(None).unwrap();
        store.attach(Arc::clone(&plane));
        for (sql, module) in [
            (
                "UPDATE global_variables SET variable_value='127.0.0.1:0' WHERE variable_name='admin-mysql_ifaces'",
                Module::AdminVariables,
            ),
            (
                "UPDATE global_variables SET variable_value='admin:admin' WHERE variable_name='admin-admin_credentials'",
                Module::AdminVariables,
            ),
            (
                "INSERT INTO mysql_users (username, password, comment) VALUES ('app', 'secret', 'it''s a \"user\"')",
                Module::MysqlUsers,
            ),
        ] {
            assert!(matches!(store.query(sql), Answer::Ok { .. }));
            assert!(matches!(store.shift(module, Move::MemoryToRuntime, "test"), Answer::Ok { .. }));
        }
        let port = Port::start(store, &plane, runtime.handle()).unwrap();
        Self { port, _runtime: runtime }
    }

    fn address(&self) -> SocketAddr {
        match self.port.addresses() {
            [Address::Tcp(address)] => *address,
            other => panic!("listens on {other:?}"),
        }
    }

    /// Runs a program with these arguments and those that say where the admin port is; nothing if
    /// it is not installed.
    fn run<S: AsRef<OsStr>>(&self, program: &str, arguments: &[S]) -> Option<Output> {
        let port = format!("-P{}", self.address().port());
        let output = Command::new(program)
            .args(["--no-defaults", "-h127.0.0.1", &port, "-uadmin", "-padmin"])
            .args(arguments)
            .output();
        match output {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                println!("skipped: needs {program}");
                None
            }
            output => Some(output.unwrap()),
        }
    }
}

fn success(output: &Output) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}\n{err}");
    out.into_owned()
}

#[test]
fn the_command_line_client() {
    let admin = Admin::start();
    let sql = "USE main; SELECT username, password FROM mysql_users; SET mysql-max_connections=77; \
               LOAD MYSQL VARIABLES TO RUNTIME; SELECT @@mysql-max_connections; SHOW PROCESSLIST; \\s";
    let Some(output) = admin.run("mariadb", &["--batch", "-e", sql]) else { return };
    let text = success(&output);
    assert!(text.starts_with("username\tpassword\napp\tsecret\n@@mysql-max_connections\n77\n"), "{text}");
    assert!(text.contains("(ProxySQL Admin Module)") && text.contains("Threads: 1  Questions: "), "{text}");
    let output = admin.run("mariadb", &["-e", "LOAD NOTHING TO RUNTIME"]).unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        error.contains("ERROR 1045 (28000)") && error.contains("ProxySQL Admin Error: near \"LOAD\""),
        "{error}"
    );
}

#[test]
fn the_dump_program() {
    let admin = Admin::start();
    for arguments in [&["main", "mysql_users"][..], &["main"], &["--skip-extended-insert", "stats"]] {
        let Some(output) = admin.run("mariadb-dump", arguments) else { return };
        let dump = success(&output);
        if arguments == ["main", "mysql_users"] {
            assert!(dump.contains("CREATE TABLE mysql_users (\n    username VARCHAR NOT NULL,"), "{dump}");
            assert!(dump.contains("INSERT INTO `mysql_users` VALUES"), "{dump}");
        }
    }
}

/// MySQL's own programs, if they are there.
fn mysql(program: &str) -> Option<(PathBuf, Vec<String>)> {
    let root = PathBuf::from(std::env::var_os("HOME")?).join(".cache/pointsman/sid");
    let loader = root.join("lib64/ld-linux-x86-64.so.2");
    let path = root.join("usr/bin").join(program);
    let libraries = ["usr/lib/x86_64-linux-gnu", "usr/lib/mysql/private"]
        .map(|folder| root.join(folder).display().to_string());
    if !loader.exists() || !path.exists() {
        println!("skipped: {program} needs MySQL 9.7");
        return None;
    }
    Some((loader, vec!["--library-path".to_owned(), libraries.join(":"), path.display().to_string()]))
}

#[test]
fn programs_of_mysql() {
    let admin = Admin::start();
    for (program, arguments, expected) in [
        ("mysql", &["-e", "SELECT username FROM mysql_users"][..], "app"),
        ("mysqldump", &["main", "mysql_users"], "INSERT INTO `mysql_users` VALUES"),
        ("mysqladmin", &["ping"], "mysqld is alive"),
        ("mysqladmin", &["status"], "Threads: 1"),
    ] {
        let Some((loader, mut all)) = mysql(program) else { return };
        all.push("--no-defaults".to_owned());
        all.push(format!("-P{}", admin.address().port()));
        all.extend(["-h127.0.0.1", "-uadmin", "-padmin"].map(str::to_owned));
        all.extend(arguments.iter().map(|argument| (*argument).to_owned()));
        let text = success(&Command::new(loader).args(all).output().unwrap());
        assert!(text.contains(expected), "{program}: {text}");
    }
}
