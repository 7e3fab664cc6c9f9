//! A `[routing]` section: a listener, its servers, and how one of them is chosen.

use std::path::Path;
use std::rc::Rc;

use super::destination::{Destination, bind, destinations};
use super::ini::{Section, Setting};
use super::{Reader, entry, options};
use crate::tree::{Entry, Node, Place, Value};

/// Options that do something here.
const USED: [&str; 19] = [
    "bind_address",
    "bind_port",
    "socket",
    "mode",
    "destinations",
    "routing_strategy",
    "max_connections",
    "connect_timeout",
    "client_connect_timeout",
    "max_connect_errors",
    "protocol",
    "client_ssl_mode",
    "server_ssl_mode",
    "client_ssl_cert",
    "client_ssl_key",
    "access_mode",
    "connection_sharing",
    "server_ssl_cert",
    "server_ssl_key",
];

/// Options that mean nothing where bytes are passed on.
const WITHOUT_EFFECT: [&str; 20] = [
    "client_ssl_cipher",
    "client_ssl_curves",
    "client_ssl_dh_params",
    "client_ssl_session_cache_mode",
    "client_ssl_session_cache_size",
    "client_ssl_session_cache_timeout",
    "server_ssl_ca",
    "server_ssl_capath",
    "server_ssl_crl",
    "server_ssl_crlpath",
    "server_ssl_cipher",
    "server_ssl_curves",
    "server_ssl_verify",
    "server_ssl_session_cache_mode",
    "server_ssl_session_cache_size",
    "server_ssl_session_cache_timeout",
    "connection_sharing_delay",
    "net_buffer_length",
    "thread_stack_size",
    "connect_retry_timeout",
];

/// Whether a route can have the option called `name`.
pub(super) fn knows(name: &str) -> bool {
    USED.contains(&name) || WITHOUT_EFFECT.contains(&name)
}

/// The options that a route can have.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    USED.into_iter().chain(WITHOUT_EFFECT)
}

/// A number that each route has: its name, the range in MySQL Router's unit, its default there.
struct Number {
    name: &'static str,
    range: (i64, i64),
    preset: i64,
}

/// Seconds; MySQL Router takes longer ones.
const CONNECT_TIMEOUT: Number = Number { name: "connect_timeout", range: (1, 120), preset: 5 };
/// Seconds.
const CLIENT_CONNECT_TIMEOUT: Number =
    Number { name: "client_connect_timeout", range: (2, 3_600), preset: 9 };
/// Connections of one address.
const MAX_CONNECT_ERRORS: Number = Number { name: "max_connect_errors", range: (1, 1_048_576), preset: 100 };

/// How many addresses are remembered whose connections failed.
const ADDRESSES: i64 = 10_000;

/// A session waits this long for a server at the least, in seconds: the variable's default.
const WAIT_MIN_S: i64 = 10;

/// A number, and the line that it comes from; 0 if it is the default.
type Placed = (i64, usize);

/// A route.
#[derive(Debug)]
pub(super) struct Route {
    /// The section as it stands in the file.
    title: String,
    /// Addresses, each with its line.
    addresses: Vec<(String, usize)>,
    destinations: Vec<Destination>,
    destinations_at: usize,
    /// In the words of `listeners.strategy`.
    strategy: &'static str,
    max_connections: Placed,
    connect_timeout: Placed,
    client_connect_timeout: Placed,
    max_connect_errors: Placed,
}

/// A section with what it has from `[DEFAULT]`.
struct Lookup<'a, 'b> {
    section: &'a Section<'b>,
    defaults: Option<&'a Section<'b>>,
}

impl<'a, 'b> Lookup<'a, 'b> {
    /// An option, and the section that it stands in.
    fn get(&self, name: &str) -> Option<(&'a Section<'b>, &'a Setting<'b>)> {
        [Some(self.section), self.defaults]
            .into_iter()
            .flatten()
            .find_map(|section| Some((section, section.get(name)?)))
    }

