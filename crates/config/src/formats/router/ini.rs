//! The grammar: sections, options, comments.

use std::path::Path;

use crate::problem::Problem;

/// A section and its options.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Section<'a> {
    pub(super) name: &'a str,
    /// What is behind the colon; empty if there is none.
    pub(super) key: &'a str,
    pub(super) line: usize,
    options: Vec<Setting<'a>>,
}

/// An option.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Setting<'a> {
    /// In lower case.
    pub(super) name: String,
    pub(super) value: &'a str,
    pub(super) line: usize,
}

impl Section<'_> {
    /// As it stands in the file.
    pub(super) fn title(&self) -> String {
        match self.key {
            "" => format!("[{}]", self.name.escape_debug()),
            key => format!("[{}:{}]", self.name.escape_debug(), key.escape_debug()),
        }
    }
}

impl<'a> Section<'a> {
    /// Its options, in order.
    pub(super) fn settings(&self) -> &[Setting<'a>] {
        &self.options
    }

    /// The option called `name`.
    pub(super) fn get(&self, name: &str) -> Option<&Setting<'a>> {
        self.options.iter().find(|setting| setting.name == name)
    }
}

/// Reads all sections; what is wrong goes to `problems`.
pub(super) fn read<'a>(text: &'a str, file: &Path, problems: &mut Vec<Problem>) -> Vec<Section<'a>> {
    let mut sections: Vec<Section<'a>> = Vec::new();
    let mut problem = |line, message: String| problems.push(Problem::new(file, line, message));
    for (line, content) in (1..).zip(text.lines().map(str::trim)) {
        if content.is_empty() || content.starts_with(['#', ';']) {
            continue;
        }
        if let Some(rest) = content.strip_prefix('[') {
            let Some(inner) = rest.strip_suffix(']') else {
                problem(line, "a section ends with `]` at the end of its line".to_owned());
                continue;
            };
            let (name, key) = inner.split_once(':').unwrap_or((inner, ""));
            // Names of sections have no case, as in MySQL Router; the one in capitals is written so
            // everywhere.
            let name = if name.eq_ignore_ascii_case("default") { "DEFAULT" } else { name };
            if let Some(first) = sections.iter().find(|section| (section.name, section.key) == (name, key)) {
                let message = format!("{} stands twice, first on line {}", first.title(), first.line);
                problem(line, message);
            }
            sections.push(Section { name, key, line, options: Vec::new() });
            continue;
        }
        let Some((name, value)) = content.split_once(['=', ':']) else {
            problem(line, "expected `name = value` or `[section]`".to_owned());
            continue;
        };
        let Some(section) = sections.last_mut() else {
            problem(line, "options stand behind a `[section]`".to_owned());
            continue;
        };
        let setting = Setting { name: name.trim().to_ascii_lowercase(), value: value.trim(), line };
        if let Some(first) = section.get(&setting.name) {
            let message = format!(
                "`{}` in {} is set twice, first on line {}",
                setting.name.escape_debug(),
                section.title(),
                first.line
            );
            problem(line, message);
        }
        section.options.push(setting);
    }
    sections
}
