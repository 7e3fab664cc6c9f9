//! Variables and tables of the runtime that the tasks of the admin port read.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use config::Address;

use crate::accounts::{Accounts, Login, LoginRefused};
use crate::answer::{Answer, Cell};
use crate::store::Store;

/// Variables of the admin port as they are at runtime.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// Who may log in.
    pub(crate) accounts: Accounts,
    /// What the greeting calls the server.
    pub(crate) server_version: String,
    /// Where the admin port listens.
    pub(crate) addresses: Vec<Address>,
    /// `admin-read_only`.
    pub(crate) read_only: bool,
    /// `admin-vacuum_stats`.
    pub(crate) vacuum_stats: bool,
    /// Where REST is served, if it is.
    pub(crate) rest_address: Option<SocketAddr>,
    /// Who may use it; with no account, every client.
    pub(crate) rest_accounts: Accounts,
    /// Whether a GET runs scripts, too.
    pub(crate) rest_get: bool,
    /// Where health checks are answered.
    pub(crate) health_addresses: Vec<SocketAddr>,
    /// Where the page for operators is served.
    pub(crate) web_addresses: Vec<SocketAddr>,
    /// The active rows of `runtime_restapi_routes`.
    pub(crate) routes: Vec<Route>,
    /// The active rows of `runtime_scheduler`.
    pub(crate) jobs: Vec<Job>,
}

/// An active row of `runtime_restapi_routes`: a script that REST runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) method: String,
    pub(crate) uri: String,
    pub(crate) script: String,
    pub(crate) limit: Duration,
}

/// An active row of `runtime_scheduler`: a program that runs at an interval.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Job {
    pub(crate) id: i64,
    pub(crate) interval: Duration,
    pub(crate) path: String,
    pub(crate) arguments: Vec<String>,
}

/// What a greeting calls the server where `mysql-server_version` is empty, which for traffic means
/// that servers are asked.
const SERVER_VERSION: &str = "8.0.11";

impl Settings {
    /// What the variables of `store` say.
    pub(crate) fn of(store: &mut Store) -> Self {
        let (routes, jobs) = (routes(store), jobs(store));
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
            read_only: is_true(&text("admin-read_only")),
            vacuum_stats: is_true(&text("admin-vacuum_stats")),
            rest_address: rest_address(text),
            rest_accounts: Accounts::new(&text("pointsman-restapi_credentials"), "", ("", "")),
            rest_get: is_true(&text("pointsman-restapi_get")),
            health_addresses: addresses(&text("pointsman-health_address")),
            web_addresses: web_addresses(text),
            routes,
            jobs,
        }
    }
}

impl Settings {
    /// Where the page for operators is served; nowhere while it is switched off.
    pub fn web_addresses(&self) -> &[SocketAddr] {
        &self.web_addresses
    }

    /// Whether changes by admins are refused.
    pub const fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// The account of `user`, if that is its password and it may log in from `client`. Takes some
    /// milliseconds where the password is stored as a hash of `caching_sha2_password`.
    ///
    /// # Errors
    ///
    /// The user or the password is wrong, or the account is for clients on this machine only.
    pub fn log_in(&self, user: &str, password: &[u8], client: IpAddr) -> Result<Login, LoginRefused> {
        self.accounts.log_in(user, password, client)
    }

    /// Whether the account of `login` is still there, with the same password and rights.
    pub fn has(&self, login: &Login) -> bool {
        self.accounts.has(login)
    }
}

/// Where REST is served, as the variables `text` say.
fn rest_address(text: impl Fn(&str) -> String) -> Option<SocketAddr> {
    let address: IpAddr = text("pointsman-restapi_address").parse().ok()?;
    let port: u16 = text("admin-restapi_port").parse().ok()?;
    is_true(&text("admin-restapi_enabled")).then_some((address, port).into())
}

/// Where the page for operators is served, as the variables `text` say.
fn web_addresses(text: impl Fn(&str) -> String) -> Vec<SocketAddr> {
    if !is_true(&text("admin-web_enabled")) {
        return Vec::new();
    }
    let listed = addresses(&text("pointsman-web_address"));
    if !listed.is_empty() {
        return listed;
    }
    // Without TLS, passwords must not leave the machine.
    let host = if is_true(&text("mysql-have_ssl")) { Ipv4Addr::UNSPECIFIED } else { Ipv4Addr::LOCALHOST };
    text("admin-web_port").parse().map(|port: u16| (host, port).into()).into_iter().collect()
}

/// The addresses of a list separated by `;`, which was checked when it was loaded.
fn addresses(list: &str) -> Vec<SocketAddr> {
    let parts = list.split(';').filter_map(|address| address.trim().parse().ok());
    parts.filter_map(|address| if let Address::Tcp(tcp) = address { Some(tcp) } else { None }).collect()
}

fn is_true(value: &str) -> bool {
    value.eq_ignore_ascii_case("true") || value == "1"
}

fn routes(store: &mut Store) -> Vec<Route> {
    let sql = "SELECT method, uri, script, timeout_ms FROM runtime_restapi_routes WHERE active=1 ORDER BY id";
    let route = |mut cells: Vec<Cell>| {
        let limit = Duration::from_millis(text(cells.pop()?)?.parse().ok()?);
        let [method, uri, script] = cells.try_into().ok()?;
        Some(Route { method: text(method)?, uri: text(uri)?, script: text(script)?, limit })
    };
    rows(store, "runtime_restapi_routes", sql).into_iter().filter_map(route).collect()
}

fn jobs(store: &mut Store) -> Vec<Job> {
    let sql = "SELECT id, interval_ms, filename, arg1, arg2, arg3, arg4, arg5 FROM runtime_scheduler WHERE active=1 \
               ORDER BY id";
    let job = |cells: Vec<Cell>| {
        let mut cells = cells.into_iter();
        let id = text(cells.next()?)?.parse().ok()?;
        let interval = Duration::from_millis(text(cells.next()?)?.parse().ok()?);
        let path = text(cells.next()?)?;
        // The first one that is NULL ends them, as the list of arguments of a program does.
        let arguments = cells.map_while(text).collect();
        Some(Job { id, interval, path, arguments })
    };
    rows(store, "runtime_scheduler", sql).into_iter().filter_map(job).collect()
}

/// The rows of a table of the runtime.
fn rows(store: &mut Store, table: &str, sql: &str) -> Vec<Vec<Cell>> {
    if let Err(error) = store.refresh_runtime(table) {
        tracing::error!(%error, table, "a table of the runtime cannot be read");
        return Vec::new();
    }
    match store.own_query(sql) {
        Answer::Rows { rows, .. } => rows,
        other => {
            let error = if let Answer::Error(error) = other { error.message } else { "no rows".to_owned() };
            tracing::error!(error, table, "a table of the runtime cannot be read");
            Vec::new()
        }
    }
}

fn text(cell: Cell) -> Option<String> {
    cell.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}
