//! An explanation as JSON text.

use std::fmt::Write as _;

use super::{Explanation, Step};
use crate::destination::Destination;

impl Explanation {
    /// One object: `destination`, `hostgroup` (or null), `outputs` by column, `flagOUT`, and
    /// `steps` with the columns of [`rows`](Self::rows) as members.
    pub fn json(&self) -> String {
        let mut out = String::from("{");
        let [_, result, why] = Step::Destination(self.destination.clone()).row();
        member(&mut out, "destination", &result);
        out.push(',');
        member(&mut out, "reason", &why);
        let hostgroup = match &self.destination {
            Destination::Hostgroup { hostgroup, .. } => hostgroup.to_string(),
            _ => "null".to_owned(),
        };
        let _ =
            write!(out, ",\"hostgroup\":{hostgroup},\"flagOUT\":{},\"outputs\":{{", self.verdict.flag_out);
        for (at, (name, value)) in self.verdict.outputs().iter().enumerate() {
            comma(&mut out, at);
            member(&mut out, name, value);
        }
        out.push_str("},\"steps\":[");
        for (at, row) in self.rows().iter().enumerate() {
            comma(&mut out, at);
            out.push('{');
            for (column, (name, value)) in Self::COLUMNS.iter().zip(row).enumerate() {
                comma(&mut out, column);
                member(&mut out, name, value);
            }
            out.push('}');
        }
        out.push_str("]}");
        out
    }
}

fn comma(out: &mut String, at: usize) {
    if at > 0 {
        out.push(',');
    }
}

fn member(out: &mut String, name: &str, value: &str) {
    json_string(out, name);
    out.push(':');
    json_string(out, value);
}

/// Appends `text` as a JSON string.
pub fn json_string(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if control < ' ' => drop(write!(out, "\\u{:04x}", u32::from(control))),
            other => out.push(other),
        }
    }
    out.push('"');
}
