//! What the tasks of the admin port need to know of its variables at runtime.

use config::Address;

use crate::server::Accounts;
use crate::store::Store;

/// Variables of the admin port as they are at runtime.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Who may log in.
    pub(crate) accounts: Accounts,
    /// What the greeting calls the server.
    pub(crate) server_version: String,
    /// Where the admin port listens.
    pub(crate) addresses: Vec<Address>,
    /// `admin-read_only`.
    pub(crate) read_only: bool,
}

/// What a greeting calls the server where `mysql-server_version` is empty, which for traffic means that servers are asked.
const SERVER_VERSION: &str = "8.0.11";

impl Settings {
    /// What the variables of `store` say.
    pub(crate) fn of(store: &Store) -> Self {
        let text = |name: &str| store.variable(name).unwrap_or_default();
        let accounts = Accounts::new(
            &text("admin-admin_credentials"),
            &text("admin-stats_credentials"),
            (&text("mysql-monitor_username"), &text("mysql-monitor_password")),
        );
        let version = text("mysql-server_version");
        Self {
            accounts,
            server_version: if version.is_empty() { SERVER_VERSION.to_owned() } else { version },
            addresses: text("admin-mysql_ifaces")
                .split(';')
                .filter_map(|address| address.trim().parse().ok())
                .collect(),
            read_only: text("admin-read_only") == "true",
        }
    }
}
