//! What a command passes before it is sent. In [`owed`], [`turn`] and [`legs::last`] what says
//! whether there is something to do stands beside what does it: the way that waits for nothing and
//! the one that may wait decide alike. [`mod@cache`] is about the query cache; [`local`] about what
//! the proxy answers itself.

pub(crate) mod cache;
pub(super) mod local;
pub(super) mod owed;
pub(super) mod turn;
