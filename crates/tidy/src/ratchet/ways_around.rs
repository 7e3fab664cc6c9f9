//! Ways to keep the figures and the knot: predicates that exist twice, cells within parts of a
//! session, parts behind `Deref`, and parts that change places.

use super::mention::Imports;
use super::wide::part_of;
use crate::items::Items;
use crate::tokens::{Kind, Token, close_of, parts};

/// Functions that decide for the fast way what another one decides for the slow way.
const TWINS: &[&str] =
    &["comes_alone", "goes_on", "is_at", "is_here", "needs_only_a_connection", "points_here"];

/// Types whose functions of these names are meant: a session, and what a stage gets of one.
const DECIDING: &[&str] = &["Session", "Cx", "Lx"];

/// Types that are changed by their owners only: parts of a session, and the state of a link.
const OWNED: &[&str] = &["Core", "SessionState", "Link", "Linked", "LinkState", "Flight", "InFlight"];

/// Fields of a session that stay where they are.
const FIXED: &[&str] = &["core", "io", "state"];

/// What one file has, each with its place.
#[derive(Debug, Default)]
pub(crate) struct WaysAround {
    /// Functions of [`TWINS`].
    pub(crate) twins: Vec<String>,
    /// Fields of [`OWNED`] with a `Cell` or a `RefCell`.
    pub(crate) cells: Vec<String>,
    /// Types that are used as a part by `Deref`.
    pub(crate) derefs: Vec<String>,
    /// `swap`, `replace` and `take` of a field of [`FIXED`].
    pub(crate) swaps: Vec<String>,
}

impl WaysAround {
    /// Reads a file.
    pub(crate) fn of(tokens: &[Token], items: &Items<'_>, imports: &Imports) -> Self {
        let decides =
            |block: usize| items.blocks.get(block).is_some_and(|block| DECIDING.contains(&block.name));
        let twins = items
            .functions
            .iter()
            .filter(|function| TWINS.contains(&function.name) && function.block.is_some_and(decides));
        let owned = items.types.iter().filter(|kind| OWNED.contains(&kind.name));
        let cells = owned.flat_map(|kind| {
            let has_cell = |field: &&&[Token]| {
                field.iter().any(|token| ["Cell", "RefCell"].iter().any(|name| token.is_word(name)))
            };
            kind.fields.iter().filter(has_cell).map(|_| format!("a field of {}", kind.name))
        });
        let derefs = items.blocks.iter().filter(|block| {
            let target = block.body.iter().position(|token| token.is_word("Target"));
            let target = target.map(|at| &block.body[at + 1..]).unwrap_or_default();
            let target = target.split(|token| token.kind == Kind::Mark(';')).next().unwrap_or_default();
            let mut names = imports.mentions(target, &[block.generics]).into_iter();
            let is_other = |part: usize| part_of(block.name) != Some(part);
            block.of == Some("Deref") && names.any(|mention| part_of(&mention.name).is_some_and(is_other))
        });
        Self {
            twins: twins.map(|function| format!("{}: {}", function.lines.0, function.name)).collect(),
            cells: cells.collect(),
            derefs: derefs.map(|block| block.name.to_owned()).collect(),
            swaps: swaps(tokens),
        }
    }
}

/// Calls that put something else into the place of a field of [`FIXED`].
fn swaps(tokens: &[Token]) -> Vec<String> {
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let is_call = ["swap", "replace", "take"].iter().any(|name| token.is_word(name))
            && tokens.get(at + 1).is_some_and(|open| open.kind == Kind::Open('('));
        if !is_call {
            continue;
        }
        for argument in parts(&tokens[at + 2..close_of(tokens, at + 1)]) {
            if let [first, .., dot, field] = argument
                && (&first.kind, &dot.kind) == (&Kind::Mark('&'), &Kind::Mark('.'))
                && FIXED.iter().any(|name| field.is_word(name))
            {
                found.push(format!("{}: {}", field.line, field.word().unwrap_or_default()));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::source::sources;
    use super::*;

    fn ways(text: &str) -> WaysAround {
        sources(&[("crates/proxy/src/a.rs", text)]).remove(0).ways_around
    }

    #[test]
    fn twins_are_found_where_they_are_defined() {
        let text = "impl Session {\n    fn is_here(&self) -> bool { self.is_at() }\n    fn goes_on() {}\n}";
        assert_eq!(ways(text).twins, ["2: is_here", "3: goes_on"]);
        assert!(ways("impl Session { fn is_there() {} } impl A { fn is_at() {} }").twins.is_empty());
    }

    #[test]
    fn cells_are_found_in_parts_only() {
        let text =
            "struct SessionState { a: Cell<u8>, b: Rc<RefCell<u8>>, c: u8 } struct Other { d: Cell<u8> }";
        assert_eq!(ways(text).cells, ["a field of SessionState", "a field of SessionState"]);
    }

    #[test]
    fn types_behind_which_a_part_is_are_found() {
        let deref = |name: &str, target: &str| {
            let text = format!(
                "impl Deref for {name} {{ type Target = {target}; fn deref(&self) -> &{target} {{}} }}"
            );
            ways(&text).derefs
        };
        assert_eq!(deref("Cx<'_>", "Core"), ["Cx"]);
        assert!(deref("Flight", "Option<InFlight>").is_empty(), "a part in two types");
        assert!(deref("Cx<'_>", "Settings").is_empty());
    }

    #[test]
    fn fields_that_change_places_are_found() {
        let text = "fn f() {\n    mem::swap(&mut self.io, &mut inner.session.io);\n    take(&mut self.io.backlog);\n    take(io);\n}";
        assert_eq!(ways(text).swaps, ["2: io", "2: io"]);
        assert_eq!(ways("fn f() { std::mem::replace(&mut a.core, b) }").swaps, ["1: core"]);
    }
}
