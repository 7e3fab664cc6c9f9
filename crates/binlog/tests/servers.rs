//! Streams of real servers: what is written in each format comes out as the facts beside the
//! recordings.

#[path = "common/mod.rs"]
mod common;
#[path = "servers/large.rs"]
mod large;
#[path = "servers/mariadb.rs"]
mod mariadb;
#[path = "servers/mysql.rs"]
mod mysql;
#[path = "servers/record.rs"]
mod record;
#[path = "servers/statements.rs"]
mod statements;
