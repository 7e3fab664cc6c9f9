//! What the proxy answers itself, or changes before a server gets it: commands about sessions, and
//! those that it does not let pass.

pub(crate) mod firewall;
pub(crate) mod ids;
pub(crate) mod injection;
pub(crate) mod kill;
pub(crate) mod kill_forms;
pub(crate) mod processes;
pub(crate) mod tell;
