//! The trees of `spans.txt`, what is refused and where, and the limits.

use std::fmt::Write as _;

use sql::Dialect;
use sql::parse::{DEPTH_MAX, Kind, NODES_MAX, NodeId, Reason, Refusal, Settings, Splices, Step, Tree};

fn mysql() -> Settings {
    Settings::of(Dialect::of(b"9.7.4").unwrap())
}

fn mariadb() -> Settings {
    Settings::of(Dialect::of(b"10.11.19-MariaDB").unwrap())
}

fn read(sql: &str, settings: &Settings) -> Tree {
    let mut tree = Tree::default();
    tree.read(sql.as_bytes(), settings).unwrap_or_else(|refusal| panic!("{sql}: {refusal}"));
    tree
}

fn text<'a>(tree: &Tree, id: NodeId, sql: &'a str) -> &'a str {
    std::str::from_utf8(tree.span(id).of(sql.as_bytes())).unwrap()
}

/// A line for each node, with its text if nothing is below it.
fn shown(tree: &Tree, sql: &str) -> String {
    let mut depth = 1;
    let mut shown = String::new();
    for step in tree.walk(tree.root().unwrap()).skip(1) {
        match step {
            Step::Enter(id) => {
                let leaf = if tree.children(id).next().is_none() { text(tree, id, sql) } else { "" };
                let line = format!("{:indent$}{:?} {leaf}", "", tree.kind(id), indent = 4 * depth);
                writeln!(shown, "{}", line.trim_end()).unwrap();
                depth += 1;
            }
            Step::Leave(_) => depth -= 1,
        }
    }
    shown
}

/// A line without blanks in front is a statement, behind the server's name; its tree follows.
#[test]
fn trees() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/spans.txt");
    let golden = std::fs::read_to_string(path).unwrap();
    let mut fresh = String::new();
    for line in golden.lines().filter(|line| !line.starts_with(' ')) {
        fresh += line;
        fresh.push('\n');
        if let Some((server, sql)) = line.split_once(": ") {
            let settings = if server == "mysql" { mysql() } else { mariadb() };
            fresh += &shown(&read(sql, &settings), sql);
        }
    }
    if std::env::var_os("POINTSMAN_WRITE_GOLDEN").is_some() {
        std::fs::write(path, &fresh).unwrap();
    }
    assert!(fresh == golden || std::env::var_os("POINTSMAN_WRITE_GOLDEN").is_some(), "{fresh}");
}

#[test]
fn tables_have_their_names_aliases_and_blocks() {
    let sql = "INSERT INTO s.t SELECT * FROM `u` AS x JOIN (SELECT 1 FROM v FOR UPDATE OF v) d, s.`w` y";
    let tree = read(sql, &mysql());
    let found: Vec<_> = tree
        .tables()
        .map(|table| {
            let [schema, alias] = [table.schema, table.alias]
                .map(|span| span.map_or("", |span| std::str::from_utf8(span.of(sql.as_bytes())).unwrap()));
            let block = text(&tree, table.block, sql);
            let name = std::str::from_utf8(table.name.of(sql.as_bytes())).unwrap();
            (schema, name, alias, tree.kind(table.block), block.len())
        })
        .collect();
    let outer = sql.len() - "INSERT INTO s.t ".len();
    let expected = [
        ("s", "t", "", Kind::Insert, sql.len()),
        ("", "`u`", "x", Kind::Select, outer),
        ("", "v", "", Kind::Select, "SELECT 1 FROM v".len()),
        ("s", "`w`", "y", Kind::Select, outer),
    ];
    assert_eq!(found, expected);
    let tree = read("DELETE a FROM t AS a, u", &mysql());
    assert_eq!(tree.tables().count(), 2);
}

