//! What single values cannot show: rows against themselves, against each other, and against other
//! tables.

mod addresses;
mod collectors;
mod listeners;
mod passwords;
mod shards;
mod unmatched;
mod unserved;

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::net::IpAddr;
use std::path::PathBuf;

use super::tables::Tables;
use super::{Listeners, is_mysql};
use crate::model::{
    Address, Config, Endpoint, Listener, Server, digest_number, is_sqli_fingerprint, is_table, unix_path,
};
use crate::problem::Problem;
use crate::row::PlacedRow;
use crate::schema::{
    LISTENERS, MYSQL_FIREWALL_WHITELIST_RULES, MYSQL_FIREWALL_WHITELIST_SQLI_FINGERPRINTS,
    MYSQL_QUERY_RULES_FAST_ROUTING, MYSQL_SERVERS, MYSQL_USERS, MYSQL_VARIABLES, POINTSMAN_VARIABLES,
    SECTIONS, Scalar, Section, Shape, addresses,
};
use crate::tree::Place;
use crate::turns::in_turns;

fn report(problems: &mut Vec<Problem>, at: &Place, message: String) {
    problems.push(Problem::new(&at.file, at.line, message));
}

/// Everything that rows show only together. `complete` says whether all of them are there: if not,
/// what seems to be missing may stand in what could not be read.
pub(super) fn all(tables: &Tables, complete: bool, problems: &mut Vec<Problem>) -> Listeners {
    let listeners = listeners(tables, problems);
    servers(tables.unseen(&MYSQL_SERVERS), problems);
    for section in SECTIONS.iter().filter(|section| section.shape == Shape::Rows) {
        rules(section, tables.unseen(section), problems);
        unique(section, tables.unseen(section), problems);
    }
    for name in ["health_address", "web_address"] {
        http_address(name, tables, problems);
    }
    rest_address(tables, problems);
    collectors::addresses(tables, problems);
    heartbeat(tables, problems);
    firewall(tables, problems);
    listeners::strategies(tables, problems);
    if complete {
        listeners::served(&listeners, tables, problems);
    }
    listeners
}

/// What must hold between the columns of each row.
fn rules(section: &Section, rows: &[PlacedRow], problems: &mut Vec<Problem>) {
    for row in in_turns(rows).filter(|row| row.sound) {
        for (at, message) in broken(section, row) {
            report(problems, at, message);
        }
    }
}

/// What does not hold between the columns of a row, and where it stands.
pub(super) fn broken<'a>(
    section: &'a Section,
    row: &'a PlacedRow,
) -> impl Iterator<Item = (&'a Place, String)> {
    let rules = section.rules.iter().filter(|rule| !rule.holds(&row.row));
    let is_user = section.name == MYSQL_USERS.name;
    let password = if is_user { passwords::wrong(&row.row) } else { None };
    let broken = rules.map(|rule| (rule.column(), rule.message()));
    broken
        .chain(password.map(|error| ("password", error)))
        .map(|(column, message)| (row.place(column), format!("`{}.{column}` {message}", section.name)))
}

/// The listeners that the rows of `listeners` and the variable `interfaces` ask for together. An
/// empty `interfaces` counts as not given, as in ProxySQL, and beside rows its default does: a
/// configuration that was saved has every variable.
fn listeners(tables: &Tables, problems: &mut Vec<Problem>) -> Listeners {
    let mut listeners = Listeners::new();
    for row in tables.of(&LISTENERS).iter().filter(|row| row.sound) {
        let listener = Listener::from_row(&row.row);
        listeners::row(row, &listener, problems);
        listeners.push((listener, row.place("address").clone()));
    }
    let interfaces = tables.of(&MYSQL_VARIABLES).first().filter(|row| {
        row.given("interfaces").is_some()
            && (tables.of(&LISTENERS).is_empty() || !row.row.is_preset("interfaces"))
    });
    if let Some(row) = interfaces.filter(|row| row.sound) {
        let text: String = row.row.get("interfaces");
        for address in addresses(&text).unwrap_or_default() {
            let listener = Listener { address, ..Listener::default() };
            listeners.push((listener, row.place("interfaces").clone()));
        }
    }
    match &tables.listeners_at {
        None if listeners.is_empty() && tables.of(&LISTENERS).is_empty() => {
            listeners.push((Listener::default(), Place::new(&PathBuf::new().into(), 0)));
        }
        Some(at) if listeners.is_empty() && tables.of(&LISTENERS).is_empty() => {
            report(problems, at, "there is no listener: `listeners` is empty".to_owned());
        }
        _ => {}
    }
    addresses::distinct(&listeners, tables, problems);
    listeners
}

