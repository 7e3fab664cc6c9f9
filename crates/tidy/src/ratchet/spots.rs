//! Spots that have to go: shared locks, pipes in memory, sessions within sessions. Also counts the
//! fields of `Session`.

use super::mention::{Imports, Mention};
use super::paths::Path;
use crate::items::Items;
use crate::tokens::{Kind, Token};

/// What one file has.
#[derive(Debug, Default)]
pub(crate) struct Spots {
    /// Lines with `Arc<Mutex<`.
    pub(crate) locks: Vec<usize>,
    /// Paths through `memory` of `sock`.
    pub(crate) pipes: Vec<String>,
    /// Types named `Session` that fields hold.
    held: Vec<Mention>,
    /// Fields of a type of that name.
    pub(crate) session_fields: usize,
}

impl Spots {
    /// Reads a file but for its pipes.
    pub(crate) fn of(tokens: &[Token], items: &Items<'_>, imports: &Imports) -> Self {
        let mut spots = Self::default();
        for (at, token) in tokens.iter().enumerate() {
            if token.is_word("Arc") && is_of_mutex(&tokens[at + 1..]) {
                spots.locks.push(token.line);
            }
        }
        for kind in &items.types {
            let held = kind.fields.iter().filter_map(|field| {
                let is_held = |mention: &Mention| mention.name == "Session" && mention.is_owned;
                imports.mentions(field, &[]).into_iter().find(is_held)
            });
            spots.held.extend(held);
            if kind.name == "Session" {
                spots.session_fields = kind.fields.len();
            }
        }
        spots
    }
}

impl Spots {
    /// What makes sessions within sessions in a file of the crate `own`: fields that hold a
    /// `Session`, but one of the crates `others`.
    pub(crate) fn inner(&self, own: &str, others: &[&str]) -> Vec<String> {
        let fields = self.held.iter().filter(|mention| mention.package(own, others).is_none());
        fields.map(|_| "a field that holds a Session".to_owned()).collect()
    }
}

/// Paths through `memory` of `sock`.
pub(crate) fn pipes(paths: &[Path]) -> Vec<String> {
    let is_pipe = |path: &&Path| path.names.windows(2).any(|pair| pair == ["sock", "memory"]);
    paths.iter().filter(is_pipe).map(|path| path.names.join("::")).collect()
}

/// Whether the tokens begin with `<Mutex<`, with or without a path before the name.
fn is_of_mutex(tokens: &[Token]) -> bool {
    let [first, rest @ ..] = tokens else {
        return false;
    };
    let is_path = |token: &&Token| token.word().is_some() || token.kind == Kind::Mark(':');
    let last = rest.iter().take_while(is_path).last();
    first.kind == Kind::Mark('<') && last.is_some_and(|last| last.is_word("Mutex"))
}

#[cfg(test)]
mod tests {
    use super::super::source::sources;
    use super::*;

    fn spots(path: &str, text: &str) -> Spots {
        sources(&[(path, text)]).remove(0).spots
    }

    #[test]
    fn shared_locks_are_found_in_types() {
        let text = "struct A {\n    a: Arc<Mutex<u8>>,\n    b: Option<Arc<std::sync::Mutex<u8>>>,\n    c: Arc<Vec<Mutex<u8>>>,\n}";
        assert_eq!(spots("crates/proxy/src/a.rs", text).locks, [2, 3]);
        assert_eq!(
            spots("crates/proxy/src/a.rs", "// Arc<Mutex<u8>>\n#[cfg(test)]\ntype A = Arc<Mutex<u8>>;").locks,
            []
        );
    }

    #[test]
    fn pipes_are_found_outside_of_the_feature() {
        let pipes = |text: &str| spots("crates/proxy/src/a.rs", text).pipes.len();
        assert_eq!(pipes("use net::sock::memory::{End, pair};"), 2);
        assert_eq!(pipes("use net::{sock::{self, memory}};\nfn f() { sock::memory::pair() }"), 2);
        assert_eq!(
            pipes(
                "#[cfg(feature = \"memory\")]\nuse net::sock::memory;\n#[cfg(test)]\nuse net::sock::memory;"
            ),
            0
        );
        let read = sources(&[
            ("crates/proxy/src/lib.rs", "#[cfg(feature = \"memory\")]\nmod stage;"),
            ("crates/proxy/src/stage.rs", "use net::sock::memory;"),
        ]);
        assert!(read[1].spots.pipes.is_empty());
    }

    #[test]
    fn sessions_within_sessions_are_found() {
        let inner = |text: &str| spots("crates/proxy/src/a.rs", text).inner("proxy", &["route"]).len();
        assert_eq!(inner("struct Inner { session: Box<Session> }"), 1);
        assert_eq!(inner("use super::Session;\nenum A { B(Session) }"), 1);
        assert_eq!(inner("use route::Session;\nstruct A { b: Session, c: route::Session }"), 0);
        assert_eq!(inner("struct A<'a> { b: &'a mut Session }\nenum B { Session { c: u8 } }"), 0);
    }

    #[test]
    fn fields_of_a_session_are_counted() {
        assert_eq!(spots("crates/proxy/src/a.rs", "struct Session { a: u8, b: u8 }").session_fields, 2);
    }
}
