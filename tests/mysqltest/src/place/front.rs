//! The proxy in front of a place's server.

use std::fmt::Write as _;
use std::path::PathBuf;

use e2e::{Proxy, Setup};

use super::{Conditions, Place};
use crate::needs::{Needs, Passwords};
use crate::reader::Reader;

/// Timeout of everything in the proxy that a test might wait for; longer than any test may take. In
/// ms.
const PROXY_TIME_MS: u32 = 600_000;
/// Longest message that the proxy takes: as long as the protocol allows, so that the server
/// decides. In bytes.
const PROXY_PACKET_MAX: u32 = 1 << 30;
/// Connections to a server that sessions share, besides those that a test may keep to its own: few,
/// so that sessions take them from each other all the time.
const SHARED_CONNECTIONS: usize = 3;
/// Numbers of connections are multiples of this, so that one proxy does for many tests.
const CONNECTIONS_STEP: usize = 2;

/// A rule that has all reads cached, as exactly as there is.
const CACHE_ALL: &str = r#"
rule_id = 1
active = true
match_pattern = "."
cache_ttl = 3600000
cache_empty_result = true
apply = true
attributes = '{"cache": {"mode": "own"}}'
"#;

impl Place {
    /// Starts a proxy that meets these needs.
    ///
    /// # Panics
    /// When it does not start.
    pub(super) fn start_proxy(&self, needs: &Needs) -> Proxy {
        let quoted = |path: PathBuf| format!("\"{}\"", path.display());
        let mut server = format!(
            "hostname = {}\nport = 0\nuse_ssl = {}\ncompression = {}",
            quoted(self.server.socket()),
            needs.tls,
            needs.compression
        );
        if self.conditions.multiplexing {
            // Writing to a string cannot fail.
            let _ = write!(server, "\nmax_connections = {}", needs.connections);
        }
        let certificates = self.folder.join("std_data");
        let setup = Setup::new(&self.sandbox)
            .row("mysql_servers", &server)
            .variable("server_version", format!("\"{}\"", self.greeting))
            .variable("max_allowed_packet", PROXY_PACKET_MAX)
            .variable("connect_timeout_client", PROXY_TIME_MS)
            .pointsman_variable("check_logins", "\"always\"")
            .pointsman_variable("tls_cert", quoted(certificates.join("server-cert.pem")))
            .pointsman_variable("tls_key", quoted(certificates.join("server-key.pem")))
            .pointsman_variable("tls_ca", quoted(certificates.join("cacert.pem")));
        let setup = match self.conditions.reader {
            Reader::Absent => setup,
            Reader::Lenient | Reader::Refusing => setup
                .row(
                    "mysql_servers",
                    &format!("hostgroup_id = 1\nhostname = \"127.0.0.1\"\nport = {}", self.server.port()),
                )
                .row("mysql_replication_hostgroups", "writer_hostgroup = 0\nreader_hostgroup = 1")
                .variable("read_write_split", true),
        };
        let setup = if self.conditions.cached { setup.row("mysql_query_rules", CACHE_ALL) } else { setup };
        let setup = setup.variable("multiplexing", self.conditions.multiplexing);
        let setup = needs
            .users
            .iter()
            .fold(setup, |setup, (name, passwords)| setup.row("mysql_users", &user(name, passwords)));
        setup.start()
    }
}

/// Turns what a test does into how many connections its server may have: one for each that the test
/// opens, as each may keep its own, and a few that change hands; one more for each of the others if
/// the test stops all of them at once.
pub(super) fn limit(needs: &mut Needs, conditions: Conditions) {
    let stopped = if std::mem::take(&mut needs.stops_others) { conditions.noise } else { 0 };
    let count = (needs.connections + SHARED_CONNECTIONS + stopped).next_multiple_of(CONNECTIONS_STEP);
    needs.connections = if conditions.multiplexing { count } else { 0 };
}

/// A row of `mysql_users`.
fn user(name: &str, passwords: &Passwords) -> String {
    let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let digits: String = passwords.second.bytes().flat_map(digits_of).collect();
    format!(
        "username = \"{}\"\npassword = \"{}\"\nattributes = '{{\"additional_password\": \"{digits}\"}}'",
        quoted(name),
        quoted(&passwords.first)
    )
}

/// A byte as two hexadecimal digits.
fn digits_of(byte: u8) -> [char; 2] {
    [byte >> 4, byte & 15].map(|digit| char::from_digit(digit.into(), 16).unwrap_or_default())
}
