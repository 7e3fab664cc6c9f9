//! The tables of sharded tables. ProxySQL has none of them.

use super::super::{COUNT, Section, Shape, choice, int, json, text};

/// Highest number of a node: one less than a table may have nodes.
const SHARD: (i64, i64) = (0, 16_383);

/// The table `pointsman_shard_tables`.
pub static POINTSMAN_SHARD_TABLES: Section = Section::new(
    "pointsman_shard_tables",
    Shape::Rows,
    &[&[
        text("schema_name", "", "schema that clients name").required().built(),
        text("table_name", "", "table that clients name").required().built(),
        choice(
            "kind",
            "sharded",
            &["sharded", "reference", "single"],
            "`sharded`: each row is on one node; `reference`: each node has all rows; `single`: there is one node",
        )
        .built(),
        text("key_columns", "", "of a sharded table: columns whose values decide, separated by commas").built(),
        text("function", "", "of a sharded table: the [placement function](shards.md#placement-functions)").built(),
        json("arguments", "of a sharded table: further settings of its function, a JSON object").built(),
        choice(
            "unique_keys",
            "checked",
            &["checked", "unchecked"],
            "`checked`: unique keys without the key columns and foreign keys that leave a shard are reported, and refused in statements \
             that make them; `unchecked`: the application keeps its values unique",
        )
        .built(),
        text("comment", "", "free text").built(),
    ]],
    "Tables whose rows are not all where the user's other tables are.",
)
.unique(&[&["schema_name", "table_name"]])
.examples(&[&[
    ("schema_name", "\"shop\""),
    ("table_name", "\"orders\""),
    ("key_columns", "\"user_id\""),
    ("function", "\"mod\""),
]]);

/// The table `pointsman_shard_nodes`.
pub static POINTSMAN_SHARD_NODES: Section = Section::new(
    "pointsman_shard_nodes",
    Shape::Rows,
    &[&[
        text("schema_name", "", "`schema_name` of the table in `pointsman_shard_tables`").required().built(),
        text("table_name", "", "its `table_name` there").required().built(),
        int("shard", 0, SHARD, "number of the node, from 0 without gaps").built(),
        int("hostgroup_id", 0, COUNT, "servers that have the node").built(),
        text("physical_schema", "", "schema at those servers; empty: `schema_name`").built(),
        text("physical_table", "", "table at those servers; empty: `table_name`").built(),
    ]],
    "Nodes of the tables of `pointsman_shard_tables`: tables at servers.",
)
.unique(&[&["schema_name", "table_name", "shard"]])
.examples(&[&[
    ("schema_name", "\"shop\""),
    ("table_name", "\"orders\""),
    ("shard", "0"),
    ("hostgroup_id", "0"),
]]);

/// The table `pointsman_shard_groups`.
pub static POINTSMAN_SHARD_GROUPS: Section = Section::new(
    "pointsman_shard_groups",
    Shape::Rows,
    &[&[
        text("schema_name", "", "`schema_name` of the table in `pointsman_shard_tables`").required().built(),
        text("group_name", "", "name of the group").required().built(),
        text("table_name", "", "sharded table of the group").required().built(),
    ]],
    "Colocated tables: rows with equal keys are at the same servers.",
)
.unique(&[&["schema_name", "group_name", "table_name"]])
.examples(&[]);

/// The table `pointsman_shard_sequences`.
pub static POINTSMAN_SHARD_SEQUENCES: Section = Section::new(
    "pointsman_shard_sequences",
    Shape::Rows,
    &[&[
        text("schema_name", "", "`schema_name` of the table in `pointsman_shard_tables`").required().built(),
        text("table_name", "", "its `table_name` there").required().built(),
        text("column_name", "", "column that gets an id where a row has none").required().built(),
        choice(
            "kind",
            "segment",
            &["segment", "snowflake"],
            "`segment`: a counter at the home of the schema gives so many ids at once; `snowflake`: ids are made of the time, the \
             number of the worker and a counter",
        )
        .built(),
        int("step", 0, (1, 1_000_000), "of a segment: ids that it has; NULL: 1000").null().built(),
        int("worker", 0, (0, 1_023), "with `snowflake`: number of this proxy, which no other proxy has").null().built(),
        int("vibration", 0, (0, 4_095), "with `snowflake`: largest counter with which a millisecond begins; NULL: 1023")
            .null()
            .built(),
    ]],
    "Columns of sharded and reference tables that get ids from the proxy.",
)
.unique(&[&["schema_name", "table_name"]])
.examples(&[]);

/// The table `pointsman_shard_homes`.
pub static POINTSMAN_SHARD_HOMES: Section = Section::new(
    "pointsman_shard_homes",
    Shape::Rows,
    &[&[
        text("schema_name", "", "schema that clients name; empty: every schema").built(),
        int("hostgroup_id", 0, COUNT, "servers that have the tables").built(),
        text("physical_schema", "", "schema at those servers; empty: the one that clients name").built(),
    ]],
    "Where tables are that `pointsman_shard_tables` does not name.",
)
.unique(&[&["schema_name", "hostgroup_id", "physical_schema"]])
.examples(&[]);
