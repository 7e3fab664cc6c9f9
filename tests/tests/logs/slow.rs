//! The slow log.

use e2e::run;
use testkit::client::Client;

use super::{flush, lines, setup};

#[test]
fn slow_statements_are_in_it_and_others_are_not() {
    run(async {
        let setup =
            setup().pointsman_variable("slow_log_filename", "\"slow\"").variable("long_query_time", 100);
        let folder = setup.folder().to_owned();
        let proxy = setup.start();
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        client.query("DO 1").await.unwrap();
        client.query("SELECT SLEEP(0.2)").await.unwrap();
        flush(&proxy).await;
        let lines = lines(&folder, "slow.00000001");
        assert!(
            lines.len().is_multiple_of(6) && lines.iter().any(|line| line == "SELECT SLEEP(0.2);"),
            "{lines:#?}"
        );
        let at = lines.iter().position(|line| line == "SELECT SLEEP(0.2);").unwrap();
        assert!(lines[at - 5].starts_with("# Time: 2"), "{lines:#?}");
        assert!(lines[at - 4].contains("@  [127.0.0.1]  Id: "), "{lines:#?}");
        assert!(
            lines[at - 3].contains(" Rows_sent: 1 ") && lines[at - 3].contains(" Hostgroup: 0 "),
            "{lines:#?}"
        );
        assert_eq!(lines[at - 2], "use test;");
        assert!(lines[at - 1].starts_with("SET timestamp="), "{lines:#?}");
    });
}
