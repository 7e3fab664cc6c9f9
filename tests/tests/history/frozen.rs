//! A stream of the binary log that is frozen, step by step: what is served, and until when. And an
//! XA transaction whose commit is in another stream than its rows.

use std::time::Duration;

use e2e::{Backend, WAIT_MAX, run};
use testkit::client::Client;
use tokio::time::{Instant, timeout};

use crate::faults::{on_mariadb, on_mysql};
use crate::world::{BOUNDED, Promise, STRICT, World};

/// What is read: its answer is in the cache.
const READ: &str = "SELECT v FROM plain WHERE id = 1";
/// Reads behind the bound.
const READS: usize = 50;
