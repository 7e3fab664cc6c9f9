//! Statements of all sorts are planned without a panic, and rows neither lost nor doubled.

use proptest::prelude::*;

use super::*;

/// Pieces of statements, good and bad.
const PIECES: [&str; 45] = [
    "INSERT INTO users",
    "REPLACE items",
    "UPDATE events SET",
    "DELETE FROM orders",
    "SELECT * FROM users",
    "CREATE TABLE events",
    "ALTER TABLE users ADD",
    "DROP TABLE orders",
    "TRUNCATE countries",
    "WITH users AS (SELECT 1)",
    "SET @a =",
    "(id, user_id)",
    "(name)",
    "()",
    "VALUES",
    "(1, 2)",
    "(?, NULL)",
    "(DEFAULT, 5)",
    ", (3, 'x')",
    ", ('it''s', 4)",
    "SET id = 5, user_id = 6",
    "SELECT id, user_id FROM orders",
    "SELECT * FROM events e",
    "ON DUPLICATE KEY UPDATE name = 1",
    "WHERE id = 5",
    "WHERE user_id IN (1, 2)",
    "AND events.id = LAST_INSERT_ID()",
    "JOIN orders USING (user_id)",
    "LEFT JOIN countries c ON c.id = 1",
    "ORDER BY id",
    "LIMIT ?",
    "LIMIT 3",
    "LIMIT 5, 6",
    "RETURNING id",
    "GROUP BY user_id",
    "name = UUID()",
    "(id INT PRIMARY KEY, user_id INT UNIQUE)",
    "FOREIGN KEY (id) REFERENCES users (id)",
    "LIKE users",
    "UNION SELECT 1",
    "FOR UPDATE",
    "/*! , 5 */",
    "\u{e4}",
    "(",
    ")",
];

fn branches(plan: &Plan) -> Vec<Branch> {
    match plan {
        Plan::One(branch) => vec![branch.clone()],
        Plan::Many(scatter) => scatter.branches.clone(),
        Plan::Write(write) => write.branches.clone(),
        Plan::Limited(limited) => {
            let reads = limited.keys.iter().flat_map(|keys| keys.reads.branches.iter().cloned());
            let lacks: &[u8] = if limited.keys.is_some() { b"id IN (1) " } else { b"7" };
            reads.chain(limited.changes.iter().map(|change| change.filled(lacks))).collect()
        }
        Plan::Load(load) => load.branches.clone(),
        Plan::Each(branches) => branches.clone(),
        Plan::Home | Plan::NeedsIds(_) | Plan::Refused(_) => Vec::new(),
    }
}

fn plans(sql: &str, mariadb: bool, asked: Asked<'_>) -> Option<Plan> {
    let version: &[u8] = if mariadb { b"11.4.2-MariaDB" } else { b"8.4.3" };
    let settings = Settings::of(Dialect::of(version).unwrap());
    let mut tree = Tree::default();
    tree.read(sql.as_bytes(), &settings).ok()?;
    let (layout, definitions) = (layout(), columns());
    let parameters = [Some(Value::Signed(7)); 64];
    let request = Request {
        sql: sql.as_bytes(),
        tree: &tree,
        modes: Modes::default(),
        schema: "shop",
        layout: &layout,
        definitions: &definitions,
        parameters: &parameters,
        asked,
    };
    let plan = plan(&request);
    for branch in branches(&plan) {
        // What is sent is read as it was, with the placeholders that are said.
        let text = branch.text.as_deref().unwrap_or(sql.as_bytes());
        let mut sent = Tree::default();
        assert!(sent.read(text, &settings).is_ok(), "{sql}: {}", String::from_utf8_lossy(text));
        let all = usize::try_from(tree.placeholders()).unwrap();
        let said = branch.placeholders.as_ref().map_or(all, Vec::len);
        assert_eq!(usize::try_from(sent.placeholders()), Ok(said), "{sql}");
    }
    Some(plan)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn pieces_are_planned(
        pieces in proptest::collection::vec(0..PIECES.len(), 1..8),
        mariadb: bool,
        last_insert_id: Option<u64>,
        shard in proptest::option::of(proptest::sample::select(vec!["11", "events_2", "shop.users", "x"])),
    ) {
        let sql: Vec<_> = pieces.iter().map(|at| PIECES[*at]).collect();
        let ids: Vec<u64> = (1..9).collect();
        let _ = plans(&sql.join(" "), mariadb, Asked { ids: &ids, last_insert_id, shard, ..Asked::default() });
    }

    #[test]
    fn each_row_is_of_one_shard(keys in proptest::collection::vec(-9..9_i64, 1..30)) {
        let rows: Vec<_> = keys.iter().map(|key| format!("({key}, ?)")).collect();
        let sql = format!("INSERT INTO events (user_id, name) VALUES {}", rows.join(", "));
        let plan = plans(&sql, false, Asked::default()).unwrap();
        let Plan::Write(write) = plan else {
            prop_assert!(matches!(plan, Plan::One(_)));
            return Ok(());
        };
        let mut numbers: Vec<_> = write.rows.concat();
        numbers.sort_unstable();
        prop_assert_eq!(numbers, (1..=u32::try_from(keys.len()).unwrap()).collect::<Vec<_>>());
        for (branch, rows) in write.branches.iter().zip(&write.rows) {
            let placeholders: Vec<_> = rows.iter().map(|row| row - 1).collect();
            prop_assert_eq!(branch.placeholders.as_ref(), Some(&placeholders));
        }
    }
}

#[test]
fn the_statements_of_the_parser_are_planned() {
    let mut planned = 0;
    for line in include_str!("../../../../sql/tests/statements.sql").lines() {
        for (from, to) in [(" t", " users"), (" u", " events"), (" v", " countries")] {
            let sql = line.replace(from, to);
            for mariadb in [false, true] {
                planned += u32::from(plans(&sql, mariadb, Asked::default()).is_some());
            }
        }
    }
    assert!(planned > 100, "{planned}");
}
