//! Values of all column types, in text and binary rows.

use e2e::{Backend, Twin, on_each_server, run};
use wire::Capabilities;

use super::{COLLATION, capabilities, execute, prepare, proxy};

on_each_server! {
    values_of_all_types_are_the_servers,
}

/// Types that both servers have, each with a value that is large, one that is small, and NULL.
const TYPES: [(&str, &str, &str); 40] = [
    ("TINYINT", "127", "-128"),
    ("TINYINT UNSIGNED", "255", "0"),
    ("SMALLINT", "32767", "-32768"),
    ("MEDIUMINT", "8388607", "-8388608"),
    ("INT", "2147483647", "-2147483648"),
    ("INT UNSIGNED", "4294967295", "0"),
    ("INT(7) ZEROFILL", "42", "0"),
    ("BIGINT", "9223372036854775807", "-9223372036854775808"),
    ("BIGINT UNSIGNED", "18446744073709551615", "0"),
    ("FLOAT", "3.4e38", "-1e-38"),
    ("DOUBLE", "1.7976931348623157e308", "-2.5e-308"),
    ("DECIMAL(65,30)", "99999999999999999999999999999999999.999999999999999999999999999999", "-0.5"),
    ("DECIMAL(5,2) UNSIGNED", "999.99", "0"),
    ("BIT(64)", "b'1111111111111111111111111111111111111111111111111111111111111111'", "b'0'"),
    ("BIT(1)", "b'1'", "b'0'"),
    ("DATE", "'9999-12-31'", "'1000-01-01'"),
    ("TIME", "'838:59:59'", "'-838:59:59'"),
    ("TIME(6)", "'12:34:56.789012'", "'00:00:00.000001'"),
    ("DATETIME", "'9999-12-31 23:59:59'", "'1000-01-01 00:00:00'"),
    ("DATETIME(6)", "'2024-02-29 12:34:56.789012'", "'2024-02-29 00:00:00'"),
    ("TIMESTAMP NULL", "'2037-12-31 23:59:59'", "'1970-01-02 00:00:01'"),
    ("TIMESTAMP(3) NULL", "'2024-02-29 12:34:56.789'", "'1970-01-02 00:00:01.001'"),
    ("YEAR", "2155", "1901"),
    ("CHAR(255)", "REPEAT('ä', 255)", "''"),
    ("CHAR(0)", "''", "''"),
    ("VARCHAR(2000)", "REPEAT('x', 2000)", "''"),
    ("VARCHAR(20) CHARACTER SET latin1", "'äöü'", "' '"),
    ("BINARY(10)", "x'fefffb00'", "''"),
    ("VARBINARY(2000)", "REPEAT(x'fe', 2000)", "x'00'"),
    ("TINYBLOB", "REPEAT(x'ff', 255)", "''"),
    ("BLOB", "REPEAT(x'fb', 65535)", "''"),
    ("MEDIUMBLOB", "REPEAT('m', 70000)", "''"),
    ("LONGBLOB", "REPEAT('l', 100000)", "''"),
    ("TEXT", "REPEAT('t', 251)", "''"),
    ("LONGTEXT", "REPEAT('t', 65536)", "''"),
    ("ENUM('small', 'large', '')", "'large'", "'small'"),
    ("SET('a', 'b', 'c')", "'a,b,c'", "''"),
    ("JSON", "'{\"a\": [1, null, \"x\"]}'", "'1'"),
    ("GEOMETRY", "ST_GeomFromText('POLYGON((0 0,1 0,1 1,0 0))')", "ST_GeomFromText('POINT(1 2)')"),
    ("BOOLEAN", "TRUE", "FALSE"),
];

/// Types of one make only.
const MARIADB: [(&str, &str, &str); 3] = [
    ("UUID", "'f81d4fae-7dec-11d0-a765-00a0c91e6bf6'", "'00000000-0000-0000-0000-000000000000'"),
    ("INET6", "'2001:db8::ff00:42:8329'", "'::'"),
    ("VARCHAR(9) COMPRESSED", "'x'", "''"),
];
const MYSQL: [(&str, &str, &str); 1] =
    [("VECTOR(3)", "STRING_TO_VECTOR('[1,2,3]')", "STRING_TO_VECTOR('[0]')")];

fn values_of_all_types_are_the_servers(db: &Backend) {
    let own: &[_] = if db.is_mysql() { &MYSQL } else { &MARIADB };
    let types: Vec<_> = TYPES.iter().chain(own).collect();
    let columns: Vec<String> =
        types.iter().enumerate().map(|(i, (kind, ..))| format!("c{i} {kind}")).collect();
    db.sql(&format!("CREATE TABLE test.types ({})", columns.join(", ")));
    let row = |value: fn(&(&str, &str, &str)) -> String| {
        types.iter().map(|t| value(t)).collect::<Vec<_>>().join(", ")
    };
    for values in [
        row(|(_, large, _)| (*large).to_owned()),
        row(|(.., small)| (*small).to_owned()),
        row(|_| "NULL".to_owned()),
    ] {
        db.sql(&format!("INSERT INTO test.types VALUES ({values})"));
    }
    let proxy = proxy(db);
    run(async {
        for capabilities in capabilities() {
            let capabilities = capabilities - Capabilities::QUERY_ATTRIBUTES;
            let mut twin = Twin::new(db, &proxy, capabilities, COLLATION).await;
            let rows = twin.same_query("SELECT * FROM types").await;
            assert!(rows.len() > types.len() + 4, "{}", rows.len());
            twin.same(&prepare("SELECT * FROM types")).await;
            let rows = twin.same(&execute(1, 0)).await;
            // A count, at least, and the rows and an end: a client that keeps columns gets none
            // again.
            assert!(rows.len() >= 5, "{}", rows.len());
            // Each alone: a row may then begin with any of its bytes.
            for i in 0..types.len() {
                twin.same_query(format!("SELECT c{i} FROM types")).await;
            }
        }
    });
}
