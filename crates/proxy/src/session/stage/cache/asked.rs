//! A question to the query cache.

use std::rc::Rc;
use std::sync::Arc;

use cache::stats::RowKey;
use cache::{Key, Life, Said, Source};
use route::{CachePolicy, Cached, Source as By};

use crate::session::decided::Decided;

/// What is looked for in the cache.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) key: Key,
    pub(crate) life: Life,
    /// What the answer depends on, and who may have it.
    pub(crate) said: Rc<Said>,
    pub(crate) how: Cached,
    /// The server whose binary log tells of writes, where the mode wants that.
    pub(crate) source: Option<Arc<Source>>,
    /// The hostgroup whose server that is.
    pub(crate) hostgroup: u32,
    /// Where it is counted.
    pub(crate) row: RowKey,
    pub(crate) is_proven: bool,
    /// How often proofs were forgotten before all of this was found out.
    pub(crate) epoch: u64,
}

/// Where a statement is counted.
pub(crate) fn row(policy: &CachePolicy, decided: &Decided) -> RowKey {
    let rule = if let Some(By::Rule(id)) = policy.source { Some(id) } else { None };
    RowKey { rule, digest: decided.digest() }
}

/// Who asks for an answer, and where.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Who {
    pub(crate) account: Key,
    /// What the session has set, with its schema.
    pub(crate) class: Key,
    /// The hostgroup of the answer, and the one that is asked for definitions.
    pub(crate) hostgroups: [u32; 2],
}
