//! Rows from tables, and back and forth through files.

use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::schema::{Kind, MYSQL_QUERY_RULES, MYSQL_SERVERS, MYSQL_USERS, MYSQL_VARIABLES, Preset, Scalar};

fn server(hostname: &str, weight: SqlCell<'_>) -> Vec<Row> {
    read_server(hostname, weight).unwrap()
}

fn read_server(hostname: &str, weight: SqlCell<'_>) -> Result<Vec<Row>, Vec<RowProblem>> {
    use SqlCell::{Bytes, Int};
    let mut reader = RowReader::new(&MYSQL_SERVERS);
    reader.row(&[
        Int(1),
        Bytes(hostname.as_bytes()),
        Int(3306),
        Int(0),
        Bytes(b"online"),
        weight,
        Int(0),
        Int(100),
        Int(0),
        Int(0),
        Int(0),
        Bytes(b""),
    ]);
    reader.finish()
}

#[test]
fn rows_of_tables_are_judged_as_those_of_files() {
    let mut draft = Draft::default();
    draft.set_rows(&MYSQL_SERVERS, server("db", SqlCell::Bytes(b"7")));
    let checked = draft.check().unwrap();
    assert_eq!(checked.config.servers[0].weight, 7);
    assert_eq!(checked.warnings, ["nobody can log in: `mysql_users` has no active frontend user"]);
}

/// What is found in a draft that was made from a sound one does not depend on what need not be
/// looked at again.
#[test]
fn a_draft_from_a_sound_one_is_judged_as_a_whole() {
    let mut sound = Draft::default();
    sound.set_rows(&MYSQL_SERVERS, server("db", SqlCell::Int(1)));
    sound.set_rows(&MYSQL_USERS, users(&["app", "web"]));
    let meaning = sound.check().unwrap().config;
    let twice = |host| [server(host, SqlCell::Int(1)), server(host, SqlCell::Int(1))].concat();
    let others =
        [Vec::new(), server("other", SqlCell::Int(1)), twice("twice"), server("a b", SqlCell::Int(1))];
    for rows in others {
        let mut draft = sound.clone();
        draft.set_rows(&MYSQL_SERVERS, rows);
        assert_eq!(draft.check_from(&sound, &meaning), draft.check());
    }
    for names in [&["new"][..], &[], &["app", "app"]] {
        let mut draft = sound.clone();
        draft.set_rows(&MYSQL_USERS, users(names));
        assert_eq!(draft.check_from(&sound, &meaning), draft.check());
    }
    // What is said to be sound is not even looked at, and means what it is said to mean.
    let mut draft = sound.clone();
    draft.set_rows(&MYSQL_USERS, users(&["app", "app"]));
    assert!(draft.check().is_err());
    assert_eq!(draft.check_from(&draft.clone(), &meaning).unwrap().config, meaning);
}

fn users(names: &[&str]) -> Vec<Row> {
    use SqlCell::{Bytes, Int, Null};
    let mut reader = RowReader::new(&MYSQL_USERS);
    for name in names {
        let (name, text, one) = (Bytes(name.as_bytes()), Bytes(b""), Int(1));
        reader.row(&[
            name,
            text,
            one,
            Int(0),
            Int(1),
            Null,
            Int(0),
            one,
            Int(0),
            one,
            one,
            Int(9),
            text,
            text,
        ]);
    }
    reader.finish().unwrap()
}

/// A problem names the table, the row's key and the column, whether a value shows it or the whole
/// row.
#[test]
fn c26_problems_of_rows_name_table_key_and_column() {
    let problems = read_server("a'b", SqlCell::Int(-1)).unwrap_err();
    assert_eq!(
        problems[0].to_string(),
        "mysql_servers row hostgroup_id=1, hostname='a''b', port=3306: `weight` must be a whole number from 0 to \
         10000000, not -1"
    );
    let problems = read_server("a", SqlCell::Null).unwrap_err();
    assert!(problems[0].to_string().ends_with(": `weight` must not be NULL"), "{}", problems[0]);

    let mut draft = Draft::default();
    draft.set_rows(&MYSQL_SERVERS, server("a b", SqlCell::Int(1)));
    let mut variables = RowReader::new(&MYSQL_VARIABLES);
    variables.variable("interfaces", SqlCell::Bytes(b"127.0.0.1:1;127.0.0.1:1"));
    draft.set_rows(&MYSQL_VARIABLES, variables.finish().unwrap());
    let problems: Vec<String> = draft.check().unwrap_err().iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        [
            "global_variables: another listener has the address 127.0.0.1:1 (row 1)",
            "mysql_servers row hostgroup_id=1, hostname='a b', port=3306: `hostname` must be a DNS name or an IP \
             address (without brackets)"
        ]
    );
}

#[test]
fn c26_unknown_variables_are_told_with_the_nearest_name() {
    let mut variables = RowReader::new(&MYSQL_VARIABLES);
    variables.variable("max_conections", SqlCell::Bytes(b"1"));
    variables.variable("threads", SqlCell::Bytes(b"0"));
    variables.variable("forward_autocommit", SqlCell::Bytes(b"0"));
    let problems: Vec<String> = variables.finish().unwrap_err().iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        [
            "global_variables: there is no variable `mysql-max_conections`; did you mean `max_connections`?",
            "global_variables: `mysql-threads` must be a whole number from 1 to 255, not \"0\""
        ]
    );
}

