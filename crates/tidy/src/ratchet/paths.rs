//! Paths in code: `a::b::C`, each branch of `use a::{b, c}` on its own.

use crate::tokens::{Kind, Token, close_of, parts};

/// A path of at least two names, or of one before `::*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Path {
    /// The inline modules of the file in which the path stands.
    pub(crate) within: Vec<String>,
    pub(crate) names: Vec<String>,
}

/// All paths of a file. `pub(in a::b)` is none: a visibility uses nothing.
pub(crate) fn paths(tokens: &[Token]) -> Vec<Path> {
    let mut found = Vec::new();
    walk(tokens, &mut Vec::new(), &mut found);
    found
}

fn walk(tokens: &[Token], within: &mut Vec<String>, found: &mut Vec<Path>) {
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let mut next = at + 1;
        match (token.word(), &tokens[next..]) {
            (Some("mod"), [name, open, ..]) if open.kind == Kind::Open('{') => {
                next = close_of(tokens, at + 2);
                within.extend(name.word().map(str::to_owned));
                walk(&tokens[at + 3..next], within, found);
                within.pop();
            }
            (Some("pub"), rest) => next += visibility(rest),
            (Some(_), [first, second, ..]) if is_colon(first) && is_colon(second) => {
                next = path(tokens, at, &[], &mut |names| {
                    found.push(Path { within: within.clone(), names: names.to_vec() });
                });
            }
            _ => {}
        }
        at = next;
    }
}

/// How many tokens behind `pub` belong to it: `(crate)`, `(in a::b)`. Those of a field of a tuple
/// struct do not.
fn visibility(rest: &[Token]) -> usize {
    if rest.first().is_none_or(|first| first.kind != Kind::Open('(')) {
        return 0;
    }
    let close = close_of(rest, 0);
    let belongs = close == 2 || rest.get(1).is_some_and(|first| first.is_word("in"));
    if belongs { close + 1 } else { 0 }
}

/// Reports the paths that begin at `at` behind `prefix`, and returns the index behind them.
fn path(tokens: &[Token], at: usize, prefix: &[String], report: &mut dyn FnMut(&[String])) -> usize {
    let mut names = prefix.to_vec();
    let mut next = at;
    loop {
        match tokens.get(next).map(|token| &token.kind) {
            Some(Kind::Word(name)) => {
                names.push(name.clone());
                next += 1;
            }
            Some(Kind::Open('{')) if next > at => {
                let close = close_of(tokens, next);
                branches(&tokens[next + 1..close], &names, report);
                return close + 1;
            }
            _ => break,
        }
        let follows = [next, next + 1].iter().all(|at| tokens.get(*at).is_some_and(is_colon));
        if !follows {
            break;
        }
        next += 2;
    }
    // `super::*` is a path of one name.
    let is_glob = tokens.get(next).is_some_and(|token| token.kind == Kind::Mark('*'));
    if names.len() > 1 || is_glob && next > at + 1 {
        report(&names);
    }
    next
}

/// Reports the branches of the braces of a `use`.
fn branches(tokens: &[Token], prefix: &[String], report: &mut dyn FnMut(&[String])) {
    for branch in parts(tokens) {
        if branch.first().is_some_and(|first| first.word().is_some()) {
            path(branch, 0, prefix, report);
        } else if !branch.is_empty() && prefix.len() > 1 {
            report(prefix);
        }
    }
}

fn is_colon(token: &Token) -> bool {
    token.kind == Kind::Mark(':')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::list;

    fn found(text: &str) -> Vec<String> {
        let shown = |path: &Path| [path.within.join("/"), path.names.join("::")].join(" ").trim().to_owned();
        paths(&list(text.parse().unwrap())).iter().map(shown).collect()
    }

    #[test]
    fn each_branch_of_a_use_is_a_path() {
        assert_eq!(found("use a::{b, c::{D, self}, e as f};"), ["a::b", "a::c::D", "a::c::self", "a::e"]);
        assert_eq!(found("use super::super::a::*;"), ["super::super::a"]);
        assert_eq!(found("use super::*; fn f() { super * 2 }"), ["super"]);
    }

    #[test]
    fn paths_stand_in_types_calls_and_macros() {
        assert_eq!(
            found("fn f(a: Box<crate::A>) { b::c::<D>(e); m!(self::g) }"),
            ["crate::A", "b::c", "self::g"]
        );
        assert_eq!(found("// a::b\nfn f() { \"a::b\"; }"), Vec::<String>::new());
    }

    #[test]
    fn inline_modules_are_named_and_visibilities_are_no_paths() {
        assert_eq!(found("mod a { mod b { use c::d; } }"), ["a/b c::d"]);
        assert_eq!(found("pub(in crate::a) fn f() {} struct S(pub (crate::B));"), ["crate::B"]);
    }
}
