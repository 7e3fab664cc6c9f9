//! Functions over at most four parts of a session, in rooms by topic. They know nothing of
//! [`Session`](super::Session): what they say and note depends on these parts alone.

pub(super) mod answers;
pub(super) mod asking;
pub(super) mod behind;
pub(super) mod cache;
pub(super) mod causal;
pub(super) mod commands;
pub(super) mod endings;
pub(super) mod executions;
pub(super) mod kills;
pub(super) mod leases;
pub(super) mod orders;
pub(super) mod places;
pub(super) mod records;
pub(super) mod replies;
pub(super) mod routing;
pub(super) mod screened;
pub(super) mod sharing;
pub(super) mod shown;
pub(super) mod writes;
