//! The statements that ask servers of clusters, what the answers mean, and how the tables of
//! `monitor` show them.
//!
//! - [`group`]: MySQL Group Replication;
//! - [`galera`]: nodes of Galera;
//! - [`aurora`]: Amazon Aurora.

pub(crate) mod aurora;
pub(crate) mod galera;
pub(crate) mod group;

use config::Endpoint;
use monitor::Word;
use observe::rows::Detail;

/// What the log of checks says about a word, in one row or more.
pub(crate) fn details(word: &Word<Endpoint>) -> Vec<Vec<Detail>> {
    match word {
        Word::Group(word) => vec![group::details(word)],
        Word::Galera(word) => vec![galera::details(word)],
        Word::Aurora(word) => aurora::details(word),
        Word::Replicas(_) => Vec::new(),
    }
}

/// `YES` or `NO`.
fn yes(is: bool) -> Detail {
    Detail::Text(if is { "YES" } else { "NO" }.to_owned())
}