/// HTTP is spoken over TCP.
fn http_address(name: &str, tables: &Tables, problems: &mut Vec<Problem>) {
    let Some(row) = tables.of(&POINTSMAN_VARIABLES).first().filter(|row| row.sound) else { return };
    let all: Vec<Address> = row.row.get(name);
    if let Some(other) = all.iter().find(|address| !matches!(address, Address::Tcp(_))) {
        let message = format!("`pointsman_variables.{name}` must be IP addresses with ports, not {other}");
        report(problems, row.place(name), message);
    }
}

/// Has no name: what it stands for may change, and with it who reaches the scripts.
fn rest_address(tables: &Tables, problems: &mut Vec<Problem>) {
    const NAME: &str = "restapi_address";
    let Some(row) = tables.of(&POINTSMAN_VARIABLES).first().filter(|row| row.sound) else { return };
    let address: String = row.row.get(NAME);
    if address.parse::<IpAddr>().is_err() {
        let message = format!("`pointsman_variables.{NAME}` must be an IP address, not {address:?}");
        report(problems, row.place(NAME), message);
    }
}

/// It becomes part of a statement.
fn heartbeat(tables: &Tables, problems: &mut Vec<Problem>) {
    const NAME: &str = "monitor_replication_lag_use_percona_heartbeat";
    let Some(row) = tables.of(&MYSQL_VARIABLES).first().filter(|row| row.sound) else { return };
    let table: String = row.row.get(NAME);
    if !table.trim().is_empty() && !is_table(table.trim()) {
        let message =
            format!("`mysql_variables.{NAME}` must be the name of a table with its schema, not {table}");
        report(problems, row.place(NAME), message);
    }
}

/// A digest that cannot be read would let nothing pass, and the operator would not know why.
fn firewall(tables: &Tables, problems: &mut Vec<Problem>) {
    for row in in_turns(tables.unseen(&MYSQL_FIREWALL_WHITELIST_RULES)).filter(|row| row.sound) {
        let digest: String = row.row.get("digest");
        if digest_number(&digest).is_none() {
            let message = format!(
                "`mysql_firewall_whitelist_rules.digest` must be a digest such as 0x1234567890ABCDEF, not {digest:?}"
            );
            report(problems, row.place("digest"), message);
        }
    }
    for row in in_turns(tables.unseen(&MYSQL_FIREWALL_WHITELIST_SQLI_FINGERPRINTS)).filter(|row| row.sound) {
        let fingerprint: String = row.row.get("fingerprint");
        if !is_sqli_fingerprint(&fingerprint) {
            let message = format!(
                "`mysql_firewall_whitelist_sqli_fingerprints.fingerprint` must be a fingerprint such as Enknk, not {fingerprint:?}"
            );
            report(problems, row.place("fingerprint"), message);
        }
    }
}

/// A host name and a port must fit each other.
fn servers(rows: &[PlacedRow], problems: &mut Vec<Problem>) {
    for row in in_turns(rows).filter(|row| row.sound) {
        let hostname: String = row.row.get("hostname");
        let port: u16 = row.row.get("port");
        let message = match port {
            0 if !hostname.starts_with('/') => {
                "with `port = 0`, `mysql_servers.hostname` must be the absolute path of a Unix socket"
                    .to_owned()
            }
            0 => match unix_path(&hostname) {
                Ok(_) => continue,
                Err(error) => format!("`mysql_servers.hostname` is wrong: {error}"),
            },
            _ if hostname.starts_with('/') => {
                "`mysql_servers.hostname` is the path of a Unix socket, which needs `port = 0`".to_owned()
            }
            _ if hostname.rsplit_once(':').is_some_and(|(name, _)| is_host(name)) && !is_host(&hostname) => {
                "`mysql_servers.hostname` must be without a port, which has the column `port`".to_owned()
            }
            _ if !is_host(&hostname) => {
                "`mysql_servers.hostname` must be a DNS name or an IP address (without brackets)".to_owned()
            }
            _ => continue,
        };
        report(problems, row.place("hostname"), message);
    }
}

