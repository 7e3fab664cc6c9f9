use std::path::Path;

use crate::schema::{POINTSMAN_SHARD_NODES, POINTSMAN_SHARD_TABLES, Scalar};
use crate::{Draft, Loaded, parse};

const SHOP: &str = r#"
[[mysql_servers]]
hostname = "db"

[[shards.table]]
schema = "shop"
table = "orders"
key = "user_id"
function = "range"
bounds = [100]
unique = "unchecked"
nodes = ["1/shop.orders_0", "2/shop.orders_1"]

[[shards.table]]
schema = "shop"
table = "items"
key = "user_id"
function = "range"
bounds = [100]
nodes = "${1..2}/shop.items"

[[shards.table]]
schema = "shop"
table = "currencies"
kind = "reference"
nodes = [{ hostgroup = 1, schema = "shop", table = "a,$b" }]

[[shards.group]]
schema = "shop"
tables = ["orders", "items"]

[[shards.sequence]]
schema = "shop"
table = "orders"
column = "id"
kind = "snowflake"
worker = 3

[[shards.home]]
hostgroup = 1
"#;

fn loaded(text: &str) -> Loaded {
    parse(text, Path::new("f")).unwrap_or_else(|problems| panic!("{problems}\n{text}"))
}

fn problems(text: &str) -> String {
    parse(text, Path::new("f")).unwrap_err().to_string()
}

