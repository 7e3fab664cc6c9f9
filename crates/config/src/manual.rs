//! What the definitions say to people: the reference in the manual, and the example file.

use std::fmt::{self, Write as _};

use crate::schema::{Field, Kind, Null, Preset, SECTIONS, Section, Shape, TOP_LEVEL, Unit};

/// Widest line of the example file, in characters.
const WIDTH_CHARS: usize = 100;

/// The reference of all settings, in Markdown: a table for every section that does something, then
/// the settings that are accepted without effect so far.
pub fn reference() -> String {
    let mut out = String::new();
    for section in SECTIONS.iter().filter(|section| section.built()) {
        put(&mut out, format_args!("### `{}`\n\n{}\n\n", section.name, section.doc));
        table(&mut out, section.fields().filter(|field| field.built));
    }
    superseded(&mut out);
    out.push_str("## Accepted, but without effect so far\n\n");
    let top = std::iter::once(&TOP_LEVEL);
    for section in top.chain(SECTIONS.iter().copied()) {
        if section.name.is_empty() {
            out.push_str("### Outside of every section\n\n");
        } else if section.built() && section.fields().all(|field| field.built || field.superseded.is_some()) {
            continue;
        } else {
            put(
                &mut out,
                format_args!("### `{}`{}\n\n", section.name, if section.built() { ", the rest" } else { "" }),
            );
        }
        if !section.built() {
            put(&mut out, format_args!("{}\n\n", section.doc));
        }
        if section.shape != Shape::Open {
            table(&mut out, section.fields().filter(|field| !field.built && field.superseded.is_none()));
        }
        if !section.removed.is_empty() {
            let names = section.removed.join("`, `");
            put(&mut out, format_args!("Of former versions of ProxySQL, and ignored: `{names}`.\n\n"));
        }
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// The settings of which the purpose is achieved without them, and how.
fn superseded(out: &mut String) {
    out.push_str("## Accepted, and not needed\n\n");
    out.push_str("What these are for is so whatever they say.\n\n| name | instead |\n|---|---|\n");
    for section in SECTIONS {
        for field in section.fields() {
            if let Some(by) = field.superseded {
                put(out, format_args!("| `{}{}` | {by} |\n", section.prefix.unwrap_or_default(), field.name));
            }
        }
    }
    out.push('\n');
}

/// Appends `text`.
fn put(out: &mut String, text: fmt::Arguments<'_>) {
    // A `String` takes everything.
    let _ = out.write_fmt(text);
}

/// A table of settings.
fn table(out: &mut String, fields: impl Iterator<Item = &'static Field>) {
    out.push_str("| name | value | default | meaning |\n|---|---|---|---|\n");
    for field in fields {
        let alias = field.alias.map_or_else(String::new, |alias| format!(" or `{alias}`"));
        let (value, preset) = (value(field).replace('|', "\\|"), preset(field));
        put(out, format_args!("| `{}`{alias} | {value} | {preset} | {} |\n", field.name, field.doc));
    }
    out.push('\n');
}

/// Which values a setting takes.
fn value(field: &Field) -> String {
    match field.kind {
        Kind::Bool => "true or false".to_owned(),
        Kind::Int { min: i64::MIN, .. } => "number".to_owned(),
        Kind::Int { min, max: i64::MAX, unit } => with_unit(format!("{min} or more"), unit),
        Kind::Int { min, max, unit } => with_unit(format!("{min} to {max}"), unit),
        Kind::Text => "text".to_owned(),
        Kind::Json | Kind::UserAttributes | Kind::HostgroupSettings => "JSON".to_owned(),
        Kind::Choice(of) => format!("`{}`", of.join("`, `")),
        Kind::Address => "address".to_owned(),
        Kind::Addresses => "addresses".to_owned(),
        Kind::Networks => "networks".to_owned(),
        Kind::Password => "password".to_owned(),
        Kind::Credentials => "accounts".to_owned(),
    }
}

fn with_unit(number: String, unit: Unit) -> String {
    if unit == Unit::None { number } else { format!("{number} {}", unit.symbol()) }
}

/// The default of a setting.
fn preset(field: &Field) -> String {
    let ours = match field.preset {
        Preset::Required => "must be given".to_owned(),
        Preset::Null => "none".to_owned(),
        Preset::Text("") => "empty".to_owned(),
        Preset::Text(text) => format!("`{text}`"),
        Preset::Bool(value) => value.to_string(),
        Preset::Int(value) => value.to_string(),
        Preset::Cores => "number of cores".to_owned(),
    };
    match field.proxysql_preset {
        None => ours,
        Some(theirs) => format!("{ours} (ProxySQL: {theirs})"),
    }
}

/// The example file, `pointsman.example.toml`: every setting that does something, with its meaning
/// and its default.
pub fn example() -> String {
    let mut out = String::from(
        "# An example for Pointsman: `pointsman serve --config FILE`, `pointsman check --config FILE`.\n\
         # A name that does not exist and a value that cannot be are errors. Lines that start with `#name =`\n\
         # show defaults; lines without `#` are examples. The manual explains the rest.\n",
    );
    for section in SECTIONS.iter().filter(|section| section.built()) {
        out.push('\n');
        comment(&mut out, section.doc);
        if section.shape == Shape::Group {
            example_fields(&mut out, section, section.examples.first().copied().unwrap_or_default());
        }
        for (index, row) in section.examples.iter().enumerate().filter(|_| section.shape == Shape::Rows) {
            if index == 0 {
                example_fields(&mut out, section, row);
            } else {
                put(&mut out, format_args!("\n[[{}]]\n", section.name));
                row.iter().for_each(|(name, value)| put(&mut out, format_args!("{name} = {value}\n")));
            }
        }
    }
    out
}

/// All fields of a section, with the values of `given` or their defaults.
fn example_fields(out: &mut String, section: &Section, given: &[(&str, &str)]) {
    let header = if section.shape == Shape::Group { ["[", "]"] } else { ["[[", "]]"] };
    put(out, format_args!("{}{}{}\n", header[0], section.name, header[1]));
    for field in section.fields().filter(|field| field.built) {
        let example = given.iter().find(|(name, _)| *name == field.name);
        let default = if field.preset == Preset::Required { "" } else { "default " };
        comment(out, &format!("{} [{}; {default}{}]", field.doc, value(field), preset(field)));
        match (example, field.preset) {
            (Some((name, value)), _) => put(out, format_args!("{name} = {value}\n")),
            (None, Preset::Text(text)) => put(out, format_args!("#{} = \"{text}\"\n", field.name)),
            (None, Preset::Bool(value)) => put(out, format_args!("#{} = {value}\n", field.name)),
            (None, Preset::Int(value)) => put(out, format_args!("#{} = {value}\n", field.name)),
            // Nothing that could be written means none.
            (None, Preset::Null)
                if field.null == Null::UnlikeEmpty
                    || matches!(field.kind, Kind::Int { .. } | Kind::Bool | Kind::Choice(_)) =>
            {
                put(out, format_args!("# {} = ...\n", field.name));
            }
            (None, Preset::Null | Preset::Required) => put(out, format_args!("#{} = \"\"\n", field.name)),
            (None, Preset::Cores) => put(out, format_args!("#{} = 4\n", field.name)),
        }
    }
}

/// Appends a comment, in lines of at most [`WIDTH_CHARS`].
fn comment(out: &mut String, text: &str) {
    let mut line = String::from("#");
    for word in text.split(' ') {
        if line.chars().count() + 1 + word.chars().count() > WIDTH_CHARS {
            out.push_str(&line);
            out.push('\n');
            line = String::from("#");
        }
        line.push(' ');
        line.push_str(word);
    }
    out.push_str(&line);
    out.push('\n');
}