    fn value(&self, name: &str) -> Option<&'b str> {
        self.get(name).map(|(_, setting)| setting.value)
    }

    /// Reports the value of an option.
    fn wrong(&self, name: &str, why: &str, reader: &mut Reader) {
        match self.get(name) {
            Some((section, setting)) => options::wrong(section, setting, why, reader),
            None => reader.problem(self.section.line, format!("`{name}` in {} {why}", self.section.title())),
        }
    }

    /// Reports the value of an option that may be left out.
    fn leave_out(&self, name: &str, why: &str, instead: &str, reader: &mut Reader) {
        let (section, line) =
            self.get(name).map_or((self.section, self.section.line), |(of, setting)| (of, setting.line));
        reader.leave_out(line, format!("`{name}` in {} {why}", section.title()), instead);
    }

    fn number(&self, name: &str, range: (i64, i64), preset: i64, reader: &mut Reader) -> Placed {
        let Some((section, setting)) = self.get(name) else { return (preset, 0) };
        (options::number(section, setting, range, reader).unwrap_or(preset), setting.line)
    }
}

impl Route {
    /// The route of a section; nothing if something that it cannot be without is wrong.
    pub(super) fn read(
        section: &Section<'_>,
        defaults: Option<&Section<'_>>,
        reader: &mut Reader,
    ) -> Option<Self> {
        for setting in section.settings() {
            let name = setting.name.as_str();
            if WITHOUT_EFFECT.contains(&name) {
                reader.ignore(format!("{} {name}", section.title()));
            } else if !knows(name) {
                options::unknown(section, setting, names(), reader);
            }
        }
        let lookup = Lookup { section, defaults };
        if reader.lenient && lookup.value("protocol").is_some_and(|value| value.eq_ignore_ascii_case("x")) {
            lookup.leave_out("protocol", "is `x`, which is not passed on", "the route is left out", reader);
            return None;
        }
        refuse(&lookup, reader);
        let number = |number: &Number, reader: &mut Reader| {
            lookup.number(number.name, number.range, number.preset, reader)
        };
        let max_connections = lookup.number("max_connections", (0, 65_535), 0, reader);
        let connect_timeout = number(&CONNECT_TIMEOUT, reader);
        let client_connect_timeout = number(&CLIENT_CONNECT_TIMEOUT, reader);
        let max_connect_errors = number(&MAX_CONNECT_ERRORS, reader);
        let strategy = strategy(&lookup, reader);
        let addresses = addresses(&lookup, reader);
        let (destinations_at, destinations) = match lookup.get("destinations") {
            None => {
                reader.problem(section.line, format!("{} needs `destinations`", section.title()));
                return None;
            }
            Some((_, setting)) => match destinations(setting.value) {
                Ok(destinations) => (setting.line, destinations),
                Err(why) => {
                    lookup.wrong("destinations", &why, reader);
                    return None;
                }
            },
        };
        Some(Self {
            title: section.title(),
            addresses,
            destinations,
            destinations_at,
            strategy: strategy?,
            max_connections,
            connect_timeout,
            client_connect_timeout,
            max_connect_errors,
        })
    }

    /// How long a client waits for a server: time for an attempt with each destination.
    fn longest_wait(&self) -> Placed {
        let (connect, line) = self.connect_timeout;
        let servers = i64::try_from(self.destinations.len()).unwrap_or(i64::MAX);
        (connect.saturating_mul(servers).clamp(WAIT_MIN_S, 3_600), line)
    }

    /// The rows of `listeners`.
    pub(super) fn listeners(&self, hostgroup: i64, file: &Rc<Path>) -> Vec<Node> {
        let row = |(address, line): &(String, usize)| {
            let at = Place::new(file, *line);
            let number = |name: &str, (value, line): Placed, unit: i64| {
                entry(name, Value::Int(value * unit), &Place::new(file, line))
            };
            let entries = vec![
                entry("address", Value::Text(address.clone()), &at),
                entry("role", Value::Text("tcp".to_owned()), &at),
                entry("hostgroup", Value::Int(hostgroup), &at),
                entry("strategy", Value::Text(self.strategy.to_owned()), &at),
                number("max_connections", self.max_connections, 1),
                number("connect_timeout_client", self.client_connect_timeout, 1_000),
                number("connect_timeout_server", self.connect_timeout, 1_000),
                number("connect_timeout_server_max", self.longest_wait(), 1_000),
                number("client_host_error_counts", self.max_connect_errors, 1),
            ];
            Node { value: Value::Group(entries), at }
        };
        self.addresses.iter().map(row).collect()
    }

