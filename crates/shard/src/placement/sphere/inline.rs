//! `INLINE`, `COMPLEX_INLINE` and `HINT_INLINE`: an expression names the shard.

use smallvec::SmallVec;

use crate::groovy::{Datum, Template};
use crate::key::{Key, KeyKind};
use crate::limits::COLUMNS_MAX;
use crate::prune::{Reason, Shard, Shards};

/// Expression, with the names that it may compute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inline {
    template: Template,
    /// Names in the order of bytes, with their shards.
    names: Vec<(String, Shard)>,
}

impl Inline {
    /// Shard `i` is the one that the expression calls `names[i]`.
    pub fn new(template: Template, names: &[String]) -> Self {
        let mut names: Vec<_> = names.iter().cloned().zip(0..).collect();
        names.sort();
        Self { template, names }
    }

    pub(crate) const KINDS: &'static [KeyKind] = &[KeyKind::Integer, KeyKind::Bytes];

    /// The expression.
    pub fn template(&self) -> &Template {
        &self.template
    }

    /// The names that it may compute, by their shards.
    pub(crate) fn names(&self) -> Vec<&str> {
        let mut names: Vec<_> = self.names.iter().collect();
        names.sort_by_key(|(_, shard)| *shard);
        names.into_iter().map(|(name, _)| name.as_str()).collect()
    }

    /// Number of shards.
    pub(crate) fn shards(&self) -> usize {
        self.names.len()
    }

    /// Whether two expressions put equal keys into shards of equal numbers. The names that they
    /// compute may begin differently.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let behind = |inline: &Self| {
            let name = |(name, shard): &(String, Shard)| {
                Some((name.strip_prefix(inline.template.prefix())?.to_owned(), *shard))
            };
            inline.names.iter().map(name).collect::<Option<Vec<_>>>()
        };
        self.template.is_like(&other.template)
            && behind(self).is_some_and(|names| Some(names) == behind(other))
    }

    /// The shard of keys as literals.
    pub(crate) fn place(&self, keys: &[Key<'_>]) -> Result<Shard, Reason> {
        self.evaluate(keys, 0)
    }

    /// Shards where rows with the keys may be. An integer that is an `Integer` as a literal is a
    /// `Long` as a parameter: where that may make a difference, both are tried.
    pub(crate) fn locate(&self, keys: &[Key<'_>]) -> Result<Shards, Reason> {
        let mut shards = Shards::one(self.place(keys)?);
        if self.template.depends_on_type() {
            for long in 1..1_u32 << keys.len().min(COLUMNS_MAX) {
                shards.insert(self.evaluate(keys, long)?);
            }
        }
        Ok(shards)
    }

    /// The shard if the keys whose bits are set in `long` are of type `Long`.
    fn evaluate(&self, keys: &[Key<'_>], long: u32) -> Result<Shard, Reason> {
        let data = keys.iter().enumerate().map(|(at, key)| datum(*key, long >> at & 1 == 1));
        let data: SmallVec<[Datum<'_>; COLUMNS_MAX]> = data.collect::<Result<_, _>>()?;
        let name = self.template.evaluate(&data).ok_or(Reason::OutOfRange)?;
        let at = self.names.binary_search_by(|(known, _)| known.as_bytes().cmp(&name));
        at.ok().and_then(|at| self.names.get(at)).map(|(_, shard)| *shard).ok_or(Reason::OutOfRange)
    }
}

/// The key as Groovy gets it: an integer as `Integer` if it fits and is not said to be `Long`.
fn datum(key: Key<'_>, is_long: bool) -> Result<Datum<'_>, Reason> {
    match key {
        Key::Integer(key) => match i32::try_from(key) {
            Ok(int) if !is_long => Ok(Datum::Int(int)),
            _ => i64::try_from(key).map(Datum::Long).map_err(|_| Reason::Kind),
        },
        Key::Bytes(text) => {
            std::str::from_utf8(text).map(|text| Datum::Text(text.into())).map_err(|_| Reason::Kind)
        }
        _ => Err(Reason::Kind),
    }
}
