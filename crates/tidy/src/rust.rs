//! Checks of one Rust file.

use crate::finding::{Finding, Rule};
use crate::items::{Function, Items};
use crate::page::COLUMNS_MAX;
use crate::tokens::{Kind, Token, close_of, parts};
use crate::words::{Clean, banned_in, pronouns_in};

/// Lines that a function may have.
const FUNCTION_LINES_MAX: usize = 70;

/// Lines that a file may have.
const FILE_LINES_MAX: usize = 500;

/// Findings in the file `text` at `path`, a path below the repository's root, with its tokens.
pub(crate) fn check(path: &str, text: &str, tokens: &[Token], clean: &mut Clean) -> Vec<Finding> {
    let mut found = Found { path, findings: Vec::new() };
    let lines = text.lines().count();
    if lines > FILE_LINES_MAX {
        found.add(Rule::File, 0, format!("{lines} lines; at most {FILE_LINES_MAX}"));
    }
    for (word, instead) in path.split('/').flat_map(banned_in) {
        found.add(Rule::Word, 0, format!("file name has \"{word}\"; say {instead}"));
    }
    for (n, line) in text.lines().enumerate() {
        found.comment(n + 1, line);
    }
    found.functions(tokens);
    found.attributes(tokens);
    found.logs(tokens);
    found.identifiers(tokens, clean);
    found.findings
}

struct Found<'a> {
    path: &'a str,
    findings: Vec<Finding>,
}

impl Found<'_> {
    fn add(&mut self, rule: Rule, line: usize, text: String) {
        self.findings.push(Finding { rule, path: self.path.to_owned(), line, text });
    }

    fn comment(&mut self, n: usize, line: &str) {
        if !line.trim_start().starts_with("//") {
            return;
        }
        let columns = line.chars().count();
        if columns > COLUMNS_MAX {
            self.add(Rule::Comment, n, format!("{columns} columns; wrap at {COLUMNS_MAX}"));
        }
        for pronoun in pronouns_in(line) {
            self.add(Rule::Pronoun, n, format!("\"{pronoun}\": name the thing that is meant"));
        }
    }

    fn identifiers(&mut self, tokens: &[Token], clean: &mut Clean) {
        for (name, line) in tokens.iter().filter_map(|token| Some((token.word()?, token.line))) {
            for (word, instead) in clean.banned_in(name) {
                self.add(Rule::Word, line, format!("{name} has \"{word}\"; say {instead}"));
            }
        }
    }

    fn functions(&mut self, tokens: &[Token]) {
        for Function { name, lines: (first, last), .. } in Items::of(tokens).functions {
            let lines = (last + 1).saturating_sub(first);
            if lines > FUNCTION_LINES_MAX {
                self.add(
                    Rule::Function,
                    first,
                    format!("{name} has {lines} lines; at most {FUNCTION_LINES_MAX}"),
                );
            }
        }
    }

    fn attributes(&mut self, tokens: &[Token]) {
        for (at, token) in tokens.iter().enumerate() {
            let [open, name, rest @ ..] = tokens.get(at + 1..).unwrap_or_default() else {
                return;
            };
            if token.kind != Kind::Mark('#') || open.kind != Kind::Open('[') {
                continue;
            }
            let is_without = match name.word() {
                Some("ignore") => rest.first().is_some_and(|next| next.kind == Kind::Close),
                Some("expect") => !rest[..close_of(rest, 0)].iter().any(|token| token.is_word("reason")),
                _ => false,
            };
            if is_without {
                self.add(Rule::Reason, token.line, "an attribute without its reason".to_owned());
            }
        }
    }

    fn logs(&mut self, tokens: &[Token]) {
        for (at, token) in tokens.iter().enumerate() {
            let [colons @ .., mark, open] = tokens.get(at + 1..at + 6).unwrap_or_default() else {
                continue;
            };
            let is_log = token.is_word("tracing")
                && colons[..2].iter().all(|colon| colon.kind == Kind::Mark(':'))
                && (&mark.kind, &open.kind) == (&Kind::Mark('!'), &Kind::Open('('));
            if is_log && has_debug(&tokens[at + 6..close_of(tokens, at + 5)]) {
                let text = "a log line with Rust's Debug form; say it in words".to_owned();
                self.add(Rule::Debug, token.line, text);
            }
        }
    }
}

