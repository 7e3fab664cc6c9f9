//! Logins, values and results.

use futures_util::TryStreamExt as _;
use sqlx::mysql::MySqlConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _, Row as _};

use crate::report::{Failed, Outcome, Report, equal};
use crate::{Place, Tls, number, run};

pub async fn run_all(place: &Place, report: &mut Report) {
    for method in &place.logins {
        report.check(&format!("login_{method}"), log_in(place, method, Tls::No)).await;
        report.check(&format!("tls_login_{method}"), log_in(place, method, Tls::Required)).await;
    }
    report.check("login_caching_sha2_full_then_fast", full_then_fast(place)).await;
    report.check("login_wrong_password", refused(place.options().password("wrong"), 1045, "28000")).await;
    report.check("login_unknown_user", refused(place.options().username("nobody_here"), 1045, "28000")).await;
    report
        .check("login_unknown_schema", refused(place.options().database("no_such_schema"), 1049, "42000"))
        .await;
    report.check("tls_required", selects(place.tls(Tls::Required))).await;
    report.check("tls_verify_ca", selects(place.tls(Tls::VerifyCa))).await;
    report.check("tls_verify_identity", selects(place.tls(Tls::VerifyIdentity))).await;
    report.check("tls_untrusted", untrusted(place)).await;
    report.check("tls_sizes", sizes(place, Tls::Required)).await;
    report.check("prepared_sizes", sizes(place, Tls::No)).await;
    report.check("prepared_types", types(place)).await;
    report.check("prepared_many", many(place)).await;
    report.check("big_rows", big_rows(place)).await;
    report.check("multi_statements", multi(place)).await;
    report.check("procedure_results", procedure(place)).await;
    report.check("charset_utf8mb4", charset(place)).await;
}

async fn log_in(place: &Place, method: &str, tls: Tls) -> Outcome {
    if method == "ed25519" {
        return Err(Failed::Skip("the driver has no client_ed25519"));
    }
    let password = (method != "empty").then_some(place.login_password.as_str());
    let options = place.account(&format!("m_{method}"), password, tls);
    let mut connection = options.connect().await?;
    let user: String =
        sqlx::query_scalar("SELECT SUBSTRING_INDEX(USER(), '@', 1)").fetch_one(&mut connection).await?;
    connection.close().await?;
    equal(user, format!("m_{method}"))
}

async fn full_then_fast(place: &Place) -> Outcome {
    if !place.logins.iter().any(|method| method == "caching_sha2") {
        return Err(Failed::Skip("the server has no caching_sha2_password"));
    }
    run(&mut place.connect().await?, "FLUSH PRIVILEGES".to_owned()).await?;
    log_in(place, "caching_sha2", Tls::No).await?;
    log_in(place, "caching_sha2", Tls::No).await?;
    place.connect().await?;
    Ok(())
}

async fn refused(options: MySqlConnectOptions, code: u16, state: &str) -> Outcome {
    let outcome = match options.connect().await {
        Ok(mut connection) => run(&mut connection, "SELECT 1".to_owned()).await,
        Err(error) => Err(error),
    };
    crate::sessions::failed(outcome, code, state)
}

async fn selects(options: MySqlConnectOptions) -> Outcome {
    equal(number(&mut options.connect().await?, "SELECT 1").await?, 1)
}

async fn untrusted(place: &Place) -> Outcome {
    equal(place.tls(Tls::Untrusted).connect().await.is_err(), true)
}

async fn sizes(place: &Place, tls: Tls) -> Outcome {
    let mut connection = place.tls(tls).connect().await?;
    run(
        &mut connection,
        "DROP TABLE IF EXISTS sizes; CREATE TABLE sizes (id INT PRIMARY KEY, b LONGBLOB)".to_owned(),
    )
    .await?;
    let sizes: &[usize] = if place.full {
        &[0, 1, 1 << 14, (1 << 24) - 1, 1 << 24, (1 << 24) + 1]
    } else {
        &[0, 1, 1 << 14, 1 << 20]
    };
    for &size in sizes {
        // A piece that is lost or doubled shows: 251 is a prime.
        let data: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
        let id = size as u64;
        sqlx::query("INSERT INTO sizes VALUES (?, ?)").bind(id).bind(&data).execute(&mut connection).await?;
        let got: Vec<u8> = sqlx::query_scalar("SELECT b FROM sizes WHERE id = ?")
            .bind(id)
            .fetch_one(&mut connection)
            .await?;
        equal(got == data, true)?;
    }
    Ok(())
}

