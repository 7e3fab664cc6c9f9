//! The file formats, all read into one tree, and how they are told apart.

pub(crate) mod cnf;
mod router;
mod shard_rows;
mod shards;
mod toml;
pub(crate) mod yaml;

use std::path::Path;
use std::rc::Rc;

use crate::Strictness;
use crate::problem::Problem;
use crate::schema::Preset;
use crate::tree::Entry;

/// A file that was read, as far as its grammar allows.
#[derive(Debug)]
pub(crate) struct Parsed {
    /// The top level.
    pub(crate) root: Vec<Entry>,
    /// Where the grammar is broken. If anywhere, the root lacks what could not be read.
    pub(crate) problems: Vec<Problem>,
    /// What is accepted but deserves attention, and that the tree does not show.
    pub(crate) warnings: Vec<String>,
    /// Whether it is a file of another program, which may do without what it does not understand.
    pub(crate) is_foreign: bool,
    /// What its format has left out already.
    pub(crate) left_out: Vec<Problem>,
    /// Values that variables have where the file gives none: section, name, value.
    pub(crate) presets: &'static [(&'static str, &'static str, Preset)],
}

/// Reads `text` in the format that it is written in. MySQL Router's is known by its first section,
/// YAML by keys that others do not have.
/// Of the two others, what is valid in both (a few plain settings, or nothing) means the same in
/// both; what is broken in both is judged by its first lines that only one of them can have.
pub(crate) fn read(text: &str, origin: &Path, strictness: Strictness) -> Parsed {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let file: Rc<Path> = Rc::from(origin);
    if router::is_router(text) {
        return router::read(text, &file, strictness);
    }
    if let Some(program) = yaml::program(text) {
        return yaml::read(program, text, origin);
    }
    let mut parsed = own(text, origin, &file, strictness);
    parsed.root = shards::as_rows(parsed.root, &mut parsed.problems);
    parsed
}

/// Reads rows that [`Draft::sections_to_cnf`](crate::Draft::sections_to_cnf) has written.
pub(crate) fn read_own_rows(text: &str, origin: &Path) -> Parsed {
    cnf::read_own(text, &Rc::from(origin))
}

/// Reads a file in one of the two formats that all settings can be written in.
fn own(text: &str, origin: &Path, file: &Rc<Path>, strictness: Strictness) -> Parsed {
    let as_toml = toml::read(text, file);
    if as_toml.problems.is_empty() {
        // What is valid in both means the same in both, but for what a file does not say.
        let is_both = || cnf::read(text, file, strictness).problems.is_empty();
        let presets = if is_named_cnf(origin) && is_both() { cnf::PROXYSQL } else { as_toml.presets };
        return Parsed { presets, ..as_toml };
    }
    let as_cnf = cnf::read(text, file, strictness);
    if as_cnf.problems.is_empty() || !looks_like_toml(text, origin) { as_cnf } else { as_toml }
}

/// Whether the first line that only one format can have is one of TOML. Without such a line the
/// name of the file decides.
fn looks_like_toml(text: &str, origin: &Path) -> bool {
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if line.starts_with('[') {
            return true;
        }
        let after_name =
            line.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || "_-*".contains(c)).trim_start();
        let value = after_name.strip_prefix('=').map_or("", str::trim_start);
        if line.starts_with(['{', '}', '(', ')', '@', '/'])
            || line.ends_with([';', '{', '('])
            || after_name.starts_with(':')
            || value.starts_with('(')
        {
            return false;
        }
    }
    !is_named_cnf(origin)
}

fn is_named_cnf(origin: &Path) -> bool {
    origin.extension().is_some_and(|extension| extension == "cnf" || extension == "cfg")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_tells_the_format() {
        let toml = ["[mysql_variables]\nthreads = = 4", "# x: {\n\n [[mysql_servers]] x", "threads = "];
        let cnf = [
            "// x\nthreads = = 4",
            "mysql_variables:\n{ x",
            "mysql_servers =\n( [",
            "mysql_servers = (\n[[",
            "mysql_users=({username=u})",
            "datadir=\"/x\";\n[x",
            "@include \"nowhere\"",
        ];
        for text in toml {
            assert!(looks_like_toml(text, Path::new("x")), "{text}");
        }
        for text in cnf {
            assert!(!looks_like_toml(text, Path::new("x.toml")), "{text}");
        }
        assert!(!looks_like_toml("threads = ", Path::new("proxysql.cnf")));
    }
}
