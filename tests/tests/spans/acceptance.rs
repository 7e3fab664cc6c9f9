//! What servers take, the parser takes.

use std::path::PathBuf;

use e2e::{Backend, run};
use sql::parse::{Kind, Refusal, Settings, Tree};
use testkit::client::Client;

use super::{SYNTAX_ERROR, connected, is_operation, parenthesised, settings};

/// Statements of one server or both.
const STATEMENTS: &str = include_str!("../../../crates/sql/tests/statements.sql");

pub(super) fn servers_and_parser_take_the_same_statements(db: &'static Backend) {
    let settings = settings(db);
    run(async {
        let mut client = connected(db).await;
        let statements = STATEMENTS.split(";\n").map(str::trim).filter(|sql| !sql.is_empty());
        let mut taken = 0;
        let mut wrong = Vec::new();
        for sql in statements {
            if takes(&mut client, sql).await {
                taken += 1;
                wrong.extend(refused(sql, &settings));
                wrong.extend(misread(&mut client, sql, &settings).await);
            }
        }
        assert!(taken > 200, "the server takes {taken} statements only");
        assert!(wrong.is_empty(), "{} of {taken}:\n{}", wrong.len(), wrong.join("\n"));
    });
}

/// Options that servers take for options where the parser takes them for a column.
const OPTIONS: [&str; 3] = ["SQL_BUFFER_RESULT", "SQL_CACHE", "SQL_NO_CACHE"];

pub(super) fn words_are_reserved_that_servers_reserve(db: &'static Backend) {
    let settings = settings(db);
    let words = db.sql("SELECT word FROM information_schema.keywords");
    let words =
        words.lines().filter(|word| word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_'));
    run(async {
        let mut client = connected(db).await;
        let mut apart = Vec::new();
        for word in words {
            let sql = format!("SELECT {word} FROM (SELECT 1 AS {word}) AS d");
            let is_taken = refused(&sql, &settings).is_none();
            if takes(&mut client, &sql).await != is_taken && !OPTIONS.contains(&word) {
                apart.push(word);
            }
        }
        assert!(apart.is_empty(), "{apart:?}");
    });
}

/// Whether the server can parse the statement, whatever else is wrong with it.
async fn takes(client: &mut Client, sql: &str) -> bool {
    match client.prepare(sql).await {
        Ok(statement) => {
            client.close(statement).await.unwrap();
            true
        }
        Err(error) => error.code() != Some(SYNTAX_ERROR),
    }
}

/// The parser's refusal of a statement, for people.
fn refused(sql: &str, settings: &Settings) -> Option<String> {
    let Refusal { at, reason } = Tree::default().read(sql.as_bytes(), settings).err()?;
    let (before, behind) = sql.as_bytes().split_at(at.min(sql.len()));
    let [before, behind] = [before, behind].map(String::from_utf8_lossy);
    Some(format!("{reason:?}: {before} >>> {behind}"))
}

/// The statement with the parentheses that its tree gives its operators and joins, if the server
/// does not take that.
async fn misread(client: &mut Client, sql: &str, settings: &Settings) -> Option<String> {
    let parts = |kind| is_operation(kind) || matches!(kind, Kind::Join(_));
    let text = parenthesised(sql, settings, parts).ok()?;
    (!takes(client, &text).await).then_some(text)
}

/// The share of a list of statements that the parser takes of those that the server takes.
fn measured(db: &'static Backend) {
    let Ok(list) = std::env::var("POINTSMAN_SPANS_LIST").map(PathBuf::from) else { return };
    let text = std::fs::read_to_string(&list).unwrap();
    let settings = settings(db);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut client = connected(db).await;
        let (mut taken, mut wrong, mut other) = (Vec::new(), Vec::new(), Vec::new());
        for sql in text.split('\0') {
            if takes(&mut client, sql).await {
                taken.push(sql);
                wrong.extend(refused(sql, &settings));
                other.extend(misread(&mut client, sql, &settings).await);
            }
        }
        let counts = (taken.len(), wrong.len(), other.len());
        println!("{:?}: taken by the server, refused, misread by the parser: {counts:?}", db.make);
        let make = if db.is_mysql() { "mysql" } else { "mariadb" };
        std::fs::write(list.with_extension(format!("{make}.taken")), taken.join("\0")).unwrap();
        std::fs::write(list.with_extension(format!("{make}.refused")), wrong.join("\n---\n")).unwrap();
        std::fs::write(list.with_extension(format!("{make}.misread")), other.join("\n---\n")).unwrap();
    });
}

#[test]
#[ignore = "needs a list of statements, and minutes"]
fn measured_on_mariadb() {
    measured(&super::DB);
}

#[test]
#[ignore = "needs a list of statements, and minutes"]
fn measured_on_mysql() {
    measured(super::MYSQL.as_ref().unwrap());
}