/// Whether `text` can be a DNS name or is an IP address.
fn is_host(text: &str) -> bool {
    let name = text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    let without_zone = text.split('%').next().unwrap_or_default();
    (!text.is_empty() && name) || without_zone.parse::<IpAddr>().is_ok()
}

/// The values of a row in some columns.
#[derive(Clone, Copy)]
struct Values<'a> {
    cells: &'a [Scalar],
    columns: &'a [usize],
}

impl<'a> Values<'a> {
    fn get(self) -> impl Iterator<Item = &'a Scalar> {
        self.columns.iter().filter_map(move |at| self.cells.get(*at))
    }
}

impl PartialEq for Values<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.get().eq(other.get())
    }
}

impl Eq for Values<'_> {}

impl Hash for Values<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.get().for_each(|value| value.hash(state));
    }
}

/// No two rows may have the same values in the columns of a key.
fn unique(section: &Section, rows: &[PlacedRow], problems: &mut Vec<Problem>) {
    let mut reported: HashSet<usize> = HashSet::new();
    for key in section.unique {
        // A table that grows would be made anew several times, without a pause.
        let mut seen: HashMap<Values<'_>, &Place> = HashMap::with_capacity(rows.len());
        let columns: Vec<usize> = key.iter().filter_map(|name| Some(section.find(name)?.0)).collect();
        for (index, row) in in_turns(rows).enumerate().filter(|(_, row)| row.sound) {
            let first = match seen.entry(Values { cells: row.row.cells(), columns: &columns }) {
                Entry::Occupied(first) => first,
                Entry::Vacant(place) => {
                    place.insert(&row.at);
                    continue;
                }
            };
            if reported.insert(index) {
                let pairs = key.iter().zip(first.key().get());
                let shown: Vec<String> = pairs.map(|(column, value)| format!("{column} = {value}")).collect();
                let (name, shown, first) = (section.name, shown.join(", "), first.get().within());
                let message = format!("`{name}` has two rows with {shown}, the first on {first}");
                report(problems, &row.at, message);
            }
        }
    }
}

/// Users that `config` lets log in and gives no server; and whether no user may log in at all.
pub(super) fn warnings(config: &Config) -> Vec<String> {
    let mut served: HashSet<u32> = config.servers.iter().map(|server| server.hostgroup_id).collect();
    // Servers of one hostgroup of a cluster may be in any other of it.
    let mut clustered: HashSet<u32> = (config.replication_hostgroups.iter())
        .flat_map(|row| [row.writer_hostgroup, row.reader_hostgroup])
        .collect();
    let mut twice = Vec::new();
    for hostgroups in config.clusters() {
        twice.extend(hostgroups.iter().copied().filter(|hostgroup| !clustered.insert(*hostgroup)));
        if hostgroups.iter().any(|hostgroup| served.contains(hostgroup)) {
            served.extend(hostgroups);
        }
    }
    let mut unserved: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
    let mut users = 0_usize;
    for user in in_turns(&config.users).filter(|user| user.active && user.frontend) {
        users += 1;
        if !served.contains(&user.default_hostgroup) {
            unserved.entry(user.default_hostgroup).or_default().push(&user.username);
        }
    }
    let mut warnings = listeners::warnings(config, &served);
    let doubled = |hostgroup| {
        format!("hostgroup {hostgroup} is part of more than one pair or cluster: one of them counts")
    };
    warnings.extend(twice.into_iter().map(doubled));
    let unserved: Vec<String> = unserved
        .into_iter()
        .map(|(hostgroup, names)| {
            format!(
                "hostgroup {hostgroup} has no server, and is the default_hostgroup of {}",
                shorten(&names)
            )
        })
        .collect();
    warnings.extend(unserved);
    warnings.extend(unserved::warnings(config, &served));
    warnings.extend(unmatched::warnings(config));
    let endpoints = endpoints(config);
    warnings.extend(addresses::warnings(config));
    warnings.extend(known_passwords(config));
    warnings.extend(own_server(config, &endpoints));
    for options in &config.server_options {
        let endpoint = options.endpoint();
        if !endpoints.contains(&endpoint) {
            warnings.push(format!("`pointsman_servers` has {endpoint}, which `mysql_servers` has not"));
        }
    }
    if users == 0 && config.listeners.iter().any(is_mysql) {
        warnings.push("nobody can log in: `mysql_users` has no active frontend user".to_owned());
    }
    warnings
}

