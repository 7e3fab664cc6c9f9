//! Functions over wide types. A type is wide that holds or borrows [`WIDE`] or more of the parts of
//! a session, by itself or through other types: a function over it may touch anything.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::mention::Mention;
use super::source::Source;

/// Parts of a session, each with the names of its types: the type of today, the one that replaces
/// it, and the one by which a stage borrows it.
const PARTS: &[&[&str]] = &[
    &["Io", "ClientIo"],
    &["SessionState", "Identity", "Core"],
    &["Links", "Held"],
    &["Flight", "InFlight", "Draft", "Leg"],
    &["Control"],
    &["Env", "View"],
    &["Worker"],
];

/// Parts that make a type wide.
const WIDE: usize = 4;

/// Names of parts in a type, by their indexes in [`PARTS`].
type Parts = BTreeSet<usize>;

/// The part of a session that a type is.
pub(crate) fn part_of(name: &str) -> Option<usize> {
    PARTS.iter().position(|names| names.contains(&name))
}

/// Functions over wide types.
#[derive(Debug, Default)]
pub(crate) struct Wide {
    pub(crate) all: usize,
    /// Those in files outside of folders `stage`.
    pub(crate) outside_stages: usize,
    /// Wide types, each with the number of its functions.
    pub(crate) types: BTreeMap<String, usize>,
}

/// Counts functions over wide types in the crates of `sources`. `packages` are the names of all
/// crates.
pub(crate) fn count(sources: &[&Source], packages: &[&str]) -> Wide {
    let types = Types::of(sources, packages);
    let mut wide = Wide::default();
    for source in sources {
        for arguments in &source.bundles.functions {
            let is_wide = |argument: &&Vec<Mention>| types.parts(&source.package, argument).len() >= WIDE;
            let Some(argument) = arguments.iter().find(is_wide) else {
                continue;
            };
            wide.all += 1;
            wide.outside_stages += usize::from(!source.path.split('/').any(|folder| folder == "stage"));
            let named =
                argument.iter().filter_map(|mention| Some((types.named(&source.package, mention)?, mention)));
            let widest = named.max_by_key(|((_, parts), _)| parts.len());
            let name = widest
                .map_or_else(String::new, |((package, _), mention)| format!("{package}::{}", mention.name));
            *wide.types.entry(name).or_default() += 1;
        }
    }
    wide
}

/// Types with the parts that they hold.
struct Types<'a> {
    packages: &'a [&'a str],
    /// By name, then by crate.
    named: HashMap<&'a str, BTreeMap<&'a str, Parts>>,
}

impl<'a> Types<'a> {
    fn of(sources: &[&'a Source], packages: &'a [&'a str]) -> Self {
        let mut types = Self { packages, named: HashMap::new() };
        let all = || {
            sources.iter().flat_map(|source| source.bundles.types.iter().map(|one| (&source.package, one)))
        };
        for (package, (name, _)) in all() {
            types.named.entry(name).or_default().entry(package).or_default();
        }
        // Parts reach the types that hold them through others, until nothing is added.
        loop {
            let mut grew = false;
            for (package, (name, mentions)) in all() {
                let more = types.parts(package, mentions);
                let Some(parts) =
                    types.named.get_mut(name.as_str()).and_then(|crates| crates.get_mut(package.as_str()))
                else {
                    continue;
                };
                grew |= !more.is_subset(parts);
                parts.extend(more);
            }
            if !grew {
                return types;
            }
        }
    }

    /// Parts that `mentions` name in a file of a crate. A part is one, whatever it holds.
    fn parts(&self, package: &str, mentions: &[Mention]) -> Parts {
        let mut parts = Parts::new();
        for mention in mentions {
            match part_of(&mention.name) {
                Some(part) => {
                    parts.insert(part);
                }
                None => parts.extend(self.named(package, mention).into_iter().flat_map(|(_, parts)| parts)),
            }
        }
        parts
    }

    /// The type that a mention means, with its crate: that which is named, else the own, else any.
    fn named(&self, package: &str, mention: &Mention) -> Option<(&'a str, &Parts)> {
        let crates = self.named.get(mention.name.as_str())?;
        let of = |package: &str| crates.get_key_value(package).map(|(package, parts)| (*package, parts));
        match mention.package(package, self.packages) {
            Some(other) => of(other),
            None => of(package).or_else(|| crates.iter().next().map(|(package, parts)| (*package, parts))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::source::sources;
    use super::*;

    const TYPES: &str = "struct Session { a: Io, b: Box<Core>, c: Links, d: Rc<Control>, e: Other }
        struct Narrow<'a> { a: &'a Io, b: &'a Core, c: &'a Links, d: &'a Identity }
        struct Stage<'a, L: Held> { a: &'a mut Core, b: &'a mut L, c: &'a mut Leg, d: &'a View }";

    fn figures(path: &str, functions: &str) -> (usize, usize) {
        let read = sources(&[("crates/proxy/src/types.rs", TYPES), (path, functions)]);
        let wide = count(&read.iter().collect::<Vec<_>>(), &["front", "proxy", "route"]);
        (wide.all, wide.outside_stages)
    }

    #[test]
    fn functions_with_a_wide_self_or_argument_are_counted() {
        let path = "crates/proxy/src/a.rs";
        let block = "impl Session { fn a(&self) {} fn new() -> Self { loop {} } fn of(a: Self) {} }";
        assert_eq!(figures(path, block), (2, 2));
        assert_eq!(figures(path, "impl A for Session { async fn a(self: &mut Self) {} }"), (1, 1));
        assert_eq!(
            figures(path, "fn a(b: u8, s: &mut crate::Session) {}\nfn c(a: (&Io, &Links)) {}"),
            (1, 1)
        );
        assert_eq!(
            figures(path, "fn a<L: Held>(s: &mut Stage<'_, L>) {}\nfn b(n: Narrow<'_>, w: &Worker) {}"),
            (1, 1)
        );
        assert_eq!(figures(path, "fn a(p: (&mut Io, &mut Links, &mut Core, &Env)) {}"), (1, 1));
    }

    #[test]
    fn a_type_that_holds_a_wide_one_is_wide() {
        let wrapped = "struct All<'a>(&'a mut Session); struct Two { a: Narrow, w: Rc<Worker> }
            impl All<'_> { fn a(&self) {} } fn b(two: &Two) {}";
        assert_eq!(figures("crates/proxy/src/a.rs", wrapped), (2, 2));
        let by_module = "use inner::Inner; mod inner { struct Inner(Box<Session>); }
            struct Role(Option<Inner>); fn a(role: &Role) {} fn b(links: &Links) {} struct Links(Role);";
        assert_eq!(
            figures("crates/proxy/src/a.rs", by_module),
            (1, 1),
            "a part is one part, whatever it holds"
        );
    }

    #[test]
    fn stages_are_counted_apart_and_other_crates_types_are_others() {
        assert_eq!(figures("crates/proxy/src/stage/a.rs", "fn a(s: &Session) {}"), (1, 0));
        assert_eq!(figures("crates/proxy/src/a.rs", "use route::Session;\nfn a(s: &Session) {}"), (0, 0));
        assert_eq!(figures("crates/proxy/src/a.rs", "fn a(s: &route::Session) {}"), (0, 0));
        assert_eq!(figures("crates/front/src/a.rs", "use proxy::Session;\nfn a(s: &Session) {}"), (1, 1));
    }
}