/// What is wrong with the rows of `draft` after a change of one cell.
fn changed(draft: &Draft, section: &'static crate::schema::Section, column: &str, value: Scalar) -> String {
    let mut draft = draft.clone();
    let mut rows = draft.rows(section).to_vec();
    rows[0] = rows[0].with(column, value);
    draft.set_rows(section, rows);
    let found = draft.check().unwrap_err();
    found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_file_makes_the_layout_that_it_says() {
    let layout = loaded(SHOP).config.shards.unwrap().to_string();
    let expected = "\
shop.currencies: on all nodes
  0: hostgroup 1, shop.a,$b
shop.items: sharded by (user_id)
  by range of user_id into 2
  0: hostgroup 1, shop.items
  1: hostgroup 2, shop.items
shop.orders: sharded by (user_id), keys unchecked
  by range of user_id into 2
  0: hostgroup 1, shop.orders_0
  1: hostgroup 2, shop.orders_1
colocated in shop: orders, items
ids of shop.orders.id: snowflake of worker 3, vibration 1023
other tables of any schema: hostgroup 1
";
    assert_eq!(sorted(&layout), sorted(expected));
}

/// Rows of groups are kept by their keys, so their tables may change places.
fn sorted(layout: &str) -> Vec<String> {
    let of_line = |line: &str| {
        let mut words: Vec<_> = line.split([' ', ',']).collect();
        words.sort_unstable();
        words.join(" ")
    };
    layout.lines().map(of_line).collect()
}

#[test]
fn rows_mean_what_the_file_means() {
    let Loaded { config, draft, .. } = loaded(SHOP);
    let checked = draft.check().unwrap();
    assert_eq!(checked.config.shards, config.shards);
    // The layout of rows that did not change is not made anew.
    let again = draft.check_from(&draft, &checked.config).unwrap();
    let shared = again.config.shards.as_ref().zip(checked.config.shards.as_ref());
    assert!(shared.is_some_and(|(one, other)| std::sync::Arc::ptr_eq(one, other)));
    let saved = loaded(&draft.to_cnf());
    assert_eq!(saved.config.shards, config.shards);
    assert_eq!(saved.draft, draft);
}

#[test]
fn without_rows_there_is_no_layout() {
    assert_eq!(loaded("").config.shards, None);
}

#[test]
fn what_is_wrong_with_a_row_names_table_key_and_column() {
    let draft = loaded(SHOP).draft;
    let text = |text: &str| Scalar::Text(text.to_owned());
    let table = |column, value: &str| changed(&draft, &POINTSMAN_SHARD_TABLES, column, text(value));
    let row = "pointsman_shard_tables row schema_name='shop', table_name='orders': ";
    assert_eq!(
        table("function", "modulo"),
        format!(
            "{row}`function`: must be `mod`, `hash`, `range`, `list`, `date`, `interval`, `consistent`, `hash_mod`, \
             `cut_mod`, `auto_interval`, `inline` or `levels`\n{row}`arguments`: `bounds` is not known, so it cannot be kept"
        )
    );
    assert_eq!(table("arguments", "{\"bounds\": [2, 1]}"), format!("{row}`function`: `bounds` have to rise"));
    assert_eq!(table("arguments", "[1]").lines().count(), 2);
    assert_eq!(table("key_columns", ""), format!("{row}`key_columns`: is missing"));
    let mut empty = draft.clone();
    empty.set_rows(&POINTSMAN_SHARD_NODES, Vec::new());
    let found = empty.check().unwrap_err();
    assert_eq!(found[0].to_string(), format!("{row}`table_name`: of its nodes, there are none"));
    assert_eq!(
        changed(&draft, &POINTSMAN_SHARD_NODES, "shard", Scalar::Int(5)),
        "pointsman_shard_nodes row schema_name='shop', table_name='orders', shard=1: `shard`: 1 is there, but 0 is not"
    );
    assert_eq!(
        changed(&draft, &POINTSMAN_SHARD_NODES, "table_name", text("other")).lines().next().unwrap(),
        "pointsman_shard_nodes row schema_name='shop', table_name='other', shard=0: `table_name`: \
         `pointsman_shard_tables` has no table shop.other"
    );
}

#[test]
fn what_is_wrong_with_a_file_names_its_line() {
    assert_eq!(
        problems("[shards]\ntabel = []\n"),
        "f:2: unknown setting `tabel` in `shards`; did you mean `table`?"
    );
    let nodes = "[[shards.table]]\nschema = 's'\ntable = 't'\nkey = 'k'\nfunction = 'mod'\nnodes = ";
    assert_eq!(problems(&format!("{nodes}'s.t'\n")), "f:6: `nodes`: s.t is not `hostgroup/schema.table`");
    assert!(problems(&format!("{nodes}'${{'\n")).starts_with("f:6: `nodes`: "));
    assert_eq!(
        problems(&format!("{nodes}'${{1..2}}/s.t'\nbounds = [1]\n")),
        "f:1: `pointsman_shard_tables.arguments`: `bounds` is not known, so it cannot be kept"
    );
}

#[test]
fn hostgroups_of_nodes_without_a_server_are_warned_of() {
    let warnings = loaded(SHOP).warnings;
    let about = |hostgroup: u32| {
        let start = format!("f: hostgroup {hostgroup} has no server, and has nodes of ");
        warnings.iter().filter_map(|warning| warning.strip_prefix(&start)).collect::<Vec<_>>().join("")
    };
    assert!(
        about(1)
            .starts_with("`shop.currencies`, `shop.items`, `shop.orders`, `other tables of all schemas`: "),
        "{warnings:?}"
    );
    assert!(about(2).starts_with("`shop.items`, `shop.orders`: "), "{warnings:?}");
    let user = |hostgroup: u32| {
        let text = format!("{SHOP}[[mysql_users]]\nusername = 'u'\ndefault_hostgroup = {hostgroup}\n");
        loaded(&text)
            .warnings
            .iter()
            .any(|warning| warning.contains("of `u` is none of `pointsman_shard_homes`"))
    };
    assert_eq!((user(0), user(1)), (true, false));
    let served = "[[mysql_servers]]\nhostname = 'b'\nhostgroup = 1\n[[mysql_servers]]\nhostname = 'c'\nhostgroup = 2\n";
    assert!(!loaded(&format!("{SHOP}{served}")).warnings.iter().any(|warning| warning.contains("nodes of")));
}
