//! Kinds of figures with their goals, and figures.

/// A kind of figure: of the whole code, or one for each crate or type.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    /// The most that the figure may be where the file of ratchets has no line for it.
    pub(crate) goal: usize,
    pub(crate) about: &'static str,
    pub(crate) advice: &'static str,
}

/// All kinds, in the order of the file of ratchets.
pub(crate) const KINDS: &[Kind] = &[
    Kind {
        name: "circle",
        goal: 5,
        about: "files of a crate in its largest circle of imports",
        advice: "move the imported name into a file below both, or take the part that is used as an argument",
    },
    Kind {
        name: "methods",
        goal: 90,
        about: "functions of a type in all `impl` blocks, and bodies of traits",
        advice: "move the method to the part of the type that it uses, or make it a function of that part",
    },
    Kind {
        name: "wide",
        goal: 150,
        about: "functions over wide types: types with four or more parts of a session",
        advice: "take the parts that the function uses, at most three, in place of the whole",
    },
    Kind {
        name: "wide-outside-stages",
        goal: 40,
        about: "the same outside of folders `stage`",
        advice: "take the parts that the function uses, at most three, or make it part of a stage",
    },
    Kind {
        name: "lines",
        goal: 13_000,
        about: "production lines of a crate",
        advice: "delete what is done twice, or move a concept to the crate that it belongs to",
    },
    Kind {
        name: "data-plane-lines",
        goal: 56_400,
        about: "production lines of the data plane (all crates but a list)",
        advice: "delete what is done twice",
    },
    Kind {
        name: "words",
        goal: 0,
        about: "banned words in identifiers and file names, known ones included",
        advice: "use the word that `tidy` names",
    },
    Kind {
        name: "pronouns",
        goal: 0,
        about: "pronouns in comments and Markdown, known ones included",
        advice: "name the session, client, server or connection",
    },
    Kind {
        name: "shared-locks",
        goal: 0,
        about: "`Arc<Mutex<` in the data plane",
        advice: "send a message to the owner, or keep the value in one worker",
    },
    Kind {
        name: "memory-pipes",
        goal: 0,
        about: "paths through `memory` of `sock`, but under the feature of that name",
        advice: "pass bytes or values; sockets in memory are for tests",
    },
    Kind {
        name: "inner-sessions",
        goal: 0,
        about: "fields that hold a `Session`",
        advice: "lease a link per place in place of a session within a session",
    },
    Kind {
        name: "session-fields",
        goal: 7,
        about: "fields of `Session`",
        advice: "put the field into the part that it belongs to",
    },
    Kind {
        name: "twins",
        goal: 0,
        about: "methods that decide for the fast way what another decides for the slow way",
        advice: "decide in the stage that acts, in one function",
    },
    Kind {
        name: "cells",
        goal: 0,
        about: "fields of the parts of a session with a `Cell` or `RefCell`",
        advice: "take `&mut` of the part",
    },
    Kind {
        name: "derefs",
        goal: 0,
        about: "types that are used as a part of a session by `Deref`",
        advice: "name the field, so that the use of the part can be seen",
    },
    Kind {
        name: "swaps",
        goal: 0,
        about: "`swap`, `replace` and `take` of the fields io, state and core of a session",
        advice: "give the function the part to work on in place of exchanging it",
    },
];

/// One figure of the code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Figure {
    pub(crate) kind: &'static Kind,
    /// The crate or the type; empty for a figure of the whole code.
    pub(crate) of: String,
    pub(crate) value: usize,
    /// What it counts, for messages: files, types, lines.
    pub(crate) parts: Vec<String>,
}

impl Figure {
    /// A figure of the kind `name`, one of [`KINDS`].
    pub(crate) fn new(name: &str, of: &str, value: usize, parts: Vec<String>) -> Option<Self> {
        let kind = KINDS.iter().find(|kind| kind.name == name)?;
        Some(Self { kind, of: of.to_owned(), value, parts })
    }

    /// The name in the file of ratchets: `circle proxy`.
    pub(crate) fn key(&self) -> String {
        format!("{} {}", self.kind.name, self.of).trim_end().to_owned()
    }
}
