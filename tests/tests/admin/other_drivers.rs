//! Drivers in other languages at the admin port: programs of `tests/clients/admin`, each of which
//! sets something, loads it, and reads it back. Their drivers are those that `make test-clients`
//! installs; what is not there is skipped by name.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use e2e::{Setup, tools};

use super::{DB, with_admin};

/// Where `make test-clients` keeps drivers.
fn installed(what: &str) -> Option<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let cache = std::env::var_os("XDG_CACHE_HOME").map_or_else(|| home.join(".cache"), PathBuf::from);
    let path = cache.join("pointsman/clients").join(what);
    if path.exists() {
        return Some(path);
    }
    println!("skipped: needs {what}, which `make test-clients` installs");
    None
}

fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("clients")
}

/// Runs a program with the port of a proxy's admin port as its last argument; what it has printed.
fn run(program: impl Into<OsString>, arguments: &[OsString]) -> String {
    let proxy = with_admin(Setup::before(&DB.sandbox, &DB.server)).start();
    let port = proxy.admin().port().to_string();
    let arguments = arguments.iter().cloned().chain([port.into()]);
    tools::Running::start(&DB.sandbox, program.into(), arguments).wait().expect_success()
}

#[test]
fn mysql2() {
    let Some(folder) = installed("node") else { return };
    let script = programs().join("admin/admin.mjs");
    assert_eq!(run("node", &[script.into(), folder.into()]), "driver its 321\n1045\n");
}

#[test]
fn connector_j_and_mariadb_java() {
    let Some(folder) = installed("java/lib") else { return };
    let program = programs().join("admin/Admin.java");
    for scheme in ["jdbc:mysql", "jdbc:mariadb"] {
        let path = folder.join("*");
        let printed = run("java", &["-cp".into(), path.into(), program.clone().into(), scheme.into()]);
        assert_eq!(printed, "driver it's 321\n1045\n", "{scheme}");
    }
}

#[test]
fn go_sql_driver() {
    if installed("go").is_none() {
        return;
    }
    // Beside the other program, whose module says which driver.
    let folder = DB.sandbox.path().join("go-admin");
    std::fs::create_dir_all(&folder).unwrap();
    for file in ["go/go.mod", "go/go.sum", "admin/go/main.go"] {
        let from = programs().join(file);
        std::fs::copy(&from, folder.join(from.file_name().unwrap())).unwrap();
    }
    let built = tools::Running::start(
        &DB.sandbox,
        "go",
        ["-C", &folder.display().to_string(), "build", "-o", "admin", "."],
    );
    built.wait().expect_success();
    assert_eq!(run(folder.join("admin"), &[]), "driver it's 321\n1045\n");
}
