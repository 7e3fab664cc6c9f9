//! MariaDB's `main` test suite, first directly against a server and then through the proxy.
//!
//! A *test* is a script of the suite, with the output that it must give; the program `mariadb-test`
//! runs it. One that passes directly and fails through the proxy, twice, is a *divergence*, and
//! belongs into `divergences.txt` with the reason why no proxy can do better.
//!
//! - [`suite`]: which tests there are, and which of them a plain server can run;
//! - [`place`]: the server and the proxy that tests run against, put back as they were after each
//!   test;
//! - [`environment`]: what the suite's scripts expect around them;
//! - [`noise`]: other clients that keep the place busy, and notice answers that are not theirs;
//! - [`trial`]: one test, one run;
//! - [`plan`]: tests in several modes and as several users, over several servers at a time;
//! - [`record`]: what came out, and what `divergences.txt` says about it.

pub mod environment;
mod needs;
pub mod noise;
pub mod place;
pub mod plan;
pub mod reader;
pub mod record;
pub mod suite;
pub mod trial;