    /// The rows of `mysql_servers`. Each server may have as many connections as there are clients.
    pub(super) fn servers(&self, hostgroup: i64, clients: i64, file: &Rc<Path>) -> Vec<Node> {
        let at = Place::new(file, self.destinations_at);
        let row = |destination: &Destination| {
            let entries = vec![
                entry("hostgroup_id", Value::Int(hostgroup), &at),
                entry("hostname", Value::Text(destination.host.clone()), &at),
                entry("port", Value::Int(destination.port.into()), &at),
                entry("max_connections", Value::Int(clients), &at),
                entry("comment", Value::Text(self.title.clone()), &at),
            ];
            Node { value: Value::Group(entries), at: at.clone() }
        };
        self.destinations.iter().map(row).collect()
    }
}

/// What becomes of TLS that MySQL Router would end.
const PASSED_ON: &str = "bytes are passed on, and client and server use TLS between them";

/// Reports what cannot be done where bytes are only passed on.
fn refuse(lookup: &Lookup<'_, '_>, reader: &mut Reader) {
    const MODES: [&str; 4] = ["PASSTHROUGH", "DISABLED", "PREFERRED", "REQUIRED"];
    let is =
        |name: &str, word: &str| lookup.value(name).is_some_and(|value| value.eq_ignore_ascii_case(word));
    if let Some((section, setting)) = lookup.get("protocol") {
        if setting.value.eq_ignore_ascii_case("x") {
            lookup.wrong("protocol", "cannot be `x`: only the classic protocol is passed on", reader);
        } else if !setting.value.eq_ignore_ascii_case("classic") {
            options::choice(section, setting, &["classic"], reader);
        }
    }
    if lookup.get("access_mode").is_some() {
        let why = "cannot be set: bytes are passed on unread; with users in a `pointsman.toml`, listeners with the roles \
                   `auto`, `read_write` and `read_only` do that";
        lookup.wrong("access_mode", why, reader);
    }
    if lookup.value("connection_sharing").is_some_and(|value| value != "0") {
        lookup.wrong("connection_sharing", "must be 0: every client has a connection of its own", reader);
    }
    let ends_tls = "cannot be done without the users' passwords, which MySQL Router's file does not have: with \
                    `PASSTHROUGH` client and server use TLS between them; with users in a `pointsman.toml` the proxy ends it";
    match lookup.get("client_ssl_mode") {
        Some((section, setting)) if !MODES.iter().any(|mode| mode.eq_ignore_ascii_case(setting.value)) => {
            options::choice(section, setting, &MODES, reader);
        }
        Some((_, setting)) if is("client_ssl_mode", "PREFERRED") || is("client_ssl_mode", "DISABLED") => {
            let why = format!("is `{}`, which {ends_tls}", setting.value.to_ascii_uppercase());
            lookup.leave_out("client_ssl_mode", &why, PASSED_ON, reader);
        }
        Some((_, setting)) if !setting.value.eq_ignore_ascii_case("PASSTHROUGH") => {
            let why = format!("is `{}`, which {ends_tls}", setting.value.to_ascii_uppercase());
            lookup.wrong("client_ssl_mode", &why, reader);
        }
        // With a certificate MySQL Router's default is PREFERRED.
        None => {
            let certificate =
                ["client_ssl_cert", "client_ssl_key"].into_iter().find(|name| lookup.get(name).is_some());
            if let Some(name) = certificate {
                let why = format!("is for `client_ssl_mode` = `PREFERRED`, which {ends_tls}");
                lookup.leave_out(name, &why, PASSED_ON, reader);
            }
        }
        Some(_) => {}
    }
    if let Some(mode) = lookup.value("server_ssl_mode").filter(|_| !is("server_ssl_mode", "AS_CLIENT")) {
        let mode = mode.to_ascii_uppercase().escape_debug().to_string();
        let why = format!("is `{mode}`; where bytes are passed on, anything but `AS_CLIENT` {ends_tls}");
        if is("server_ssl_mode", "PREFERRED") || is("server_ssl_mode", "DISABLED") {
            lookup.leave_out("server_ssl_mode", &why, PASSED_ON, reader);
        } else {
            lookup.wrong("server_ssl_mode", &why, reader);
        }
    }
    for name in ["server_ssl_cert", "server_ssl_key"] {
        if lookup.get(name).is_some() {
            lookup.leave_out(name, "cannot be set with `client_ssl_mode` = `PASSTHROUGH`", PASSED_ON, reader);
        }
    }
}

