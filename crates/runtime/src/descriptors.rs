//! Too few descriptors: what is said of it at start.

use config::Config;

use crate::limits::{DESCRIPTORS_OF_THREAD, KILLS_MAX};
use upstream::descriptors::limit;
use upstream::limits::DESCRIPTORS_RESERVED;
use watch::CONNECTIONS_MAX;

/// Why the process may have too few descriptors for `config`; `None` if there are enough.
pub fn too_few_descriptors(config: &Config) -> Option<String> {
    warning(config, limit())
}

fn warning(config: &Config, limit: u64) -> Option<String> {
    let clients = u64::from(config.variables.max_connections);
    let servers: u64 = config.servers.iter().map(|server| u64::from(server.max_connections)).sum();
    let checks = config.servers.len().saturating_mul(CONNECTIONS_MAX + 1);
    let monitor = if config.monitor.enabled { checks as u64 } else { 0 };
    let threads = u64::from(config.variables.threads) * (DESCRIPTORS_OF_THREAD + KILLS_MAX as u64);
    let rest = threads + config.listeners.len() as u64;
    let needed = clients + servers + monitor + DESCRIPTORS_RESERVED + rest;
    (needed > limit).then(|| {
        format!(
            "the process may have {limit} open files, and this configuration may need {needed}: {clients} for clients \
             (mysql-max_connections), {servers} for servers (max_connections of mysql_servers), {monitor} for the monitor, \
             {DESCRIPTORS_RESERVED} reserved for the admin port, {rest} for the rest; raise the limit (ulimit -n, LimitNOFILE of systemd), or lower these: without, clients get \
             error 1040"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_that_needs_more_is_told_with_the_numbers() {
        let text = "[[listeners]]\naddress = \"127.0.0.1:0\"\n[mysql_variables]\nmax_connections = 100\nthreads = 2\n\
                    [[mysql_servers]]\nhostname = \"a\"\nmax_connections = 20\n[[mysql_servers]]\nhostname = \"b\"\n\
                    max_connections = 30\n";
        let config = config::parse(text, "p.toml".as_ref()).unwrap().config;
        // 2 workers of 8 + 16, a listener, 16 reserved.
        let needed = 100 + 50 + 8 + 2 * 24 + 1 + 16;
        assert_eq!(warning(&config, needed), None);
        let warning = warning(&config, needed - 1).unwrap();
        for part in [
            "may have 222 open files",
            "may need 223",
            "100 for clients",
            "50 for servers",
            "8 for the monitor",
        ] {
            assert!(warning.contains(part), "{part}: {warning}");
        }
    }
}
