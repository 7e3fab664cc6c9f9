//! Checks of one page of Markdown.

use crate::finding::{Finding, Rule};
use crate::words::pronouns_in;

/// Columns that a line of prose may have.
pub(crate) const COLUMNS_MAX: usize = 100;

/// A page that a program writes: its lines are what the program makes of definitions.
fn is_generated(text: &str) -> bool {
    text.lines().take(5).any(|line| line.contains("generated") || line.contains("POINTSMAN_WRITE_DOCS"))
}

/// Findings in the page `text` at `path`. Tables, code and generated pages may have long lines.
pub(crate) fn check(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut in_code = false;
    let generated = is_generated(text);
    for (n, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
            continue;
        }
        let is_code = in_code || line.starts_with("    ") && !line.trim_start().starts_with(['-', '*']);
        if is_code {
            continue;
        }
        let mut add = |rule, text| findings.push(Finding { rule, path: path.to_owned(), line: n + 1, text });
        let columns = line.chars().count();
        // A single link that does not fit cannot be wrapped.
        let is_one_word = !line.trim().contains(' ');
        if columns > COLUMNS_MAX && !line.trim_start().starts_with('|') && !is_one_word && !generated {
            add(Rule::Page, format!("{columns} columns; wrap at {COLUMNS_MAX}"));
        }
        for pronoun in pronouns_in(line) {
            add(Rule::Pronoun, format!("\"{pronoun}\": name the session, client, server or connection"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(text: &str) -> Vec<(Rule, usize)> {
        check("p.md", text).iter().map(|finding| (finding.rule, finding.line)).collect()
    }

    #[test]
    fn prose_is_wrapped_and_tables_and_code_are_not() {
        let long = "word ".repeat(21);
        assert_eq!(rules(&format!("# T\n\n{long}\n")), [(Rule::Page, 3)]);
        assert_eq!(rules(&format!("| {long} |\n    {long}\n```\n{long}\n```\n")), []);
        assert_eq!(rules(&format!("{}\n", "x".repeat(150))), []);
        assert_eq!(rules(&format!("<!-- generated -->\n{long}\n")), []);
    }

    #[test]
    fn pronouns_are_counted_outside_of_code() {
        assert_eq!(rules("Nobody waits.\n\n    nobody\n"), [(Rule::Pronoun, 1)]);
    }
}
