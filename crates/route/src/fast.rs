//! `mysql_query_rules_fast_routing`: hostgroups by state, user and schema.

use std::collections::HashMap;

use config::FastRoute;

use crate::verdict::Source;

/// The rows, found by their key without allocating.
#[derive(Clone, Debug, Default)]
pub(crate) struct FastRoutes {
    by_flag: HashMap<u32, ByUser>,
    count: usize,
}

type ByUser = HashMap<Box<[u8]>, HashMap<Box<[u8]>, u32>>;

impl FastRoutes {
    pub(crate) fn new(rows: &[FastRoute]) -> Self {
        let mut by_flag: HashMap<u32, ByUser> = HashMap::new();
        for row in rows {
            let users = by_flag.entry(row.flag_in).or_default();
            let schemas = users.entry(row.username.as_bytes().into()).or_default();
            schemas.insert(row.schemaname.as_bytes().into(), row.destination_hostgroup);
        }
        Self { by_flag, count: rows.len() }
    }

    pub(crate) const fn len(&self) -> usize {
        self.count
    }

    /// The user's row, else that for all users.
    pub(crate) fn find(&self, flag: u32, user: &[u8], schema: &[u8]) -> Option<(Source, u32)> {
        let users = self.by_flag.get(&flag)?;
        let of = |name: &[u8]| users.get(name).and_then(|schemas| schemas.get(schema)).copied();
        match of(user) {
            Some(hostgroup) => Some((Source::FastRoute { any_user: false }, hostgroup)),
            None => of(b"").map(|hostgroup| (Source::FastRoute { any_user: true }, hostgroup)),
        }
    }
}
