//! What operators flush.

use crate::cache::Cache;
use crate::name::Name;
use crate::versions::Scope;

/// Answers that are not to be served any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Flush {
    /// All.
    All,
    /// Those that read this table of this schema.
    Table(String, String),
    /// Those to statements with this digest.
    Digest(u64),
    /// Those whose time to live comes from this rule.
    Rule(i64),
    /// Those that this user has fetched.
    User(String),
}

impl Cache {
    /// No answer from before is served any more: neither by the store, nor by first levels, nor
    /// those on their way.
    pub fn flush(&self, flush: &Flush) {
        let name = match flush {
            Flush::All => {
                self.versions.flush(Scope::all());
                self.store.clear();
                return;
            }
            Flush::Table(schema, table) => Name::Table(schema.as_bytes(), table.as_bytes()),
            Flush::Digest(digest) => Name::Digest(*digest),
            Flush::Rule(rule) => Name::Rule(*rule),
            Flush::User(user) => Name::User(user.as_bytes()),
        };
        let mut scope = Scope::new();
        scope.add(name.hash());
        self.versions.flush(scope);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_flushed_by_what_they_depend_on() {
        let cache = Cache::new([1, 2], 1 << 20);
        let scope = |name: Name<'_>| {
            let mut scope = Scope::new();
            scope.add(name.hash());
            scope
        };
        let names = [Name::Table(b"s", b"t"), Name::Digest(1), Name::Rule(1), Name::User(b"u")];
        let flushes = [
            Flush::Table("S".to_owned(), "T".to_owned()),
            Flush::Digest(1),
            Flush::Rule(1),
            Flush::User("u".to_owned()),
        ];
        for (flushed, flush) in flushes.iter().enumerate() {
            let moment = cache.versions.moment(&Scope::new()).unwrap();
            cache.flush(flush);
            for (at, name) in names.iter().enumerate() {
                assert_eq!(
                    cache.versions.allows(&scope(*name), moment),
                    at != flushed,
                    "{name:?}, {flush:?}"
                );
            }
        }
        let moment = cache.versions.moment(&Scope::new()).unwrap();
        cache.flush(&Flush::All);
        assert!(!cache.versions.allows(&Scope::new(), moment));
    }
}
