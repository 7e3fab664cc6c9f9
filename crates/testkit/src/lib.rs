//! What tests, the benchmark and the demo have in common: real servers and peers that can be
//! scripted.
//!
//! - [`guard`]: a folder and processes that are gone when their owner is gone, however it ended;
//! - [`net`]: free loopback ports; [`processes`]: who is still alive;
//! - [`certificates`]: authorities and what they vouch for, for TLS;
//! - [`client`]: a small MySQL client;
//! - [`script`]: servers and clients that do exactly what a test says, over any stream;
//! - [`packets`]: what these two are made of;
//! - [`load`]: a load generator with live counters;
//! - [`server`]: private servers of any make;
//! - [`mariadb`]: MariaDB, alone or as a primary with replicas; [`mysql`]: MySQL and its Router, if
//!   they are there.
//!
//! The launchers block the calling thread. In asynchronous code start servers before the runtime,
//! or on a thread that may block. Everything stays on loopback.

pub mod certificates;
pub mod client;
mod folders;
pub mod guard;
pub mod load;
pub mod mariadb;
pub mod mysql;
pub mod net;
pub mod packets;
pub mod processes;
pub mod script;
pub mod server;
