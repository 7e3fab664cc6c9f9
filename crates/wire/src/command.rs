//! What clients send after the login: one command, one file.

mod kind;

pub use kind::{Kind, UnknownCommand};