/// Whether the arguments of a log macro have a field `?field` or a format `{field:?}`.
fn has_debug(arguments: &[Token]) -> bool {
    parts(arguments).into_iter().any(|argument| {
        let sign = argument.iter().position(|token| token.kind == Kind::Mark('='));
        match &argument[sign.map_or(0, |sign| sign + 1)..] {
            [Token { kind: Kind::Mark('?'), .. }, ..] => true,
            [Token { kind: Kind::Literal(text), .. }] => text.contains(":?}"),
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::list;

    fn found(path: &str, text: &str) -> Vec<Finding> {
        check(path, text, &list(text.parse().unwrap()), &mut Clean::default())
    }

    fn rules(text: &str) -> Vec<(Rule, usize)> {
        found("crates/a/src/b.rs", text).iter().map(|one| (one.rule, one.line)).collect()
    }

    #[test]
    fn a_tidy_file_has_no_findings() {
        let text = "//! Frames.\n\n/// Length.\n#[expect(dead_code, reason = \"shown\")]\nfn len() {}\n";
        assert_eq!(rules(text), []);
    }

    #[test]
    fn long_comments_and_pronouns_are_found() {
        assert_eq!(rules(&format!("// {}\n", "word ".repeat(20))), [(Rule::Comment, 1)]);
        assert_eq!(rules("fn f() {\n    // Whoever waits.\n}\n"), [(Rule::Pronoun, 2)]);
        let code = format!("const A: &str = \"{}\";\n", "a".repeat(120));
        assert_eq!(rules(&code), [], "rustfmt has its own limit");
    }

    #[test]
    fn banned_words_are_found_in_identifiers_and_file_names() {
        assert_eq!(rules("fn board(train: u8) -> u8 { train }\n"), [(Rule::Word, 1), (Rule::Word, 1)]);
        let found = found("crates/a/src/train.rs", "//! Batches.\n");
        assert_eq!((found[0].rule, found[0].line), (Rule::Word, 0));
    }

    #[test]
    fn functions_and_files_have_their_limits() {
        let body = "    let _ = 1;\n".repeat(70);
        assert_eq!(rules(&format!("fn f() {{\n{body}}}\n")), [(Rule::Function, 1)]);
        assert_eq!(rules(&format!("struct A;\nimpl A {{\nfn f() {{\n{body}}}\n}}\n")), [(Rule::Function, 3)]);
        assert_eq!(rules(&"const _: () = ();\n".repeat(501)), [(Rule::File, 0)]);
    }

    #[test]
    fn log_lines_have_no_debug_forms() {
        for log in ["tracing::info!(a.b = ?kind, \"lost\")", "tracing::warn!(%a, b = ?kind, \"lost\")"] {
            assert_eq!(rules(&format!("fn f() {{\n    {log};\n}}\n")), [(Rule::Debug, 2)], "{log}");
        }
        assert_eq!(rules("fn f() {\n    tracing::info!(\"{kind:?}\");\n}\n"), [(Rule::Debug, 2)]);
        let fine = "fn f() -> Option<()> {\n    tracing::info!(%kind, at = at()?, \"lost?\");\n    None\n}\n";
        assert_eq!(rules(fine), []);
    }

    #[test]
    fn attributes_have_reasons() {
        assert_eq!(rules("#[expect(dead_code)]\nfn f() {}\n"), [(Rule::Reason, 1)]);
        assert_eq!(rules("#[test]\n#[ignore]\nfn f() {}\n"), [(Rule::Reason, 2)]);
        assert_eq!(rules("#[test]\n#[ignore = \"slow\"]\nfn f() {}\n"), []);
    }
}
