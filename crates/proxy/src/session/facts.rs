//! Functions over at most four parts of a session, in rooms by topic. They know nothing of
//! [`Session`](crate::session::Session): what they say and note depends on these parts alone.

pub(super) mod answers;
pub(super) mod cache;
pub(super) mod routing;
pub(super) mod writes;
