//! A question to the query cache.

use std::rc::Rc;
use std::sync::Arc;

use cache::stats::RowKey;
use cache::{Key, Life, Said, Source};
use route::{CachePolicy, Cached, Source as By};

use crate::decided::Decided;

/// What is looked for in the cache.
#[derive(Debug)]
pub struct Asked {
    /// The key of its answer.
    pub key: Key,
    /// How long an answer lives.
    pub life: Life,
    /// What the answer depends on, and who may have it.
    pub said: Rc<Said>,
    /// How it is cached.
    pub how: Cached,
    /// The server whose binary log tells of writes, where the mode wants that.
    pub source: Option<Arc<Source>>,
    /// The hostgroup whose server that is.
    pub hostgroup: u32,
    /// Where it is counted.
    pub row: RowKey,
    /// Its account was seen to have the right to read.
    pub is_proven: bool,
    /// How often proofs were forgotten before all of this was found out.
    pub epoch: u64,
}

/// Where a statement is counted.
pub fn row(policy: &CachePolicy, decided: &Decided) -> RowKey {
    let rule = if let Some(By::Rule(id)) = policy.source { Some(id) } else { None };
    RowKey { rule, digest: decided.digest() }
}

/// Who asks for an answer, and where.
#[derive(Debug, Clone, Copy)]
pub struct Who {
    /// What stands for the account.
    pub account: Key,
    /// What the session has set, with its schema.
    pub class: Key,
    /// The hostgroup of the answer, and the one that is asked for definitions.
    pub hostgroups: [u32; 2],
}
