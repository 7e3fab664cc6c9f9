//! Warnings of what leads to hostgroups without servers, and of fast routing that ProxySQL does not
//! read.

use std::path::Path;

/// A server in hostgroup 0 and a user, so that nothing else is to be said about a file.
const REST: &str = "\n[[mysql_servers]]\naddress = \"db\"\n[[mysql_users]]\nusername = \"u\"\n";

fn loaded(text: &str) -> config::Loaded {
    let mut loaded =
        config::parse(text, Path::new("f")).unwrap_or_else(|problems| panic!("{problems}\n{text}"));
    // ProxySQL's accounts, which its files have.
    loaded.warnings.retain(|warning| !warning.contains("the admin port"));
    loaded
}

#[test]
fn pairs_and_fast_routes_without_servers_are_worth_a_warning() {
    let more = "\n[[mysql_replication_hostgroups]]\nwriter_hostgroup = 0\nreader_hostgroup = 1\n\
                [[mysql_replication_hostgroups]]\nwriter_hostgroup = 5\nreader_hostgroup = 6\n\
                [[mysql_galera_hostgroups]]\nwriter_hostgroup = 11\nbackup_writer_hostgroup = 12\n\
                reader_hostgroup = 13\noffline_hostgroup = 14\n\
                [[mysql_aws_aurora_hostgroups]]\nwriter_hostgroup = 21\nreader_hostgroup = 22\nactive = false\ndomain_name = '.x'\n\
                [[mysql_query_rules_fast_routing]]\nusername = 'u'\nschemaname = 'a'\nflagIN = 0\ncomment = ''\n\
                destination_hostgroup = 1\n\
                [[mysql_query_rules_fast_routing]]\nusername = 'u'\nschemaname = 'b'\nflagIN = 0\ncomment = ''\n\
                destination_hostgroup = 7\n";
    assert_eq!(
        loaded(&format!("{REST}{more}")).warnings,
        [
            "f: hostgroups 5, 6 of `mysql_replication_hostgroups` have no server",
            "f: hostgroups 11, 12, 13, 14 of `mysql_galera_hostgroups` have no server",
            "f: hostgroup 7 has no server, and is the destination_hostgroup of rows of \
             `mysql_query_rules_fast_routing` (1): statements that match wait for one and then hear error 9001",
        ]
    );
}

/// There is no such section in ProxySQL's files.
#[test]
fn fast_routing_in_a_file_of_proxysql_is_worth_a_warning() {
    let text = "mysql_servers=({address=\"a\", hostgroup=0})\nmysql_users=({username=\"u\"})\n\
                mysql_query_rules_fast_routing=({username=\"u\",schemaname=\"s\",flagIN=0,destination_hostgroup=0,comment=\"\"})\n";
    assert_eq!(
        loaded(text).warnings,
        ["f: rows of `mysql_query_rules_fast_routing` (1) count, while ProxySQL reads none from a file"]
    );
    assert_eq!(loaded(&format!("{text}pointsman_variables={{ }}\n")).warnings, Vec::<String>::new());
}
