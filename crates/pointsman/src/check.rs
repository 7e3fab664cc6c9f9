//! `pointsman check`: whether a configuration can be used, and what a start here would find.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::net::{IpAddr, ToSocketAddrs as _};
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use admin::StoreError;
use config::{Address, Config, Endpoint};

use crate::cli::ConfigArgs;
use crate::file;
use crate::say::{complain, say};

/// Longest wait for the addresses of all names.
const NAMES_TIME_MAX: Duration = Duration::from_secs(5);

/// Most names that are looked up, each on a thread of its own.
const NAMES_MAX: usize = 200;

/// What is found of this machine, where the file may not be the one of this machine.
#[derive(Debug, Default)]
struct Found {
    /// A start here is refused.
    errors: Vec<String>,
    warnings: Vec<String>,
}

/// Says whether a configuration can be used.
pub(crate) fn check(args: &ConfigArgs) -> anyhow::Result<ExitCode> {
    let path = args.config.as_path();
    let loaded = file::load(path, args.strictness())?;
    let mut found = Found { warnings: loaded.warnings, ..Found::default() };
    about_datadir(Path::new(&loaded.config.datadir), &mut found);
    about_names(&loaded.config, &mut found);
    let Found { errors, warnings } = found;
    for warning in &warnings {
        complain!("warning: {warning}");
    }
    proxy::check_tls(&loaded.config)?;
    let rules = proxy::check_rules(&loaded.config);
    for error in rules.iter().map(ToString::to_string).chain(errors.iter().cloned()) {
        complain!("error: {}: {error}", path.display());
    }
    if !rules.is_empty() {
        anyhow::bail!("{} of {} cannot be used", counted(rules.len(), "rule"), path.display());
    }
    if !errors.is_empty() {
        anyhow::bail!("a start with {} is refused", path.display());
    }
    let Config { listeners, servers, users, .. } = &loaded.config;
    let warnings = match warnings.len() {
        0 => String::new(),
        number => format!(", {}", counted(number, "warning")),
    };
    say!(
        "{}: ok, {}, {}, {}{warnings}",
        path.display(),
        counted(listeners.len(), "listener"),
        counted(servers.len(), "server"),
        counted(users.len(), "user")
    );
    Ok(ExitCode::SUCCESS)
}

/// A number of things: `1 server`, `2 servers`.
fn counted(number: usize, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{plural}")
}

/// What a start would find in `datadir`. A missing folder is no error: the file may be checked
/// elsewhere than where it will be used.
fn about_datadir(datadir: &Path, found: &mut Found) {
    if datadir.as_os_str().is_empty() {
        return;
    }
    if !datadir.is_dir() {
        let list = if datadir.exists() { &mut found.errors } else { &mut found.warnings };
        return list.push(StoreError::NoFolder { path: datadir.to_path_buf() }.to_string());
    }
    if let Err(error) = write_probe(datadir) {
        found.errors.push(format!("datadir is {}, where this user cannot write: {error}", datadir.display()));
    }
    let database = admin::disk_file(datadir);
    if database.exists()
        && let Err(error) = OpenOptions::new().read(true).write(true).open(&database)
    {
        found.errors.push(format!("cannot open {}: {error}", database.display()));
    }
    let is_used =
        File::open(datadir).map(|folder| matches!(folder.try_lock(), Err(TryLockError::WouldBlock)));
    if is_used.is_ok_and(|is_used| is_used) {
        found.warnings.push(format!(
            "another process uses datadir {}: until it ends, a start is refused",
            datadir.display()
        ));
    }
    if let Some(saved) = admin::saved_in(datadir) {
        found.warnings.push(format!(
            "{} has a saved configuration: without --initial or --reload that counts, not this file",
            saved.display()
        ));
    }
}

/// Makes a file in `folder`, and removes it.
fn write_probe(folder: &Path) -> std::io::Result<()> {
    let path = folder.join(format!(".pointsman-check-{}", std::process::id()));
    OpenOptions::new().write(true).create_new(true).open(&path)?;
    std::fs::remove_file(path)
}

/// Names of listeners, without which nothing starts, and of servers, which cannot be reached.
fn about_names(config: &Config, found: &mut Found) {
    let listeners = config.listeners.iter().map(|listener| &listener.address);
    let own: BTreeSet<&str> = listeners
        .chain(&config.admin.mysql_ifaces)
        .filter_map(|address| match address {
            Address::Name { host, .. } => Some(host.as_str()),
            Address::Tcp(_) | Address::Unix(_) => None,
        })
        .collect();
    let endpoints: Vec<Endpoint> = config.servers.iter().map(config::Server::endpoint).collect();
    let servers: BTreeSet<&str> = endpoints
        .iter()
        .filter_map(|endpoint| match endpoint {
            Endpoint::Tcp { host, .. } => Some(host.as_str()),
            Endpoint::Unix(_) => None,
        })
        .filter(|host| host.split('%').next().is_some_and(|ip| ip.parse::<IpAddr>().is_err()))
        .collect();
    let names: Vec<&str> = own.union(&servers).copied().take(NAMES_MAX).collect();
    for (name, why) in unresolved(&names, NAMES_TIME_MAX) {
        if own.contains(name.as_str()) {
            found.errors.push(format!("cannot listen at {name}: the name cannot be resolved: {why}"));
        }
        if servers.contains(name.as_str()) {
            found
                .warnings
                .push(format!("the server {name} cannot be reached: its name cannot be resolved: {why}"));
        }
    }
}

/// The names without an address, and why, after `limit` at the latest.
fn unresolved(names: &[&str], limit: Duration) -> Vec<(String, String)> {
    let (sender, answers) = channel();
    for name in names {
        let (name, sender) = ((*name).to_owned(), sender.clone());
        let look_up = move || {
            let failed = match (name.as_str(), 0).to_socket_addrs().map(|mut all| all.next()) {
                Ok(Some(_)) => None,
                Ok(None) => Some("it has no address".to_owned()),
                Err(error) => Some(error.to_string()),
            };
            // The wait may be over.
            let _ = sender.send((name, failed));
        };
        if std::thread::Builder::new().name("resolve".to_owned()).spawn(look_up).is_err() {
            break;
        }
    }
    drop(sender);
    let end = Instant::now() + limit;
    let mut waiting: BTreeSet<&str> = names.iter().copied().collect();
    let mut failed = Vec::new();
    while let Ok((name, why)) = answers.recv_timeout(end.saturating_duration_since(Instant::now())) {
        waiting.remove(name.as_str());
        failed.extend(why.map(|why| (name, why)));
    }
    failed.extend(waiting.iter().map(|name| ((*name).to_owned(), format!("no answer within {limit:?}"))));
    failed.sort();
    failed
}
