//! A question to the query cache.

use std::rc::Rc;
use std::sync::Arc;

use cache::stats::RowKey;
use cache::{Key, Life, Said, Source};
use route::Cached;

/// What is looked for in the cache.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) key: Key,
    pub(super) life: Life,
    /// What the answer depends on, and who may have it.
    pub(super) said: Rc<Said>,
    pub(super) how: Cached,
    /// The server whose binary log tells of writes, where the mode wants that.
    pub(super) source: Option<Arc<Source>>,
    /// The hostgroup whose server that is.
    pub(super) hostgroup: u32,
    /// Where it is counted.
    pub(super) row: RowKey,
    pub(super) is_proven: bool,
    /// How often proofs were forgotten before all of this was found out.
    pub(super) epoch: u64,
}
