//! The client matrix: people's drivers do through the proxy what they do with a server.
//!
//! Each program in `tests/clients/` runs its checks with one driver, first with the server and then
//! through the proxy, and must come to the same outcomes, check by check. `make test-clients` runs
//! everything and prints the table; `make test` runs those of which the tools are surely there,
//! with less data.

mod certificates;
mod driver;
mod known;
mod outcomes;
mod place;
mod trips;

use std::fmt::Write as _;

use driver::{DRIVERS, Driver};
use outcomes::Outcomes;
use place::{Make, Place};
use trips::Relay;

#[test]
fn the_command_line_client_and_pymysql_do_what_they_do_with_mariadb() {
    let place = Place::new(Make::MariaDb).expect("there is always a MariaDB");
    let matrix: Vec<Cell> = ["mariadb-cli", "pymysql"]
        .into_iter()
        .filter_map(|name| cell(&place, driver::named(name), "quick"))
        .collect();
    conclude(&matrix);
}

#[test]
#[ignore = "takes many minutes and fetches drivers: make test-clients"]
fn every_driver_does_what_it_does_with_every_server() {
    let size = std::env::var("SIZE").unwrap_or_default();
    let size = if size.is_empty() { "full" } else { &size };
    let mut matrix = Vec::new();
    for place in [Make::MariaDb, Make::MySql].into_iter().filter_map(Place::new) {
        matrix.extend(
            DRIVERS.iter().filter(|driver| driver.wanted()).filter_map(|driver| cell(&place, driver, size)),
        );
    }
    conclude(&matrix);
}

/// One driver at one server.
struct Cell {
    driver: &'static str,
    server: String,
    direct: Outcomes,
    proxied: Outcomes,
    /// A method of login, and how often the client waited for the server in it: direct, and through
    /// the proxy.
    trips: Vec<(String, usize, usize)>,
}

/// How often a login that seems to wait too often is tried. On a busy machine it mostly seems so.
const TRIES: usize = 20;

/// Runs a driver both ways; `None` if its tools are missing, which is said on standard error.
fn cell(place: &Place, driver: &'static Driver, size: &str) -> Option<Cell> {
    if let Err(reason) = driver.prepare(&place.sandbox) {
        driver::say(&format!("skipped: {} {reason}", driver.name));
        return None;
    }
    let proxy = place.proxy();
    place.make_schema(driver);
    let run = |port: u16, only: &str| driver.run(place, port, size, only);
    let (server_port, proxy_port) = (place.server.port(), proxy.tcp().port());
    let (direct, proxied) = (run(server_port, ""), run(proxy_port, ""));
    let mut trips = Vec::new();
    let count = |port: u16, name: &str| {
        let relay = Relay::start(port);
        let outcome = run(relay.port(), name);
        assert_eq!(outcome.word(name), Some("ok"), "{} through a relay: {outcome:?}", driver.name);
        relay.trips()
    };
    for method in place.logins() {
        for name in [format!("login_{method}"), format!("tls_login_{method}")] {
            if direct.word(&name) == Some("ok") && proxied.word(&name) == Some("ok") {
                // A ticket of TLS that comes between two messages of the client looks like an
                // answer to the first.
                let direct = count(server_port, &name);
                let mut proxied = count(proxy_port, &name);
                for _ in 1..TRIES {
                    if proxied <= direct {
                        break;
                    }
                    proxied = proxied.min(count(proxy_port, &name));
                }
                trips.push((name.replace("login_", ""), direct, proxied));
            }
        }
    }
    Some(Cell { driver: driver.name, server: place.version.clone(), direct, proxied, trips })
}

/// Prints the table, and fails if the proxy has made a difference or a check is wrong about the
/// server itself.
fn conclude(matrix: &[Cell]) {
    let mut table = String::from("\n");
    let (mut wrong, mut differences) = (Vec::new(), Vec::new());
    let columns =
        ("driver", "server", "passed", "failed", "skipped", "round trips of logins: direct, proxied");
    let _ = writeln!(
        table,
        "{:18} {:24} {:>6} {:>6} {:>7}  {}",
        columns.0, columns.1, columns.2, columns.3, columns.4, columns.5
    );
    for cell in matrix {
        let [passed, failed, skipped] = ["ok", "FAIL", "skip"].map(|word| cell.proxied.count(word));
        let trips: Vec<String> = cell
            .trips
            .iter()
            .map(|(method, direct, proxied)| format!("{method} {direct}, {proxied}"))
            .collect();
        let trips = trips.join("; ");
        let _ = writeln!(
            table,
            "{:18} {:24} {passed:>6} {failed:>6} {skipped:>7}  {trips}",
            cell.driver, cell.server
        );
        for (check, problem) in cell.direct.problems(&cell.proxied) {
            let line = format!("{} at {}: {check}: {problem}", cell.driver, cell.server);
            match known::reason(cell.driver, &check) {
                Some(reason) => differences.push(format!("{line}; known: {reason}")),
                None => wrong.push(line),
            }
        }
        for (method, direct, proxied) in &cell.trips {
            if proxied > direct {
                wrong.push(format!(
                    "{} at {}: a login by {method} takes {proxied} round trips, {direct} without the proxy",
                    cell.driver, cell.server
                ));
            }
        }
    }
    driver::say(&table);
    driver::say(&differences.join("\n"));
    assert!(wrong.is_empty(), "the proxy can be told from the server:\n{}", wrong.join("\n"));
}
