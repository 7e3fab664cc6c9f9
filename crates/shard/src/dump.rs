//! Layouts and imports as text, for listings and tests. Passwords are not shown.

use std::fmt;

use crate::layout::{Layout, Sequence, SequenceKind, Table, TableKind, Unique};
use crate::placement::{Function, Level};
use crate::read::{Audit, Imported, Server, Source, User};

impl fmt::Display for Layout {
    /// One line for each table, node, group, sequence and home.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for table in self.tables() {
            write!(f, "{table}")?;
        }
        for group in self.groups() {
            writeln!(f, "colocated in {}: {}", group.schema, group.tables.join(", "))?;
        }
        for Sequence { schema, table, column, kind } in self.sequences() {
            write!(f, "ids of {schema}.{table}.{column}: {}", kind.name())?;
            match kind {
                SequenceKind::Segment { step } => writeln!(f, "s of {step}")?,
                SequenceKind::Snowflake { worker, vibration } => {
                    writeln!(f, " of worker {worker}, vibration {vibration}")?;
                }
            }
        }
        for home in self.homes() {
            let schema = home.schema.as_deref().unwrap_or("any schema");
            write!(f, "other tables of {schema}: hostgroup {}", home.hostgroup)?;
            match &home.physical_schema {
                Some(physical) => writeln!(f, ", schema {physical}")?,
                None => writeln!(f)?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Imported {
    /// Address, sources, users, layouts, what goes with them, and what was left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((_, address)) = &self.address {
            writeln!(f, "address {address}")?;
        }
        for source in &self.sources {
            writeln!(f, "{source}")?;
        }
        for User { name, schemas, .. } in &self.users {
            let schemas = if schemas.is_empty() { "all schemas".to_owned() } else { schemas.join(", ") };
            writeln!(f, "user {name}: {schemas}")?;
        }
        for scope in &self.scopes {
            let users = if scope.users.is_empty() { "all users".to_owned() } else { scope.users.join(", ") };
            write!(f, "\nlayout of {users}\n{}", scope.layout)?;
        }
        for Audit { table, hint_lifts } in &self.audits {
            let but = if *hint_lifts { ", unless a hint lifts it" } else { "" };
            writeln!(f, "\n{}: only with a condition on the key{but}", table.join("."))?;
        }
        for problem in &self.left_out {
            writeln!(f, "left out: {problem}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "source {}: hostgroup {}", self.name, self.hostgroup)?;
        if let Some(reader) = self.reader_hostgroup {
            write!(f, ", readers {reader}")?;
        }
        if let Some(schema) = &self.schema {
            write!(f, ", schema {schema}")?;
        }
        write!(f, ", as {}", self.user)?;
        if let Some(most) = self.max_connections {
            write!(f, ", {most} connections")?;
        }
        if self.tls {
            write!(f, ", encrypted")?;
        }
        for Server { host, port, read_weight } in &self.servers {
            write!(f, "; {host}:{port}")?;
            if let Some(weight) = read_weight {
                write!(f, " reads with weight {weight}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}: ", self.schema, self.name)?;
        match &self.kind {
            TableKind::Sharded { key_columns, placement, unique, .. } => {
                write!(f, "sharded by ({})", key_columns.join(", "))?;
                f.write_str(if *unique == Unique::Unchecked { ", keys unchecked\n" } else { "\n" })?;
                for level in placement.levels() {
                    write_level(f, level, key_columns)?;
                }
            }
            TableKind::Reference { .. } => writeln!(f, "on all nodes")?,
            TableKind::Single { .. } => writeln!(f, "on one node")?,
        }
        for (number, node) in self.nodes().iter().enumerate() {
            writeln!(f, "  {number}: hostgroup {}, {}.{}", node.hostgroup, node.schema, node.table)?;
        }
        Ok(())
    }
}

/// A level, with the names of its columns.
fn write_level(f: &mut fmt::Formatter<'_>, level: &Level, key_columns: &[String]) -> fmt::Result {
    let names: Vec<&str> =
        level.columns.iter().filter_map(|at| key_columns.get(*at)).map(String::as_str).collect();
    let of = if names.is_empty() { "a hint".to_owned() } else { names.join(", ") };
    write!(f, "  by {} of {of}", level.function)?;
    if let Some(nodes) = &level.nodes {
        f.write_str(", nodes")?;
        for of in nodes {
            let of: Vec<String> = of.as_slice().iter().map(ToString::to_string).collect();
            write!(f, " [{}]", of.join(" "))?;
        }
    }
    writeln!(f)
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inline(inline) => write!(f, "inline `{}`", inline.template().source()),
            Self::Dates(dates) => write!(f, "{} into {}", dates.unit().name(), dates.numbers().len()),
            other => write!(f, "{} into {}", other.name(), other.shards()),
        }
    }
}
