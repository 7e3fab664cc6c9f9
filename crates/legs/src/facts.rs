//! Functions over at most four parts of a session, in rooms by topic. They know nothing of
//! sessions: what they say and note depends on these parts alone.

pub mod asking;
pub mod behind;
pub mod causal;
pub mod commands;
pub mod endings;
pub mod executions;
pub mod kills;
pub mod leases;
pub mod orders;
pub mod places;
pub mod records;
pub mod replies;
pub mod screened;
pub mod sharing;
pub mod shown;