async fn types(place: &Place) -> Outcome {
    let mut connection = place.connect().await?;
    run(
        &mut connection,
        "DROP TABLE IF EXISTS types; CREATE TABLE types (i8 TINYINT, u64 BIGINT UNSIGNED, i64 BIGINT, f DOUBLE, f4 FLOAT, \
         s VARCHAR(100), b BLOB) CHARACTER SET utf8mb4"
            .to_owned(),
    )
    .await?;
    let text = "h\u{e9} \u{1f600} '\\\"";
    let insert = "INSERT INTO types VALUES (?, ?, ?, ?, ?, ?, ?)";
    sqlx::query(insert)
        .bind(-128i8)
        .bind(u64::MAX)
        .bind(i64::MIN)
        .bind(1.5e300f64)
        .bind(0.25f32)
        .bind(text)
        .bind(&[0u8, 255, 0x27, 0x5c][..])
        .execute(&mut connection)
        .await?;
    let row = sqlx::query("SELECT * FROM types").fetch_one(&mut connection).await?;
    equal((row.get::<i8, _>(0), row.get::<u64, _>(1), row.get::<i64, _>(2)), (-128, u64::MAX, i64::MIN))?;
    equal((row.get::<f64, _>(3), row.get::<f32, _>(4)), (1.5e300, 0.25))?;
    equal((row.get::<String, _>(5).as_str(), row.get::<Vec<u8>, _>(6)), (text, vec![0, 255, 0x27, 0x5c]))?;
    let none: Option<i64> = None;
    let mut nulls = sqlx::query(insert);
    for _ in 0..7 {
        nulls = nulls.bind(none);
    }
    nulls.execute(&mut connection).await?;
    let row = sqlx::query("SELECT * FROM types WHERE i8 IS NULL").fetch_one(&mut connection).await?;
    equal((row.get::<Option<i64>, _>(2), row.get::<Option<String>, _>(5)), (None, None))
}

async fn many(place: &Place) -> Outcome {
    // The driver keeps 100 statements prepared, and closes the oldest for a new one.
    let mut connection = place.connect().await?;
    for turn in 0..3i64 {
        for statement in 0..120i64 {
            let sql = AssertSqlSafe(format!("SELECT CAST(? + {statement} AS SIGNED)"));
            let got: i64 = sqlx::query_scalar(sql).bind(turn).fetch_one(&mut connection).await?;
            equal(got, turn + statement)?;
        }
    }
    Ok(())
}

async fn big_rows(place: &Place) -> Outcome {
    let mut connection = place.connect().await?;
    let count = if place.full { 200_000 } else { 20_000 };
    let from = crate::sessions::digits(5);
    let sql =
        format!("SELECT t0.d, REPEAT('x', 500) FROM {from}, (SELECT 0 UNION ALL SELECT 1) u LIMIT {count}");
    let mut rows = sqlx::query(AssertSqlSafe(sql)).fetch(&mut connection);
    let (mut seen, mut bytes) = (0, 0);
    while let Some(row) = rows.try_next().await? {
        seen += 1;
        bytes += row.get::<String, _>(1).len();
    }
    drop(rows);
    equal((seen, bytes), (count, count * 500))?;
    equal(number(&mut connection, "SELECT 1").await?, 1)
}

async fn multi(place: &Place) -> Outcome {
    let mut connection = place.connect().await?;
    let rows =
        connection.fetch_all(sqlx::raw_sql("SELECT 1; SELECT 2; DO 0; SELECT 3 UNION SELECT 4")).await?;
    equal(rows.iter().map(|row| row.get::<i64, _>(0)).collect::<Vec<_>>(), vec![1, 2, 3, 4])?;
    let outcome = run(&mut connection, "SELECT 1; SELECT * FROM no_such_table; SELECT 2".to_owned()).await;
    crate::sessions::failed(outcome, 1146, "42S02")?;
    equal(number(&mut connection, "SELECT 5").await?, 5)
}

async fn procedure(place: &Place) -> Outcome {
    let mut connection = place.connect().await?;
    run(&mut connection, "DROP PROCEDURE IF EXISTS two_results".to_owned()).await?;
    let create = "CREATE PROCEDURE two_results() BEGIN SELECT 1; SELECT 2 UNION SELECT 3; END";
    run(&mut connection, create.to_owned()).await?;
    let rows = connection.fetch_all(sqlx::raw_sql("CALL two_results()")).await?;
    equal(rows.iter().map(|row| row.get::<i64, _>(0)).collect::<Vec<_>>(), vec![1, 2, 3])
}

async fn charset(place: &Place) -> Outcome {
    let mut connection = place.connect().await?;
    let got: String = sqlx::query_scalar("SELECT CONVERT(HEX(?) USING utf8mb4)")
        .bind("\u{1f600}")
        .fetch_one(&mut connection)
        .await?;
    equal(got.as_str(), "F09F9880")
}