#[test]
fn every_statement_tells_its_tables() {
    for (sql, expected) in [
        (
            "CREATE TABLE IF NOT EXISTS a (x INT, FOREIGN KEY (x) REFERENCES s.b (y)) SELECT * FROM c",
            "a s.b c",
        ),
        ("CREATE TABLE a LIKE b", "a b"),
        ("CREATE TABLE a (x INT DEFAULT (y LIKE 'z')) TABLE b", "a b"),
        ("CREATE TABLE a (x INT) AS WITH b (y) AS (SELECT 1) SELECT * FROM b, c", "a b c"),
        (
            "CREATE OR REPLACE ALGORITHM = MERGE DEFINER = r@h VIEW a AS SELECT * FROM b WITH CHECK OPTION",
            "a b",
        ),
        ("CREATE UNIQUE INDEX i ON a (x)", "a"),
        ("CREATE TRIGGER r AFTER INSERT ON a FOR EACH ROW BEGIN DELETE FROM b; END", "a"),
        ("CREATE PROCEDURE p() BEGIN SELECT 1; END", ""),
        ("ALTER TABLE a RENAME TO b, RENAME COLUMN x TO y", "a b"),
        ("ALTER TABLE a EXCHANGE PARTITION p WITH TABLE b", "a b"),
        ("ALTER TABLE a ENGINE = MERGE UNION = (b, s.c)", "a b s.c"),
        ("DROP TABLE IF EXISTS a, s.b", "a s.b"),
        ("TRUNCATE a", "a"),
        ("RENAME TABLE a TO b, c TO s.d", "a b c s.d"),
        ("LOCK TABLES a AS x READ, b WRITE", "a b"),
        ("ANALYZE LOCAL TABLE a, b", "a b"),
        ("FLUSH TABLES a, b WITH READ LOCK", "a b"),
        ("FLUSH TABLES WITH READ LOCK", ""),
        ("SHOW CREATE TABLE s.a", "s.a"),
        ("SHOW FULL COLUMNS FROM a FROM s WHERE Field IN (SELECT x FROM b)", "a b"),
        ("SHOW TABLES", ""),
        ("DESC a x", "a"),
        ("EXPLAIN FORMAT = JSON DELETE a FROM a JOIN b", "a b"),
        ("HANDLER a OPEN", "a"),
        ("LOAD DATA INFILE 'f' INTO TABLE a (x) SET y = (SELECT z FROM b)", "a b"),
        ("LOAD INDEX INTO CACHE a, b IGNORE LEAVES", "a b"),
        ("GRANT SELECT ON s.a TO u", "s.a"),
        ("GRANT ALL ON s.* TO u", ""),
        ("DO (SELECT x FROM a)", "a"),
        ("CALL p((SELECT x FROM a))", "a"),
        ("SET @x = (SELECT x FROM a), autocommit = 1", "a"),
        ("COMMIT", ""),
    ] {
        let tree = read(sql, &mysql());
        let found: Vec<_> = tree.tables().map(|table| text(&tree, table.id, sql)).collect();
        assert_eq!(found.join(" "), expected, "{sql}");
    }
}

#[test]
fn nodes_belong_to_blocks() {
    let sql = "SELECT a FROM t WHERE b IN (SELECT c FROM u ORDER BY d) UNION SELECT e ORDER BY f";
    let tree = read(sql, &mysql());
    for (column, block) in [
        ("a", "SELECT a FROM t WHERE b IN (SELECT c FROM u ORDER BY d)"),
        ("b", "SELECT a FROM t WHERE b IN (SELECT c FROM u ORDER BY d)"),
        ("c", "SELECT c FROM u"),
        ("d", "SELECT c FROM u"),
        ("e", "SELECT e"),
        ("f", "SELECT a FROM t WHERE b IN (SELECT c FROM u ORDER BY d) UNION SELECT e"),
    ] {
        let mut walk = tree.walk(tree.root().unwrap());
        let found = walk.find_map(|step| match step {
            Step::Enter(id) if tree.kind(id) == Kind::Column && text(&tree, id, sql) == column => {
                tree.block(id)
            }
            _ => None,
        });
        assert_eq!(found.map(|id| text(&tree, id, sql)), Some(block), "{column}");
    }
}

#[test]
fn a_walk_passes_by() {
    let sql = "SELECT (SELECT a FROM t) + b";
    let tree = read(sql, &mysql());
    let mut walk = tree.walk(tree.root().unwrap());
    let (mut columns, mut open) = (0, 0);
    while let Some(step) = walk.next() {
        match step {
            Step::Enter(id) => {
                open += 1;
                columns += u32::from(tree.kind(id) == Kind::Column);
                if matches!(tree.kind(id), Kind::Subquery | Kind::Column) {
                    walk.skip_children();
                }
            }
            Step::Leave(_) => open -= 1,
        }
    }
    assert_eq!((columns, open), (1, 0));
}

#[test]
fn a_rewrite_changes_nothing_else() {
    let sql = "SELECT /* a */ t.a,t . b FROM  s.t -- c\nWHERE t.a IN (1,  2)";
    let tree = read(sql, &mysql());
    let mut splices = Splices::default();
    let table = tree.tables().next().unwrap();
    splices.add(tree.span(table.id), "s_01.t_0001 AS t").unwrap();
    for step in tree.walk(tree.root().unwrap()) {
        if let Step::Enter(id) = step
            && tree.kind(id) == Kind::List
        {
            splices.add(tree.span(id), "(2)").unwrap();
        }
    }
    let mut out = Vec::new();
    splices.apply(sql.as_bytes(), &mut out).unwrap();
    let expected = "SELECT /* a */ t.a,t . b FROM  s_01.t_0001 AS t -- c\nWHERE t.a IN (2)";
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}

