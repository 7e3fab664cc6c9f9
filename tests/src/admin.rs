//! The admin port, asked.

use std::time::Duration;

use testkit::client::{Client, Options};

use crate::{Proxy, WAIT_MAX};

/// How often [`wait_for_value`] looks.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// A connection to the admin port of a proxy, with the account that it has by itself.
///
/// # Panics
/// When that fails.
pub async fn connect(proxy: &Proxy) -> Client {
    let client = Client::connect(&Options::tcp(proxy.admin(), "admin", "admin")).await;
    client.unwrap_or_else(|error| panic!("the admin port: {error}"))
}

/// The first value of a statement's result; empty if there is none.
///
/// # Panics
/// When the statement fails.
pub async fn value(client: &mut Client, sql: &str) -> String {
    client.query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}")).first().unwrap_or_default()
}

/// Waits until a statement's first value is this.
///
/// # Panics
/// When that takes longer than [`WAIT_MAX`].
pub async fn wait_for_value(client: &mut Client, sql: &str, expected: &str) {
    let deadline = tokio::time::Instant::now() + WAIT_MAX;
    loop {
        let got = value(client, sql).await;
        if got == expected {
            return;
        }
        assert!(tokio::time::Instant::now() < deadline, "{sql}: {got}, not {expected}");
        tokio::time::sleep(LOOK_INTERVAL).await;
    }
}
