//! Layouts from files: kingshard's, ShardingSphere's, and our own.
//!
//! All readers give the same model, or every reason why the file cannot be kept, with the line and
//! the key. Passwords are never in a message.

mod fields;
mod imported;
mod kingshard;
mod own;
mod problem;
mod sphere;
mod yaml;

pub use imported::{Audit, Imported, Scope, Secret, Server, Source, User};
pub use kingshard::kingshard;
pub use own::{own, own_form, own_tree};
pub use problem::{Place, Problem, Problems};
pub use sphere::sphere;
pub use yaml::{Node as YamlNode, Yaml, parse as parse_yaml};

/// What a file does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Hostgroup of the first data source. Each has two: for writing, and the next number for
    /// reading.
    pub first_hostgroup: u32,
    /// How far the clock of the other proxy was ahead of UTC: kingshard reads Unix times in its
    /// local zone. Zones with summer time have no such number.
    pub utc_offset_seconds: i32,
}

impl Default for Options {
    /// From hostgroup 0 on, in UTC.
    fn default() -> Self {
        Self { first_hostgroup: 0, utc_offset_seconds: 0 }
    }
}
