//! The small shop that the load works on.

use crate::client::{Client, ClientError};

/// The schema's name.
pub const SCHEMA: &str = "shop";
/// Rows of `item`, numbered from 1.
pub(super) const ITEMS: u64 = 10_000;
/// Newest rows of `purchase` that are kept, about.
pub(super) const PURCHASES_KEPT: u64 = 50_000;
/// Rows per INSERT.
const BATCH: u64 = 1000;

/// Creates the schema [`SCHEMA`] anew, with 10,000 items and no purchases.
///
/// # Errors
/// When a statement fails; the user needs all privileges.
pub async fn create_schema(client: &mut Client) -> Result<(), ClientError> {
    client.query(&format!("DROP DATABASE IF EXISTS {SCHEMA}")).await?;
    client.query(&format!("CREATE DATABASE {SCHEMA}")).await?;
    client.init_db(SCHEMA).await?;
    client
        .query(
            "CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(40) NOT NULL, \
             price DECIMAL(8, 2) NOT NULL, stock BIGINT NOT NULL)",
        )
        .await?;
    client
        .query(
            "CREATE TABLE purchase (id BIGINT PRIMARY KEY AUTO_INCREMENT, item INT NOT NULL, \
             quantity INT NOT NULL, at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, KEY (item))",
        )
        .await?;
    for start in (1..=ITEMS).step_by(usize::try_from(BATCH).unwrap_or(usize::MAX)) {
        let rows: Vec<String> = (start..start + BATCH)
            .map(|id| format!("({id}, 'item number {id}', {}.{:02}, 1000000)", 1 + id % 300, id % 100))
            .collect();
        client.query(&format!("INSERT INTO item VALUES {}", rows.join(", "))).await?;
    }
    Ok(())
}
