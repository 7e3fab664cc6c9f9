use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// Squares, and how many cells were asked for.
#[derive(Default)]
struct Squares {
    count: usize,
    asked: AtomicUsize,
}

impl Rows for Squares {
    fn count(&self) -> usize {
        self.count
    }

    fn cell(&self, row: usize, column: usize) -> Value {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let row = i64::try_from(row).unwrap();
        match column {
            0 => row.into(),
            1 => (row * row).into(),
            _ => format!("row {row}").into(),
        }
    }
}

const USUAL: &str = "CREATE TABLE squares (n INT NOT NULL, square INT, text VARCHAR DEFAULT ('a,b'), PRIMARY KEY (n, square))";

/// A connection with an empty table.
fn opened() -> (Connection, Lists) {
    let (connection, lists) = (Connection::open_in_memory().unwrap(), Lists::default());
    lists.add_to(&connection).unwrap();
    connection.execute_batch(&definition(USUAL)).unwrap();
    (connection, lists)
}

fn numbers(connection: &Connection, sql: &str) -> Vec<i64> {
    let mut statement = connection.prepare(sql).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_>>().unwrap()
}

#[test]
fn a_table_shows_the_list_of_its_name() {
    let (connection, lists) = opened();
    assert_eq!(numbers(&connection, "SELECT COUNT(*) FROM squares"), [0], "empty at first");
    lists.show("Squares", Arc::new(Squares { count: 5, ..Squares::default() }));
    lists.show("others", Arc::new(Squares { count: 7, ..Squares::default() }));
    assert_eq!(numbers(&connection, "SELECT square FROM squares ORDER BY n DESC LIMIT 3"), [16, 9, 4]);
    assert_eq!(numbers(&connection, "SELECT n FROM squares WHERE text = 'row 3'"), [3]);
    assert_eq!(numbers(&connection, "SELECT a.n FROM squares a JOIN squares b ON a.n = b.square"), [0, 1, 4]);
    lists.clear();
    assert_eq!(numbers(&connection, "SELECT COUNT(*) FROM squares"), [0]);
}

#[test]
fn only_cells_that_a_statement_needs_are_made() {
    let (connection, lists) = opened();
    let squares = Arc::new(Squares { count: 1_000, ..Squares::default() });
    lists.show("squares", Arc::clone(&squares) as Arc<dyn Rows>);
    assert_eq!(numbers(&connection, "SELECT COUNT(*) FROM squares"), [1_000]);
    assert_eq!(squares.asked.load(Ordering::Relaxed), 0);
    assert_eq!(numbers(&connection, "SELECT MAX(square) FROM squares"), [998_001]);
    assert_eq!(squares.asked.load(Ordering::Relaxed), 1_000);
}

#[test]
fn who_reads_keeps_what_he_reads() {
    let (connection, lists) = opened();
    lists.show("squares", Arc::new(Squares { count: 3, ..Squares::default() }));
    let mut statement = connection.prepare("SELECT n FROM squares").unwrap();
    let mut rows = statement.query([]).unwrap();
    assert!(rows.next().unwrap().is_some());
    lists.clear();
    assert!(rows.next().unwrap().is_some(), "a list that changes below a statement");
}

/// Otherwise a join of two tables with 100,000 rows would take an hour.
#[test]
fn a_join_reads_each_table_a_few_times() {
    let (connection, lists) = opened();
    connection.execute_batch(&definition(&USUAL.replace("squares", "others"))).unwrap();
    let shown = ["squares", "others"].map(|table| {
        let rows = Arc::new(Squares { count: 1_000, ..Squares::default() });
        lists.show(table, Arc::clone(&rows) as Arc<dyn Rows>);
        rows
    });
    for (sql, expected) in [
        ("SELECT COUNT(*) FROM squares a JOIN others b ON a.text = b.text", 1_000),
        ("SELECT COUNT(*) FROM squares a JOIN others b USING (n, square)", 1_000),
        (
            "SELECT COUNT(*) FROM squares a WHERE NOT EXISTS (SELECT 1 FROM others b WHERE b.n = a.n + 400)",
            400,
        ),
        ("SELECT COUNT(*) FROM squares WHERE n IN (SELECT square FROM others)", 32),
    ] {
        assert_eq!(numbers(&connection, sql), [expected], "{sql}");
        let asked: usize = shown.iter().map(|rows| rows.asked.swap(0, Ordering::Relaxed)).sum();
        assert!(asked < 20_000, "{sql}: {asked}");
    }
}

