use super::super::sample::{MARIADB, MYSQL, column, head, read};
use super::*;

fn defaults(version: &str, rows: &[(&'static str, Option<&'static str>, &'static str)]) -> Vec<DefaultValue> {
    let positions: Vec<_> = (1..=rows.len()).map(|number| number.to_string()).collect();
    let mut all = vec![head(version).to_vec()];
    for ((nullable, default, extra), position) in rows.iter().zip(&positions) {
        let mut row = column(position, "c", "varchar(9)", extra, None);
        (row[5], row[6]) = (Some(*nullable), *default);
        all.push(row);
    }
    let table = read(&all.iter().map(Vec::as_slice).collect::<Vec<_>>());
    table.columns.into_iter().map(|column| column.default).collect()
}

#[test]
fn rows_come_in_any_order() {
    let id = column("1", "id", "bigint(20) unsigned", "auto_increment", None);
    let name = column("2", "name", "varchar(20)", "", Some(("latin1_swedish_ci", "20")));
    let foreign = |position, own, other| {
        [Some("3"), Some(position), Some("f"), Some(own), Some("shop"), Some("users"), Some(other)]
    };
    let table = read(&[
        &foreign("2", "b", "y"),
        &[Some("2"), Some("2"), Some("k"), Some("0"), None, None],
        &name,
        &[Some("4"), Some("0"), Some("f"), Some("CASCADE"), Some("SET NULL")],
        &[Some("2"), Some("1"), Some("k"), Some("0"), Some("name"), Some("3")],
        &foreign("1", "a", "x"),
        &id,
        &head(MYSQL),
    ]);
    assert_eq!(table.columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>(), ["id", "name"]);
    assert_eq!(table.auto_increment().unwrap().name, "id");
    assert!(table.column("ID").unwrap().is_unsigned());
    let index = table.indexes.first().unwrap();
    assert!(index.is_unique && !index.has_whole("name"));
    assert_eq!(index.parts.iter().map(|part| part.prefix).collect::<Vec<_>>(), [Some(3), None]);
    let key = table.foreign_keys.first().unwrap();
    assert_eq!((key.columns.join(" "), key.referenced.join(" ")), ("a b".into(), "x y".into()));
    assert_eq!((key.on_update.as_str(), key.on_delete.as_str()), ("CASCADE", "SET NULL"));
    assert_eq!(key.table, ["shop", "users"]);
}

#[test]
fn mariadb_writes_defaults_as_sql() {
    use DefaultValue::{Constant, Expression, Missing, Null};
    let found = defaults(
        MARIADB,
        &[
            ("NO", None, ""),
            ("YES", Some("NULL"), ""),
            ("YES", Some("'it''s \\\\'"), ""),
            ("YES", Some("-1.5"), ""),
            ("YES", Some("current_timestamp(6)"), ""),
            ("YES", Some("concat('a','b')"), ""),
            ("YES", None, "STORED GENERATED"),
        ],
    );
    let text = |text: &str| Constant(text.to_owned());
    let sql = |text: &str| Expression(text.to_owned());
    let expected = [
        Missing,
        Null,
        text("it's \\"),
        text("-1.5"),
        sql("current_timestamp(6)"),
        sql("concat('a','b')"),
        Missing,
    ];
    assert_eq!(found, expected);
}

#[test]
fn mysql_writes_defaults_as_values() {
    use DefaultValue::{Constant, Expression, Missing, Null};
    let found = defaults(
        MYSQL,
        &[
            ("NO", None, ""),
            ("YES", None, ""),
            ("YES", Some("it's"), ""),
            ("YES", Some("NULL"), ""),
            ("YES", Some("uuid()"), "DEFAULT_GENERATED"),
            ("YES", Some("CURRENT_TIMESTAMP"), "on update CURRENT_TIMESTAMP"),
        ],
    );
    let text = |text: &str| Constant(text.to_owned());
    let sql = |text: &str| Expression(text.to_owned());
    assert_eq!(found, [Missing, Null, text("it's"), text("NULL"), sql("uuid()"), sql("CURRENT_TIMESTAMP")]);
}

#[test]
fn mysql_writes_binary_defaults_in_hex() {
    let default = |text, full_type| {
        let mut row = column("1", "c", full_type, "", None);
        row[6] = Some(text);
        read(&[&head(MYSQL), &row]).columns[0].default.clone()
    };
    let text = |text: &str| DefaultValue::Constant(text.to_owned());
    assert_eq!(default("0x6162", "varbinary(9)"), text("ab"));
    assert_eq!(default("0x", "varbinary(9)"), text(""));
    assert_eq!(default("0x6162", "varchar(9)"), text("0x6162"));
    for other in ["0xff", "0x616", "ab"] {
        assert_eq!(default(other, "binary(2)"), DefaultValue::Expression(other.to_owned()), "{other}");
    }
}

#[test]
fn triggers_are_kept_with_what_they_call() {
    let trigger = |name, body| [Some("5"), Some("0"), Some(name), Some(body)];
    let found =
        read(&[&trigger("b", "SET NEW.a = UUID()"), &head(MYSQL), &trigger("a", "SET NEW.a = 'now()'")]);
    let own: Vec<_> =
        found.triggers.iter().map(|one| (one.name.as_str(), one.own_value.as_deref())).collect();
    assert_eq!(own, [("a", None), ("b", Some("uuid"))]);
}

#[test]
fn what_is_no_answer_is_said() {
    let first = |row: &[Option<&[u8]>]| Reader::new().row(row).unwrap_err();
    assert_eq!(first(&[]), Unreadable::Value("the kind"));
    assert_eq!(first(&[Some(b"9")]), Unreadable::Value("the kind"));
    assert_eq!(first(&[Some(b"2"), Some(b"x")]), Unreadable::Value("a position"));
    assert_eq!(first(&[Some(b"0"), Some(b"\xff")]), Unreadable::Value("the kind"));
    assert_eq!(Reader::new().finish(), Ok(None));
    let bytes = |row: Vec<Option<&'static str>>| -> Vec<Option<&'static [u8]>> {
        row.into_iter().map(|cell| cell.map(str::as_bytes)).collect()
    };
    let mut reader = Reader::new();
    reader.row(&bytes(head(MYSQL).to_vec())).unwrap();
    reader.row(&bytes(column("2", "b", "int", "", None))).unwrap();
    assert_eq!(reader.finish(), Err(Unreadable::Partial));
    let long = vec![b'x'; DEFINITION_BYTES_MAX];
    assert_eq!(Reader::new().row(&[Some(b"0"), Some(&long)]), Err(Unreadable::TooLarge));
}
