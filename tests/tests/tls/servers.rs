//! Servers: TLS to them or not at all, and whom to believe.

use std::path::Path;

use e2e::{Backend, Proxy, Setup};
use testkit::certificates::Identity;
use testkit::mariadb::{PASSWORD, USER};

use super::{DB, Pki, client, quoted};

/// A server that shows this certificate and knows this authority.
fn server(identity: &Identity, ca: &Path) -> Backend {
    let option = |name: &str, path: &Path| format!("--{name}={}", path.display());
    Backend::start(&[
        &option("ssl-cert", &identity.cert),
        &option("ssl-key", &identity.key),
        &option("ssl-ca", ca),
    ])
}

/// What the server says about the proxy's connection to it.
const VERSION: &str = "--execute=SHOW STATUS WHERE Variable_name = 'ssl_version'";

fn setup(db: &Backend) -> Setup {
    Setup::new(&db.sandbox).server(&db.server, "use_ssl = 1").user(USER, PASSWORD, "")
}

fn version(proxy: &Proxy) -> String {
    client(proxy, &["--skip-ssl", VERSION]).expect_success()
}

fn refused(proxy: &Proxy) -> String {
    let output = client(proxy, &["--skip-ssl", VERSION]);
    assert_ne!(output.code, Some(0), "{output:?}");
    output.stderr
}

#[test]
fn certificates_of_servers_are_verified_where_there_is_an_authority() {
    let pki = Pki::new("servers");
    let db = server(&pki.server, &pki.ca);
    assert_eq!(version(&setup(&db).start()), "Ssl_version\tTLSv1.3\n");
    assert_eq!(
        version(&setup(&db).variable("ssl_p2s_ca", quoted(&pki.ca)).start()),
        "Ssl_version\tTLSv1.3\n"
    );
    let folder = pki.folder.join("authorities");
    std::fs::create_dir(&folder).unwrap();
    std::fs::copy(&pki.ca, folder.join("one.pem")).unwrap();
    std::fs::write(folder.join("README"), "not a certificate").unwrap();
    let proxy = setup(&db).variable("ssl_p2s_capath", quoted(&folder)).start();
    assert_eq!(version(&proxy), "Ssl_version\tTLSv1.3\n");
    // An authority that did not vouch for it.
    let other = Pki::new("other");
    let error = refused(&setup(&db).variable("ssl_p2s_ca", quoted(&other.ca)).start());
    assert!(error.contains("9002") && error.contains("invalid peer certificate"), "{error}");
    // The right one, and a name that the certificate is not for.
    let elsewhere = pki.authority.issue(&pki.folder, "elsewhere", &["db.example"]).unwrap();
    let db = server(&elsewhere, &pki.ca);
    let error = refused(&setup(&db).variable("ssl_p2s_ca", quoted(&pki.ca)).start());
    assert!(error.contains("9002") && error.contains("not valid for name"), "{error}");
    assert_eq!(version(&setup(&db).start()), "Ssl_version\tTLSv1.3\n");
}

#[test]
fn rows_for_servers_and_users_replace_the_variables() {
    let pki = Pki::new("servers");
    let other = Pki::new("other");
    let db = server(&pki.server, &pki.ca);
    db.sql(&format!("CREATE USER somebody IDENTIFIED BY '{PASSWORD}'"));
    let port = db.server.port();
    let row = |user: &str, ca: &Path| {
        format!("hostname = \"127.0.0.1\"\nport = {port}\nusername = '{user}'\nssl_ca = {}", quoted(ca))
    };
    let wrong = setup(&db).variable("ssl_p2s_ca", quoted(&other.ca));
    assert!(refused(&wrong.clone().start()).contains("9002"));
    // A row for the server.
    assert_eq!(
        version(&wrong.row("mysql_servers_ssl_params", &row("", &pki.ca)).start()),
        "Ssl_version\tTLSv1.3\n"
    );
    // A row for the user goes before it.
    let proxy = setup(&db)
        .row("mysql_servers_ssl_params", &row("", &pki.ca))
        .row("mysql_servers_ssl_params", &row(USER, &other.ca))
        .start();
    assert!(refused(&proxy).contains("9002"));
    // A row for another user does not count.
    let proxy = setup(&db).row("mysql_servers_ssl_params", &row("somebody", &other.ca)).start();
    assert_eq!(version(&proxy), "Ssl_version\tTLSv1.3\n");
}

#[test]
fn a_certificate_of_version_1_will_do_where_nothing_is_verified() {
    let pki = Pki::new("old");
    let old = pki.authority.issue_v1(&pki.folder, "old").unwrap();
    let db = server(&old, &pki.ca);
    assert_eq!(version(&setup(&db).start()), "Ssl_version\tTLSv1.3\n");
    let error = refused(&setup(&db).variable("ssl_p2s_ca", quoted(&pki.ca)).start());
    assert!(error.contains("9002") && error.contains("invalid peer certificate"), "{error}");
}

#[test]
fn servers_that_want_certificates_get_the_configured_one() {
    let pki = Pki::new("mutual");
    let db = server(&pki.server, &pki.ca);
    db.sql(&format!("ALTER USER {USER} REQUIRE X509"));
    let error = refused(&setup(&db).start());
    assert!(error.contains("1045"), "{error}");
    let proxy = setup(&db)
        .variable("ssl_p2s_cert", quoted(&pki.server.cert))
        .variable("ssl_p2s_key", quoted(&pki.server.key))
        .start();
    assert_eq!(version(&proxy), "Ssl_version\tTLSv1.3\n");
}

#[test]
fn ciphers_are_chosen_and_what_is_unknown_is_said() {
    let pki = Pki::new("ciphers");
    let db = Backend::start(&[
        &format!("--ssl-cert={}", pki.server.cert.display()),
        &format!("--ssl-key={}", pki.server.key.display()),
        "--tls-version=TLSv1.2",
    ]);
    let list = "'ECDHE-ECDSA-AES128-GCM-SHA256:AES128-SHA'";
    let proxy = setup(&db).variable("ssl_p2s_cipher", list).start();
    assert!(proxy.wait_for_log("cipher suites that do not exist here").contains("AES128-SHA"));
    let output = client(&proxy, &["--skip-ssl", "--execute=SHOW STATUS WHERE Variable_name = 'ssl_cipher'"]);
    assert_eq!(output.expect_success(), "Ssl_cipher\tECDHE-ECDSA-AES128-GCM-SHA256\n");
}

#[test]
fn a_server_without_tls_is_no_server_for_use_ssl() {
    let error =
        refused(&Setup::new(&DB.sandbox).server(&DB.server, "use_ssl = 1").user(USER, PASSWORD, "").start());
    assert!(error.contains("9002") && error.contains("it offers no TLS, but use_ssl = 1"), "{error}");
}