/// How a server is chosen; nothing, and a problem, if that is not said.
fn strategy(lookup: &Lookup<'_, '_>, reader: &mut Reader) -> Option<&'static str> {
    const STRATEGIES: [(&str, &str); 3] = [
        ("first-available", "first_available"),
        ("next-available", "next_available"),
        ("round-robin", "round_robin"),
    ];
    // Of versions before 8.0, which is when a strategy replaced it.
    const MODES: [(&str, &str); 2] = [("read-write", "first_available"), ("read-only", "round_robin")];
    let find = |words: &[(&str, &'static str)], value: &str| {
        words.iter().find(|(word, _)| word.eq_ignore_ascii_case(value)).map(|(_, strategy)| *strategy)
    };
    if let Some((section, setting)) = lookup.get("routing_strategy") {
        let found = find(&STRATEGIES, setting.value);
        if found.is_none() && setting.value.eq_ignore_ascii_case("round-robin-with-fallback") {
            let why =
                "cannot be `round-robin-with-fallback` with static destinations, nor can it in MySQL Router";
            options::wrong(section, setting, why, reader);
        } else if found.is_none() {
            options::choice(section, setting, &STRATEGIES.map(|(word, _)| word), reader);
        }
        return found;
    }
    let Some((section, setting)) = lookup.get("mode") else {
        let title = lookup.section.title();
        reader.problem(lookup.section.line, format!("{title} needs `routing_strategy`"));
        return None;
    };
    let found = find(&MODES, setting.value);
    if found.is_none() {
        options::choice(section, setting, &MODES.map(|(word, _)| word), reader);
    }
    found
}

/// Where the route listens.
fn addresses(lookup: &Lookup<'_, '_>, reader: &mut Reader) -> Vec<(String, usize)> {
    /// MySQL Router's default.
    const ADDRESS: &str = "127.0.0.1";
    let mut all = Vec::new();
    let (port, port_at) = lookup.number("bind_port", (0, 65_535), -1, reader);
    let port = u16::try_from(port).ok();
    let address = lookup.get("bind_address").map(|(_, setting)| (setting.value, setting.line));
    let socket = lookup.get("socket");
    match (address, port) {
        (None, None) if socket.is_some() => {}
        (None, None) => {
            let title = lookup.section.title();
            reader.problem(
                lookup.section.line,
                format!("{title} needs `bind_port`, or `bind_address` with a port, or `socket`"),
            );
        }
        (address, port) => {
            let (text, line) = address.unwrap_or((ADDRESS, port_at));
            match bind(text, port) {
                Ok(address) => all.push((address, line)),
                // MySQL Router, too, does without it then.
                Err(_) if socket.is_some() && port.is_none() && text.parse::<std::net::IpAddr>().is_ok() => {}
                Err(why) => lookup.wrong("bind_address", &why, reader),
            }
        }
    }
    if let Some((_, setting)) = socket {
        if setting.value.starts_with('/') {
            all.push((setting.value.to_owned(), setting.line));
        } else {
            lookup.wrong("socket", "must be an absolute path", reader);
        }
    }
    all
}

/// The variables that stand for what a route has of its own: the largest of all, for what is done
/// for no single route.
pub(super) fn variables(routes: &[Route], file: &Rc<Path>) -> Vec<Entry> {
    let most = |of: fn(&Route) -> Placed, preset: i64| {
        let (value, line) = routes.iter().map(of).max().unwrap_or((preset, 0));
        (value, Place::new(file, line))
    };
    let (connect, connect_at) = most(|route| route.connect_timeout, CONNECT_TIMEOUT.preset);
    let (wait, _) = most(Route::longest_wait, WAIT_MIN_S);
    let (client, client_at) = most(|route| route.client_connect_timeout, CLIENT_CONNECT_TIMEOUT.preset);
    let (errors, errors_at) = most(|route| route.max_connect_errors, MAX_CONNECT_ERRORS.preset);
    vec![
        entry("connect_timeout_server", Value::Int(connect * 1_000), &connect_at),
        entry("connect_timeout_server_max", Value::Int(wait * 1_000), &connect_at),
        entry("connect_timeout_client", Value::Int(client * 1_000), &client_at),
        entry("client_host_error_counts", Value::Int(errors), &errors_at),
        entry("client_host_cache_size", Value::Int(ADDRESSES), &errors_at),
    ]
}