#[test]
fn refusals_say_where_and_what() {
    for (sql, at, reason) in [
        ("", 0, Reason::Expected("a statement")),
        ("SELECT", 6, Reason::Expected("an expression")),
        ("SELECT a FROM", 13, Reason::Expected("a table")),
        ("SELECT a FROM t WHERE", 21, Reason::Expected("an expression")),
        ("SELECT (1", 9, Reason::Expected("a closing parenthesis")),
        ("SELECT 1; SELECT 2", 10, Reason::Expected("the end of the statement")),
        ("COMMIT; DELETE FROM t", 8, Reason::Expected("the end of the statement")),
        ("CREATE TABLE t (a INT); SELECT 2", 24, Reason::Expected("the end of the statement")),
        ("DROP INDEX i; DELETE FROM t", 14, Reason::Expected("the end of the statement")),
        ("SELECT a BETWEEN 1 OR 2", 19, Reason::Expected("AND")),
        ("SELECT 1 = NOT 2", 11, Reason::Expected("an expression")),
        ("SELECT a FROM t LEFT JOIN u", 27, Reason::Expected("ON or USING")),
        ("SELECT a FROM t WHERE a odd (SELECT 1)", 29, Reason::Expected("no table")),
        ("UPDATE t WHERE a", 9, Reason::Expected("SET")),
        ("SELECT 'a", 9, Reason::Unsure),
        ("SELECT /*!99999 1 */ 2", 21, Reason::Expected("")),
    ] {
        let expected = if reason == Reason::Expected("") { None } else { Some(Refusal { at, reason }) };
        assert_eq!(Tree::default().read(sql.as_bytes(), &mysql()).err(), expected, "{sql}");
    }
}

#[test]
fn comments_are_executed_by_version() {
    let sql = "SELECT a /*!80000 , b */ /*M!100000 , c */ FROM t";
    let columns = |settings| {
        let tree = read(sql, &settings);
        let walk = tree.walk(tree.root().unwrap());
        let columns = walk.filter_map(|step| match step {
            Step::Enter(id) if tree.kind(id) == Kind::Column => Some(text(&tree, id, sql)),
            _ => None,
        });
        assert!(tree.is_conditional());
        columns.collect::<Vec<_>>()
    };
    assert_eq!(columns(mysql()), ["a", "b"]);
    assert_eq!(columns(mariadb()), ["a", "c"]);
}

/// Nested in all ways that recurse, as deeply as is permitted and more, within a small stack.
#[test]
fn depth_is_bounded() {
    let nested = |open: &str, inner: &str, close: &str, depth: usize| {
        format!("SELECT {}{inner}{}", open.repeat(depth), close.repeat(depth))
    };
    let run = move || {
        for (open, inner, close) in [
            ("(", "1", ")"),
            ("- ", "1", ""),
            ("NOT ", "1", ""),
            ("f(", "1", ")"),
            ("(SELECT ", "1", ")"),
            ("CASE WHEN ", "1", " THEN 2 END"),
            ("1 BETWEEN 2 AND ", "3", ""),
            ("a OR b AND c = d | e & f << g + h * i ^ (", "1", ")"),
            ("@a := ", "1", ""),
            ("INTERVAL 1 DAY + ", "1", ""),
            ("* FROM (SELECT ", "1", ") d"),
            ("* FROM (((SELECT ", "1", "))) d"),
            ("1 IN (SELECT * FROM (t JOIN (SELECT ", "1", ") d))"),
            ("CAST(", "1", " AS CHAR)"),
            ("1 UNION (SELECT ", "1", ")"),
        ] {
            for depth in [1, 10, DEPTH_MAX, 50_000] {
                let sql = nested(open, inner, close, depth);
                let outcome = Tree::default().read(sql.as_bytes(), &mysql());
                match outcome {
                    Ok(_) => assert!(depth <= DEPTH_MAX, "{open}"),
                    Err(refusal) => {
                        assert!(depth > 10 && refusal.reason == Reason::TooDeep, "{open} {depth}: {refusal}");
                    }
                }
            }
        }
        let joins = "t JOIN ".repeat(100_000) + "t" + &" ON 1".repeat(100_000);
        let refusal = Tree::default().read(format!("SELECT * FROM {joins}").as_bytes(), &mysql());
        assert_eq!(refusal.map_err(|refusal| refusal.reason), Err(Reason::TooDeep));
    };
    std::thread::Builder::new().stack_size(1 << 20).spawn(run).unwrap().join().unwrap();
}

#[test]
fn long_statements_are_read_and_nodes_are_bounded() {
    for part in [" + 1", " OR a = 1", ", 1", " JOIN t", " UNION SELECT 1"] {
        let sql = format!("SELECT 1{}", part.repeat(20_000)).replace("1 JOIN", "1 FROM t JOIN");
        let sql = sql.replace("t JOIN t JOIN", "t JOIN t CROSS JOIN");
        read(&sql, &mysql());
    }
    let rows = format!("INSERT INTO t VALUES (1){}", ", (1)".repeat(100_000));
    assert!(read(&rows, &mysql()).root().is_some());
    let sql = format!("SELECT 1{}", ",1".repeat(NODES_MAX / 2));
    let refusal = Tree::default().read(sql.as_bytes(), &mysql()).unwrap_err();
    assert_eq!(refusal.reason, Reason::TooLarge);
}
