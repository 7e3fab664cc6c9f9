//! Statements of tools, and how they are answered: `tests/NAME.txt` has statements, each with what
//! becomes of it in the layout NAME. `POINTSMAN_WRITE_GOLDEN=1` writes the answers anew.

use std::fmt::Write as _;
use std::path::Path;

use shard::placement::{Function, Level, Modulo, Sign};
use shard::{Draft, Home, TableKind};
use sql::Modes;
use sql::parse::{Settings, Tree};

use super::*;
use crate::merge::Protocol;
use crate::plan::{Asked, ColumnInfo, Definitions};

const MARIADB: &[u8] = b"10.11.19-MariaDB";

struct Unknown;

impl Definitions for Unknown {
    fn columns(&self, _schema: &str, _table: &str) -> Option<&[ColumnInfo]> {
        None
    }
}

fn node(hostgroup: u32, schema: &str, table: &str) -> Node {
    Node { hostgroup, schema: schema.to_owned(), table: table.to_owned() }
}

fn sharded(name: &str, nodes: Vec<Node>) -> Table {
    let shards = u32::try_from(nodes.len()).unwrap();
    let function = Function::Modulo(Modulo { shards, sign: Sign::Floor });
    let level = Level { columns: vec![0], function, nodes: None };
    Table::sharded(["shop", name], nodes, vec!["id".to_owned()], vec![level])
}

fn layout_of(tables: Vec<Table>, home: u32) -> Layout {
    let home = Home { schema: None, hostgroup: home, physical_schema: None };
    let draft = Draft { hostgroups: vec![1, 2, 9], tables, homes: vec![home], ..Draft::default() };
    Layout::new(draft).unwrap()
}

/// The same names on two servers, of which the first is the home.
fn same() -> Layout {
    let both = |name: &str| vec![node(1, "shop", name), node(2, "shop", name)];
    let countries = TableKind::Reference { nodes: both("countries") };
    let countries = Table { schema: "shop".to_owned(), name: "countries".to_owned(), kind: countries };
    layout_of(vec![sharded("users", both("users")), sharded("orders", both("orders")), countries], 1)
}

/// The same, with a home of its own.
fn apart() -> Layout {
    layout_of(same().tables().to_vec(), 9)
}

/// Numbered tables, several on one server, beside those that are not sharded.
fn numbered() -> Layout {
    let four = |name: &str| (0..4).map(|n| node(1 + n / 2, "shop", &format!("{name}_{n}"))).collect();
    layout_of(vec![sharded("users", four("users")), sharded("orders", four("orders"))], 1)
}

/// Schemas with numbers.
fn schemas() -> Layout {
    let both = |name: &str| vec![node(1, "shop_0", name), node(2, "shop_1", name)];
    layout_of(vec![sharded("users", both("users")), sharded("orders", both("orders"))], 9)
}

fn seen_in(layout: &Layout, sql: &str) -> Option<Seen> {
    let dialect = Dialect::of(MARIADB).unwrap();
    let mut tree = Tree::default();
    tree.read(sql.as_bytes(), &Settings::of(dialect)).unwrap();
    let request = Request {
        sql: sql.as_bytes(),
        tree: &tree,
        modes: Modes::default(),
        schema: "shop",
        layout,
        definitions: &Unknown,
        parameters: &[],
        asked: Asked::default(),
    };
    seen(&request, Asker { home: 9, dialect })
}

fn written(out: &mut String, sql: &str, found: Option<&Seen>) {
    let mut line = |text: &str| writeln!(out, "{text}").unwrap();
    let text = |branch: &Branch| match &branch.text {
        Some(text) => format!("{}: {}", branch.hostgroup, String::from_utf8_lossy(text)),
        None => format!("{}: unchanged", branch.hostgroup),
    };
    match found.map(|seen| &seen.plan) {
        None => line("as any statement"),
        Some(Plan::One(branch)) => line(&text(branch)),
        Some(Plan::Many(scatter)) => {
            for branch in &scatter.branches {
                line(&text(branch));
            }
            if !scatter.order.is_empty() {
                line(&format!("merged by {} hidden columns", scatter.order.len()));
            }
        }
        Some(Plan::Refused(refusal)) => {
            let part = String::from_utf8_lossy(refusal.span.of(sql.as_bytes())).into_owned();
            line(&format!("refused: {}: {part}", refusal.cause.text()));
        }
        Some(other) => line(&format!("{other:?}")),
    }
    match found.map_or(&Cells::Plain, |seen| &seen.cells) {
        Cells::Plain => {}
        Cells::Path => line("first cell: a path"),
        Cells::Table { name } => line(&format!("first cell: {name}")),
        Cells::Create { name, .. } => line(&format!("definition of {name}")),
    }
}

