//! The certificate that the proxy makes for itself, and those that it finds.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use e2e::Setup;
use e2e::tools::pointsman;

use super::{DB, Pki, STATUS, cipher, client, quoted, showing};

fn verified_by(proxy: &e2e::Proxy, ca: &Path) -> bool {
    let ca = format!("--ssl-ca={}", ca.display());
    client(proxy, &[&ca, "--ssl-verify-server-cert", "--execute=SELECT 1"]).code == Some(0)
}

#[test]
fn without_files_a_certificate_is_made_and_kept() {
    let setup = Setup::before(&DB.sandbox, &DB.server).datadir();
    let folder = setup.folder().to_owned();
    let again = setup.clone();
    let proxy = setup.start();
    let ca = folder.join("pointsman-ca.pem");
    assert!(verified_by(&proxy, &ca));
    let key = folder.join("pointsman-key.pem");
    let mode = std::fs::metadata(&key).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "{mode:o}");
    drop(proxy);
    let (before, proxy) = (std::fs::read(&key).unwrap(), again.start());
    assert!(verified_by(&proxy, &ca));
    assert_eq!(std::fs::read(&key).unwrap(), before);
}

#[test]
fn without_a_folder_it_is_kept_in_memory() {
    let setup = Setup::before(&DB.sandbox, &DB.server);
    let folder = setup.folder().to_owned();
    let proxy = setup.start();
    assert!(cipher(client(&proxy, &[STATUS])).contains("in use"));
    let files = std::fs::read_dir(folder).unwrap();
    let pem = files.filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|end| end == "pem"));
    assert_eq!(pem.count(), 0);
}

#[test]
fn files_of_a_proxysql_are_used_as_they_are() {
    let pki = Pki::new("proxysql");
    let setup = Setup::before(&DB.sandbox, &DB.server).datadir();
    let folder = setup.folder().to_owned();
    std::fs::copy(&pki.server.cert, folder.join("proxysql-cert.pem")).unwrap();
    std::fs::copy(&pki.server.key, folder.join("proxysql-key.pem")).unwrap();
    let proxy = setup.start();
    assert!(verified_by(&proxy, &pki.ca));
    assert!(!folder.join("pointsman-cert.pem").exists());
}

#[test]
fn a_certificate_of_version_1_is_shown_as_it_is() {
    let pki = Pki::new("old");
    let old = pki.authority.issue_v1(&pki.folder, "old").unwrap();
    let proxy = showing(&old).start();
    assert!(cipher(client(&proxy, &[STATUS])).contains("in use"));
}

#[test]
fn files_that_cannot_be_used_are_named_at_start() {
    let pki = Pki::new("ca");
    let other = Pki::new("other");
    let text = pki.folder.join("text.pem");
    std::fs::write(&text, "no PEM").unwrap();
    let (cert, key) = (quoted(&pki.server.cert), quoted(&pki.server.key));
    for (settings, expected) in [
        (vec![("tls_cert", cert.clone())], "tls_key: must be set"),
        (vec![("tls_key", key.clone())], "tls_cert: must be set"),
        (vec![("tls_cert", "'/no/such'".to_owned()), ("tls_key", key.clone())], "/no/such: cannot be read"),
        (vec![("tls_cert", cert.clone()), ("tls_key", quoted(&text))], "text.pem: has no PEM private key"),
        (vec![("tls_cert", quoted(&text)), ("tls_key", key.clone())], "text.pem: has no PEM certificate"),
        (vec![("tls_cert", cert.clone()), ("tls_key", quoted(&other.server.key))], "server-cert.pem: "),
        (vec![("tls_cert", cert), ("tls_key", key), ("tls_ca", quoted(&text))], "text.pem: has no PEM"),
    ] {
        let mut toml = "[pointsman_variables]\n".to_owned();
        for (name, value) in &settings {
            toml.extend([name, " = ", value, "\n"]);
        }
        toml.push_str("[[listeners]]\naddress = \"127.0.0.1:0\"\n");
        let file = pki.folder.join("pointsman.toml");
        std::fs::write(&file, toml).unwrap();
        for command in ["check", "serve"] {
            let output = pointsman(&DB.sandbox, [Path::new(command), Path::new("--config"), &file]);
            assert_eq!(output.code, Some(1), "{settings:?}: {output:?}");
            assert!(output.stderr.contains(expected), "{settings:?}: {}", output.stderr);
        }
    }
}
