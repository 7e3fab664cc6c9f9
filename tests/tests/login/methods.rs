//! Every method with every form of a password.

use e2e::run;
use e2e::tools::mariadb;

use super::{
    CLEAR, DB, FAST_MESSAGES, FULL_MESSAGES, NATIVE, NATIVE_MESSAGES, NATIVE_PLUGIN, SECRET, SHA2,
    SHA2_PLUGIN, log_in, query, refused, setup,
};

#[test]
fn the_command_line_client_logs_in_with_every_method_and_every_form_of_the_password() {
    for default in [NATIVE_PLUGIN, SHA2_PLUGIN] {
        let proxy = setup().variable("default_authentication_plugin", format!("'{default}'")).start();
        let port = format!("--port={}", proxy.tcp().port());
        let socket = format!("--socket={}", proxy.socket().display());
        for user in [CLEAR, NATIVE, SHA2] {
            for plugin in [NATIVE_PLUGIN, SHA2_PLUGIN] {
                for target in [&["--host=127.0.0.1", &port][..], &["--protocol=SOCKET", &socket]] {
                    let (name, password) = (format!("--user={user}"), format!("--password={SECRET}"));
                    let plugin = format!("--default-auth={plugin}");
                    let rest = [&name, &password, &plugin, "--execute=SELECT CURRENT_USER()"];
                    let output = mariadb(&DB.sandbox, &[target, &rest].concat());
                    assert_eq!(output.expect_success(), format!("{user}@%\n"), "{target:?} {rest:?}");
                }
            }
        }
    }
}

#[test]
fn each_method_takes_the_messages_that_it_needs() {
    let proxy = setup().start();
    run(async {
        for (user, plugin, messages) in [
            (CLEAR, NATIVE_PLUGIN, NATIVE_MESSAGES),
            (CLEAR, SHA2_PLUGIN, FAST_MESSAGES),
            (NATIVE, NATIVE_PLUGIN, NATIVE_MESSAGES),
            // The client is asked to switch, and does.
            (NATIVE, SHA2_PLUGIN, NATIVE_MESSAGES + 2),
            (SHA2, SHA2_PLUGIN, FULL_MESSAGES),
            (SHA2, NATIVE_PLUGIN, FAST_MESSAGES + 2),
        ] {
            let (took, outcome) = log_in(proxy.tcp(), user, SECRET, plugin).await;
            let mut client = outcome.unwrap();
            assert_eq!(took, messages, "{user} with {plugin}");
            assert_eq!(query(&mut client, "SELECT CURRENT_USER()").await, format!("{user}@%"));
        }
    });
}

#[test]
fn the_second_login_with_a_stored_hash_is_fast_and_as_good_as_the_first() {
    let proxy = setup().start();
    run(async {
        for messages in [FULL_MESSAGES, FAST_MESSAGES, FAST_MESSAGES] {
            let (took, outcome) = log_in(proxy.tcp(), SHA2, SECRET, SHA2_PLUGIN).await;
            assert_eq!(took, messages);
            assert_eq!(query(&mut outcome.unwrap(), "SELECT CURRENT_USER()").await, "sha2@%");
        }
        // Knowing the right password does not make a wrong one right.
        let (_, error) = refused(proxy.tcp(), SHA2, "wrong", SHA2_PLUGIN).await;
        assert!(error.starts_with("1045 (28000)"), "{error}");
    });
}

#[test]
fn an_empty_password_is_one() {
    let proxy = setup().user("nothing", "", "").start();
    run(async {
        for plugin in [NATIVE_PLUGIN, SHA2_PLUGIN] {
            let (messages, outcome) = log_in(proxy.tcp(), "nothing", "", plugin).await;
            assert_eq!(query(&mut outcome.unwrap(), "SELECT CURRENT_USER()").await, "nothing@%");
            assert_eq!(messages, NATIVE_MESSAGES);
            let (_, error) = refused(proxy.tcp(), "nothing", "something", plugin).await;
            assert!(error.contains("1045") && error.contains("using password: YES"), "{error}");
        }
    });
}
