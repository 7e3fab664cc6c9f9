//! `mysql-verbose_query_error`: errors of statements in the log of the process.

use e2e::run;
use testkit::client::Client;

use super::setup;

#[test]
fn errors_of_statements_are_logged_if_one_wants_it() {
    run(async {
        let quiet = setup().start();
        let mut client = Client::connect(&quiet.options()).await.unwrap();
        client.query("SELECT nothing").await.unwrap_err();
        let proxy = setup().variable("verbose_query_error", true).start();
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        client.query("SELECT `no\nthing`").await.unwrap_err();
        let line = proxy.wait_for_log("a statement has failed");
        for part in ["1054", "Unknown column 'no thing'", "0x", "test"] {
            assert!(line.contains(part), "{line}");
        }
        assert!(!quiet.log().iter().any(|line| line.contains("a statement has failed")));
    });
}