/// Whether rows of fast routing count that another program does not read. A file that was saved
/// here has variables of the proxy's own.
pub(super) fn fast_routes(tables: &Tables) -> Option<String> {
    let here = tables.of(&MYSQL_QUERY_RULES_FAST_ROUTING).len();
    // A group that the file does not have stands on no line.
    let is_ours = tables.of(&POINTSMAN_VARIABLES).first().is_some_and(|row| row.at.line > 0);
    (here > 0 && !is_ours).then(|| {
        format!(
            "rows of `mysql_query_rules_fast_routing` ({here}) count, while ProxySQL reads none from a file"
        )
    })
}

/// The addresses where clients connect; port 0 is a free one each time.
fn client_addresses(config: &Config) -> impl Iterator<Item = &Address> {
    let addresses = config.listeners.iter().map(|listener| &listener.address);
    addresses.filter(|address| address.port() != Some(0))
}

/// Accounts of the admin port whose passwords are in every manual. Any user of this machine can log
/// in with them, and have the scheduler run programs as the user of the proxy.
fn known_passwords(config: &Config) -> Option<String> {
    let admin = &config.admin;
    let is_known = |(user, password): &(&str, &str)| user == password && ["admin", "stats"].contains(user);
    let both = admin.admin_credentials.iter().chain(admin.stats_credentials.iter());
    let known: Vec<String> = both.filter(is_known).map(|(user, _)| format!("`{user}:{user}`")).collect();
    if known.is_empty() || admin.mysql_ifaces.is_empty() {
        return None;
    }
    let addresses: Vec<String> = admin.mysql_ifaces.iter().map(ToString::to_string).collect();
    Some(format!(
        "the admin port, at {}, has {}, accounts that every user of this machine knows: set admin_credentials and stats_credentials",
        addresses.join(", "),
        known.join(" and ")
    ))
}

/// Where servers are.
pub(super) fn endpoints(config: &Config) -> HashSet<Endpoint> {
    in_turns(&config.servers).map(Server::endpoint).collect()
}

/// A server that is the proxy itself: each of its connections would open another one, without end.
pub(super) fn own_server(config: &Config, servers: &HashSet<Endpoint>) -> Option<String> {
    let is_own = |address: &&Address| {
        let has = |host: String, port| servers.contains(&Endpoint::Tcp { host, port });
        match address {
            Address::Tcp(tcp) => {
                let (ip, port) = (tcp.ip(), tcp.port());
                let is_local = ip.is_loopback() || ip.is_unspecified();
                has(ip.to_string(), port) || is_local && has("localhost".to_owned(), port)
            }
            Address::Name { host, port } => has(host.clone(), *port),
            Address::Unix(_) => false,
        }
    };
    let address = client_addresses(config).find(is_own)?;
    Some(format!("`mysql_servers` has {address}, which is where clients connect to the proxy itself"))
}

/// Names in a message: more are only counted.
const SHOWN_NAMES: usize = 10;

fn shorten(names: &[&str]) -> String {
    let shown: Vec<String> =
        names.iter().take(SHOWN_NAMES).map(|name| format!("`{}`", name.escape_debug())).collect();
    match names.len().saturating_sub(SHOWN_NAMES) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
