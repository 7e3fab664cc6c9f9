//! What the proxy answers itself, or changes before a server gets it: commands about sessions, and
//! those that it does not let pass.

pub(in crate::session) mod firewall;
pub(in crate::session) mod ids;
pub(in crate::session) mod injection;
pub(in crate::session) mod kill;
pub(in crate::session) mod kill_forms;
pub(in crate::session) mod processes;
pub(in crate::session) mod tell;
