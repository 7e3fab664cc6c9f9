//! Who does not get in.

use e2e::tools::Running;
use e2e::{Setup, run};

use super::{
    CLEAR, DB, NATIVE, NATIVE_HASH, NATIVE_PLUGIN, SECRET, SHA2, SHA2_HASH, SHA2_PLUGIN, refused, setup,
};

#[test]
fn an_unknown_user_looks_like_a_wrong_password() {
    for (user, form) in [(CLEAR, SECRET), (NATIVE, NATIVE_HASH), (SHA2, SHA2_HASH)] {
        let proxy = Setup::new(&DB.sandbox).server(&DB.server, "").user(user, form, "").start();
        run(async {
            for plugin in [NATIVE_PLUGIN, SHA2_PLUGIN] {
                for password in ["wrong", ""] {
                    let (messages, wrong) = refused(proxy.tcp(), user, password, plugin).await;
                    let (also, unknown) = refused(proxy.tcp(), "nobody", password, plugin).await;
                    let using = if password.is_empty() { "NO" } else { "YES" };
                    let expected = format!(
                        "1045 (28000): Access denied for user '{user}'@'127.0.0.1' (using password: {using})"
                    );
                    assert_eq!(wrong, expected, "{plugin}");
                    assert_eq!(unknown, expected.replace(user, "nobody"), "{plugin}");
                    assert_eq!(also, messages, "{user} {plugin} {password:?}");
                }
            }
        });
    }
}

#[test]
fn an_unknown_user_looks_the_same_every_time() {
    let proxy = setup().start();
    run(async {
        for name in ["a", "b", "c", "d", "e"] {
            let first = refused(proxy.tcp(), name, "wrong", SHA2_PLUGIN).await;
            assert_eq!(refused(proxy.tcp(), name, "wrong", SHA2_PLUGIN).await, first);
        }
    });
}

#[test]
fn users_that_may_not_log_in_are_unknown() {
    let proxy =
        setup().user("asleep", SECRET, "active = false").user("back", SECRET, "frontend = false").start();
    run(async {
        for user in ["asleep", "back", ""] {
            let (_, error) = refused(proxy.tcp(), user, SECRET, NATIVE_PLUGIN).await;
            assert!(error.starts_with(&format!("1045 (28000): Access denied for user '{user}'@")), "{error}");
        }
    });
}

#[test]
fn a_password_that_was_sent_in_the_clear_is_refused_with_advice() {
    let proxy = setup().variable("have_ssl", false).start();
    let port = format!("--port={}", proxy.tcp().port());
    // Without --skip-ssl, MariaDB's client believes that there is TLS.
    let arguments = ["--no-defaults", "--host=127.0.0.1", &port, "--user=sha2", "--password=secret"];
    let client = testkit::mariadb::find().unwrap().client;
    let output = Running::start(&DB.sandbox, client, arguments).wait();
    let expected = "Access denied for user 'sha2'@'127.0.0.1' (using password: YES): the client sent its password \
                    unencrypted";
    assert!(output.stderr.contains(expected) && output.stderr.contains("--skip-ssl"), "{output:?}");
    proxy.wait_for_log("the client sent its password unencrypted");
}

#[test]
fn refused_logins_are_logged_but_not_all_of_many() {
    let proxy = setup().start();
    run(async {
        refused(proxy.tcp(), "nobody", SECRET, NATIVE_PLUGIN).await;
        for _ in 0..100 {
            refused(proxy.tcp(), CLEAR, "wrong", NATIVE_PLUGIN).await;
        }
    });
    let line = proxy.wait_for_log("user=nobody");
    assert!(line.contains("127.0.0.1") && line.contains("no such user"), "{line}");
    proxy.wait_for_log("wrong password");
    let lines = proxy.log().iter().filter(|line| line.contains("a login was refused")).count();
    assert!((2..=60).contains(&lines), "{lines} lines for 101 logins");
    proxy.wait_for_log("more logins were refused within 10 s");
}
