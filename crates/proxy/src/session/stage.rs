//! What a command passes before it is sent, in the order of its stages. A stage is one file: what
//! says whether there is something to do stands beside what does it. Both ways of a command ask the
//! same function, the one that waits for nothing and the one that may.

pub(crate) mod cache;
pub(super) mod last;
pub(super) mod local;
pub(super) mod turn;