#[test]
fn differences_are_by_key_and_column() {
    let mut old = Draft::default();
    old.set_rows(&MYSQL_SERVERS, [server("a", SqlCell::Int(1)), server("b", SqlCell::Int(1))].concat());
    let mut new = Draft::default();
    new.set_rows(&MYSQL_SERVERS, [server("c", SqlCell::Int(1)), server("a", SqlCell::Int(2))].concat());
    let shown: Vec<_> = old.changes(&new, &MYSQL_SERVERS).into_iter().map(|c| (c.row, c.what)).collect();
    let key = |host| format!("hostgroup_id=1, hostname='{host}', port=3306");
    assert_eq!(
        shown,
        [
            (key("a"), Changed::Column { name: "weight", old: "1".to_owned(), new: "2".to_owned() }),
            (key("b"), Changed::Removed),
            (key("c"), Changed::Added),
        ]
    );
}

/// Any value that a field takes.
fn value(field: &'static crate::schema::Field) -> BoxedStrategy<Scalar> {
    let text = "[^\\x00]{0,12}".prop_map(Scalar::Text);
    let some = match field.kind {
        Kind::Bool => any::<bool>().prop_map(Scalar::Bool).boxed(),
        Kind::Int { min, max, .. } => (min..=max).prop_map(Scalar::Int).boxed(),
        Kind::Choice(of) => {
            proptest::sample::select(of).prop_map(|word| Scalar::Text(word.to_owned())).boxed()
        }
        Kind::Json | Kind::UserAttributes | Kind::HostgroupSettings => {
            Just(Scalar::Text("{\"a\": \"\\\\\"}".to_owned())).boxed()
        }
        Kind::Text => text.boxed(),
        Kind::Password => "[a-z\"\\\\]{0,9}".prop_map(Scalar::Text).boxed(),
        Kind::Address | Kind::Addresses => Just(Scalar::Text("127.0.0.1:1".to_owned())).boxed(),
        Kind::Networks => Just(Scalar::Text("10.0.0.0/8".to_owned())).boxed(),
        Kind::Credentials => Just(Scalar::Text("a:b;c:d".to_owned())).boxed(),
    };
    if field.is_nullable() && field.preset == Preset::Null {
        prop_oneof![some, Just(Scalar::Null)].boxed()
    } else {
        some
    }
}

fn rows(section: &'static Section) -> BoxedStrategy<(&'static Section, Vec<Row>)> {
    let row = section.fields().map(value).collect::<Vec<_>>().prop_map(move |cells| Row::of(section, cells));
    let count = if section.shape == Shape::Group { 1..=1 } else { 0..=3 };
    proptest::collection::vec(row, count).prop_map(move |rows| (section, rows)).boxed()
}

proptest! {
    /// What is written is read again, all of it.
    #[test]
    fn files_hold_every_draft(
        all in SECTIONS.iter().filter(|s| s.shape != Shape::Open).copied().chain([&TOP_LEVEL]).map(rows).collect::<Vec<_>>()
    ) {
        let mut draft = Draft::default();
        for (section, rows) in all {
            draft.set_rows(section, rows);
        }
        let text = draft.to_cnf();
        let read = crate::parse_rows(&text, Path::new("x.cnf"));
        prop_assert!(read.is_ok(), "{}\n{text}", read.unwrap_err());
        let read = read.unwrap();
        for section in SECTIONS.iter().copied().chain([&TOP_LEVEL]) {
            prop_assert_eq!(read.rows(section), draft.rows(section), "{}", section.name);
        }
    }
}

/// 50,000 users, 10,000 rules and 5,000 servers: with anything quadratic this test takes hours.
#[test]
fn many_rows_are_read_and_checked_in_linear_time() {
    let mut draft = Draft::default();
    for (section, count) in [(&MYSQL_USERS, 50_000), (&MYSQL_QUERY_RULES, 10_000), (&MYSQL_SERVERS, 5_000)] {
        let mut reader = RowReader::new(section);
        for number in 0..count {
            let name = format!("n{number}");
            let cells: Vec<SqlCell<'_>> = section
                .fields()
                .map(|field| match (field.name, field.preset) {
                    ("rule_id", _) => SqlCell::Int(number),
                    ("username" | "hostname", _) => SqlCell::Bytes(name.as_bytes()),
                    (_, Preset::Bool(value)) => SqlCell::Int(value.into()),
                    (_, Preset::Int(value)) => SqlCell::Int(value),
                    (_, Preset::Text(text)) => SqlCell::Bytes(text.as_bytes()),
                    _ => SqlCell::Null,
                })
                .collect();
            reader.row(&cells);
        }
        draft.set_rows(section, reader.finish().unwrap());
    }
    let config = draft.check().unwrap().config;
    assert_eq!((config.users.len(), config.servers.len()), (50_000, 5_000));
}
