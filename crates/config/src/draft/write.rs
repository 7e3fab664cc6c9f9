//! A draft as a configuration file in libconfig's grammar, which reads back to the same rows.

use std::fmt::{self, Write as _};

use super::Draft;
use crate::row::Row;
use crate::schema::{Preset, SECTIONS, Scalar, Section, Shape, TOP_LEVEL};
use crate::turns::in_turns;

impl Draft {
    /// The whole draft as the text of a `proxysql.cnf`.
    pub fn to_cnf(&self) -> String {
        let sections: Vec<_> = SECTIONS.iter().copied().chain([&TOP_LEVEL]).collect();
        self.sections_to_cnf(&sections)
    }

    /// Some sections of the draft as the text of a `proxysql.cnf`. Tables without rows are left
    /// out, and so are columns that are NULL by default.
    pub fn sections_to_cnf(&self, sections: &[&'static Section]) -> String {
        let mut out = String::new();
        for section in sections {
            let rows = self.rows(section);
            match (section.shape, rows) {
                (Shape::Open, _) | (_, []) => {}
                (Shape::Group, [row, ..]) if section.name.is_empty() => top_level(&mut out, row),
                (Shape::Group, [row, ..]) => {
                    put(&mut out, format_args!("{}=\n{{\n", section.name));
                    settings(&mut out, row, "\t");
                    out.push_str("}\n\n");
                }
                (Shape::Rows, rows) => {
                    put(&mut out, format_args!("{}=\n(\n", section.name));
                    for (index, row) in in_turns(rows).enumerate() {
                        out.push_str("\t{\n");
                        settings(&mut out, row, "\t\t");
                        out.push_str(if index + 1 < rows.len() { "\t},\n" } else { "\t}\n" });
                    }
                    out.push_str(")\n\n");
                }
            }
        }
        out
    }
}

/// Appends `text`.
fn put(out: &mut String, text: fmt::Arguments<'_>) {
    // A `String` takes everything.
    let _ = out.write_fmt(text);
}

/// What stands outside of every section, as far as it is not the default.
fn top_level(out: &mut String, row: &Row) {
    for (field, value) in row.section().fields().zip(row.cells()) {
        if field.preset.value().as_ref() != Some(value) {
            setting(out, field.name, value, "");
        }
    }
}

fn settings(out: &mut String, row: &Row, indent: &str) {
    for (field, value) in row.section().fields().zip(row.cells()) {
        // NULL has no word.
        let implied = *value == Scalar::Null && field.preset == Preset::Null;
        match value {
            _ if implied => {}
            // ProxySQL reads only numbers in rows.
            Scalar::Bool(value) if row.section().shape == Shape::Rows => {
                setting(out, field.name, &Scalar::Int((*value).into()), indent);
            }
            value => setting(out, field.name, value, indent),
        }
    }
}

fn setting(out: &mut String, name: &str, value: &Scalar, indent: &str) {
    out.push_str(indent);
    out.push_str(name);
    out.push('=');
    match value {
        Scalar::Null => out.push_str("\"\""),
        Scalar::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        // libconfig's plain numbers have 32 bits.
        Scalar::Int(value) if i32::try_from(*value).is_err() => put(out, format_args!("{value}L")),
        Scalar::Int(value) => put(out, format_args!("{value}")),
        Scalar::Text(text) => quoted(out, text),
    }
    out.push('\n');
}

/// Appends `text` as a string of libconfig.
fn quoted(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{c}' => out.push_str("\\f"),
            c if c.is_ascii_control() => put(out, format_args!("\\x{:02X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
}
