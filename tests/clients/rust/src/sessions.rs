//! Transactions, errors, and statements that are ended.

use std::time::{Duration, Instant};

use sqlx::mysql::{MySqlConnection, MySqlDatabaseError};
use sqlx::{Connection as _, QueryBuilder};

use crate::report::{Failed, Outcome, Report, equal};
use crate::{Place, number, run};

/// Longest wait for a statement to run or to end.
const WAIT_MAX: Duration = Duration::from_secs(30);
const RUNNING: &str = "SELECT COUNT(*) FROM information_schema.processlist \
    WHERE info LIKE 'SELECT COUNT(*) AS endless%' AND db = DATABASE()";

pub async fn run_all(place: &Place, report: &mut Report) {
    report.check("tx_commit_and_rollback", commit_and_rollback(place)).await;
    report.check("errors", errors(place)).await;
    report.check("ping", async { Ok(place.connect().await?.ping().await?) }).await;
    report.check("batch", batch(place)).await;
    report.check("kill_query", kill_query(place)).await;
    report.check("kill_connection_idle", kill_connection(place)).await;
    report.check("cancel_by_drop", cancel_by_drop(place)).await;
    let unknown =
        async { failed(run(&mut place.connect().await?, "KILL 4123456789".to_owned()).await, 1094, "HY000") };
    report.check("kill_unknown", unknown).await;
}

/// A cross join with ten to the power of so many rows.
pub fn digits(tables: usize) -> String {
    let ten: Vec<String> = (0..10).map(|n| format!("SELECT {n} AS d")).collect();
    let all: Vec<String> = (0..tables).map(|n| format!("({}) t{n}", ten.join(" UNION ALL "))).collect();
    all.join(", ")
}

/// Whether the outcome is the server's error with this code and SQLSTATE.
pub fn failed(outcome: Result<(), sqlx::Error>, code: u16, state: &str) -> Outcome {
    let error = match outcome {
        Err(sqlx::Error::Database(error)) => error,
        other => return Err(Failed::Wrong(format!("{other:?} instead of error {code}"))),
    };
    let error = error.downcast_ref::<MySqlDatabaseError>();
    equal((error.number(), error.code()), (code, Some(state)))
}

async fn commit_and_rollback(place: &Place) -> Outcome {
    let (mut connection, mut other) = (place.connect().await?, place.connect().await?);
    run(&mut connection, "DROP TABLE IF EXISTS tx; CREATE TABLE tx (id INT PRIMARY KEY)".to_owned()).await?;
    let count = "SELECT COUNT(*) FROM tx";
    for commit in [true, false] {
        let mut transaction = connection.begin().await?;
        run(&mut transaction, format!("INSERT INTO tx VALUES ({})", i32::from(commit))).await?;
        equal(number(&mut other, count).await?, i64::from(!commit))?;
        if commit {
            transaction.commit().await?
        } else {
            transaction.rollback().await?
        }
        equal(number(&mut other, count).await?, 1)?;
    }
    // One that is forgotten is rolled back before the next statement.
    let mut transaction = connection.begin().await?;
    run(&mut transaction, "INSERT INTO tx VALUES (5)".to_owned()).await?;
    drop(transaction);
    equal(number(&mut connection, count).await?, 1)
}

async fn errors(place: &Place) -> Outcome {
    let mut connection = place.connect().await?;
    for (sql, code, state) in [
        ("SELEC 1", 1064, "42000"),
        ("SELECT * FROM no_such_table", 1146, "42S02"),
        ("SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'mine'", 1644, "45000"),
    ] {
        failed(run(&mut connection, sql.to_owned()).await, code, state)?;
    }
    equal(number(&mut connection, "SELECT 1").await?, 1)
}

async fn batch(place: &Place) -> Outcome {
    let mut connection = place.connect().await?;
    run(
        &mut connection,
        "DROP TABLE IF EXISTS batch; CREATE TABLE batch (id INT PRIMARY KEY, name VARCHAR(40))".to_owned(),
    )
    .await?;
    let mut insert = QueryBuilder::new("INSERT INTO batch ");
    insert.push_values(0..5000, |mut row, n| {
        row.push_bind(n).push_bind(format!("name {n}"));
    });
    insert.build().execute(&mut connection).await?;
    equal(number(&mut connection, "SELECT CAST(SUM(id) AS SIGNED) FROM batch").await?, 12_497_500)
}

fn endless() -> String {
    format!("SELECT COUNT(*) AS endless FROM {}", digits(14))
}

async fn until_running(other: &mut MySqlConnection, count: i64) -> Outcome {
    let deadline = Instant::now() + WAIT_MAX;
    while number(other, RUNNING).await? != count {
        if Instant::now() > deadline {
            return Err(Failed::Wrong(format!("never {count} endless statements")));
        }
    }
    Ok(())
}

async fn connection_id(connection: &mut MySqlConnection) -> Result<i64, sqlx::Error> {
    number(connection, "SELECT CAST(CONNECTION_ID() AS SIGNED)").await
}

async fn kill_query(place: &Place) -> Outcome {
    let (mut connection, mut other) = (place.connect().await?, place.connect().await?);
    let id = connection_id(&mut connection).await?;
    let kill = async {
        until_running(&mut other, 1).await?;
        Ok::<_, Failed>(run(&mut other, format!("KILL QUERY {id}")).await?)
    };
    let (outcome, killed) = tokio::join!(run(&mut connection, endless()), kill);
    killed?;
    failed(outcome, 1317, "70100")?;
    equal(number(&mut connection, "SELECT 1").await?, 1)
}

async fn kill_connection(place: &Place) -> Outcome {
    let (mut connection, mut other) = (place.connect().await?, place.connect().await?);
    let id = connection_id(&mut connection).await?;
    run(&mut other, format!("KILL {id}")).await?;
    let deadline = Instant::now() + WAIT_MAX;
    while connection.ping().await.is_ok() {
        equal(Instant::now() < deadline, true)?;
    }
    Ok(())
}

/// A future that is dropped leaves the statement running: the driver has no other way, and the
/// connection is closed.
async fn cancel_by_drop(place: &Place) -> Outcome {
    let mut other = place.connect().await?;
    let mut connection = place.connect().await?;
    let id = connection_id(&mut connection).await?;
    tokio::select! {
        _ = run(&mut connection, endless()) => return Err(Failed::Wrong("it has ended".to_owned())),
        outcome = until_running(&mut other, 1) => outcome?,
    }
    drop(connection);
    // Servers notice only when they next write to it.
    let _ = run(&mut other, format!("KILL {id}")).await;
    until_running(&mut other, 0).await
}