/// What is found by an index is what is found without.
#[test]
fn an_index_finds_what_sqlite_takes_for_equal() {
    let (connection, lists) = opened();
    connection.execute_batch("CREATE TABLE usual (n INT, square INT, text VARCHAR)").unwrap();
    connection.execute_batch("CREATE TABLE asked (value)").unwrap();
    lists.show("squares", Arc::new(Squares { count: 20, ..Squares::default() }));
    connection.execute_batch("INSERT INTO usual SELECT * FROM squares").unwrap();
    for value in [
        "5",
        "5.0",
        "'5'",
        "' 5 '",
        "'5.0'",
        "-0.0",
        "'0'",
        "NULL",
        "'row 5'",
        "'ROW 5'",
        "x'726F772035'",
        "2.5",
        "'x'",
        "'inf'",
    ] {
        connection.execute_batch(&format!("INSERT INTO asked VALUES ({value})")).unwrap();
    }
    for column in ["n", "square", "text", "text COLLATE NOCASE", "rowid + 0"] {
        for condition in [format!("s.{column} = a.value"), format!("s.{column} IN (SELECT value FROM asked)")]
        {
            let found = |table: &str| {
                let sql = format!(
                    "SELECT s.n FROM asked a CROSS JOIN {table} s WHERE {condition} ORDER BY a.rowid, s.n"
                );
                numbers(&connection, &sql.replace("rowid + 0", "n"))
            };
            assert_eq!(found("squares"), found("usual"), "{condition}");
        }
    }
    let both = "SELECT n FROM squares WHERE n = 3 AND n = 4 OR n = '7' OR square = 49 OR text = 'row 7'";
    assert_eq!(numbers(&connection, both), [7]);
}

/// Rows of which one cannot be shown.
struct Broken;

impl Rows for Broken {
    fn count(&self) -> usize {
        3
    }

    fn cell(&self, row: usize, _: usize) -> Value {
        assert!(row < 2, "row {row} is broken");
        Value::Null
    }
}

/// A panic must not reach C, which would end the process.
#[test]
fn rows_that_panic_are_an_error_of_the_statement() {
    let (connection, lists) = opened();
    lists.show("squares", Arc::new(Broken));
    let mut statement = connection.prepare("SELECT n FROM squares").unwrap();
    let mut rows = statement.query([]).unwrap();
    assert!(rows.next().unwrap().is_some() && rows.next().unwrap().is_some());
    let error = rows.next().unwrap_err().to_string();
    assert!(error.contains("squares") && error.contains("panic"), "{error}");
    lists.clear();
    assert_eq!(numbers(&connection, "SELECT COUNT(*) FROM squares"), [0]);
}

#[test]
fn nothing_can_be_written() {
    let (connection, lists) = opened();
    lists.show("squares", Arc::new(Squares { count: 3, ..Squares::default() }));
    for sql in ["DELETE FROM squares", "INSERT INTO squares VALUES (1, 1, '')", "UPDATE squares SET n = 1"] {
        let refused = connection.execute(sql, []).unwrap_err().to_string();
        assert!(refused.contains("may not be modified"), "{sql}: {refused}");
    }
}

#[test]
fn definitions_are_those_of_usual_tables() {
    let (connection, _lists) = opened();
    connection.execute_batch("CREATE TABLE usual (a INT)").unwrap();
    let kept = |table: &str| -> String {
        let sql = format!("SELECT {} FROM sqlite_master WHERE name = '{table}'", as_usual("sql"));
        connection.query_row(&sql, [], |row| row.get(0)).unwrap()
    };
    assert_eq!([kept("squares"), kept("usual")], [USUAL, "CREATE TABLE usual (a INT)"]);
    let columns = "SELECT name || ' ' || type || ' ' || \"notnull\" || ' ' || (pk > 0) FROM pragma_table_info('squares')";
    let mut statement = connection.prepare(columns).unwrap();
    let columns: Vec<String> =
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert_eq!(columns, ["n INT 1 1", "square INT 0 1", "text VARCHAR 0 0"]);
}

#[test]
fn two_connections_see_the_tables_of_one_database() {
    let name = "file:/memtable-of-two?vfs=memdb";
    let [one, two] = [(); 2].map(|()| Connection::open(name).unwrap());
    let lists = Lists::default();
    for connection in [&one, &two] {
        lists.add_to(connection).unwrap();
    }
    one.execute_batch(&definition(USUAL)).unwrap();
    lists.show("squares", Arc::new(Squares { count: 4, ..Squares::default() }));
    assert_eq!(numbers(&two, "SELECT SUM(square) FROM squares"), [14]);
}