fn check(name: &str, layout: &Layout) {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src/seen/tests")).join(format!("{name}.txt"));
    let golden = std::fs::read_to_string(&path).unwrap();
    let mut out = String::new();
    for sql in golden.lines().filter_map(|line| line.strip_prefix("> ")) {
        writeln!(out, "> {sql}").unwrap();
        written(&mut out, sql, seen_in(layout, sql).as_ref());
        out.push('\n');
    }
    if std::env::var_os("POINTSMAN_WRITE_GOLDEN").is_some() {
        std::fs::write(&path, &out).unwrap();
    }
    assert_eq!(out, std::fs::read_to_string(&path).unwrap(), "{name}");
}

#[test]
fn same_names_go_unchanged_to_one_server() {
    check("same", &same());
}

#[test]
fn a_home_of_its_own_adds_its_tables() {
    check("apart", &apart());
}

#[test]
fn numbered_tables_are_one() {
    check("numbered", &numbered());
}

#[test]
fn numbered_schemas_are_one() {
    check("schemas", &schemas());
}

#[test]
fn definitions_have_logical_names() {
    let layout = numbered();
    let seen = seen_in(&layout, "SHOW CREATE TABLE orders").unwrap();
    let physical = "CREATE TABLE `orders_0` (\n  `id` int(11) NOT NULL COMMENT 'as `orders_0`',\n  CONSTRAINT \
                    `orders_0_ibfk_1` FOREIGN KEY (`orders_0`) REFERENCES `users_0` (`id`),\n  CONSTRAINT `c` \
                    CHECK (`id` <> 'orders_0')\n) ENGINE=InnoDB AUTO_INCREMENT=7 DEFAULT CHARSET=utf8mb4 \
                    COMMENT='x AUTO_INCREMENT=7'";
    let logical = "CREATE TABLE `orders` (\n  `id` int(11) NOT NULL COMMENT 'as `orders_0`',\n  CONSTRAINT \
                   `orders_ibfk_1` FOREIGN KEY (`orders_0`) REFERENCES `users` (`id`),\n  CONSTRAINT `c` CHECK \
                   (`id` <> 'orders_0')\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COMMENT='x AUTO_INCREMENT=7'";
    let row = |name: &str, definition: &str, head: &[u8]| {
        let mut row = head.to_vec();
        wire::codec::put_lenenc_bytes(&mut row, name.as_bytes());
        wire::codec::put_lenenc_bytes(&mut row, definition.as_bytes());
        row
    };
    for (protocol, head) in [(Protocol::Text, &[][..]), (Protocol::Binary, &[0, 0][..])] {
        let shown =
            seen.cells.row(protocol, 2, &Names::default(), &row("orders_0", physical, head)).into_owned();
        assert_eq!(shown, row("orders", logical, head));
    }
}

#[test]
fn what_is_no_row_stays() {
    let seen = seen_in(&numbered(), "SHOW CREATE TABLE orders").unwrap();
    for bytes in [&b""[..], b"\xfb", b"\x05abc", b"\x01a\xfb", b"\x01a\xfe\xff\xff\xff\xff\xff\xff\xff\xff"] {
        assert_eq!(&*seen.cells.row(Protocol::Text, 2, &Names::default(), bytes), bytes);
        assert_eq!(&*seen.cells.row(Protocol::Binary, usize::MAX - 8, &Names::default(), bytes), bytes);
    }
}

#[test]
fn the_node_of_a_table_is_on_the_server_with_most_of_them() {
    let lone = sharded("lone", vec![node(9, "shop", "lone")]);
    let layout = layout_of([numbered().tables(), &[lone]].concat(), 2);
    let of = |name: &str| super::node(&layout, layout.table("shop", name).unwrap()).unwrap().hostgroup;
    assert_eq!([of("users"), of("orders"), of("lone")], [1, 1, 9]);
}

#[test]
fn statements_that_are_cut_anywhere_are_answered_somehow() {
    let layouts = [same(), apart(), numbered(), schemas()];
    let statements = include_str!("tests/same.txt").lines().filter_map(|line| line.strip_prefix("> "));
    for sql in statements {
        for end in (0..sql.len()).filter(|end| sql.is_char_boundary(*end)) {
            let cut = &sql[..end];
            let mut tree = Tree::default();
            let settings = Settings::of(Dialect::of(MARIADB).unwrap());
            if tree.read(cut.as_bytes(), &settings).is_ok() {
                for layout in &layouts {
                    let refused = seen_in(layout, cut).map(|seen| seen.plan);
                    if let Some(Plan::Refused(refusal)) = refused {
                        assert!(refusal.span.end <= cut.len(), "{cut}");
                    }
                }
            }
        }
    }
}

proptest::proptest! {
    /// Texts of servers are any bytes; those without a physical name stay.
    #[test]
    fn texts_of_any_bytes_are_taken(text in proptest::collection::vec(proptest::sample::select(
        b"'`\".s01orders_ibfk_\xff ".to_vec()), 0..80))
    {
        let names = Names::at(&schemas(), 1);
        let shown = names.logical_text(&text);
        let has_name = text.windows(6).any(|part| part == b"shop_0");
        proptest::prop_assert!(has_name || *shown == *text);
    }
}
