//! A simulation of one worker: real sessions, pool and connections, on one thread, with streams
//! made of memory and a clock that moves only when everything waits. Servers know a little SQL;
//! clients know what a server of their own would answer, and compare.
//!
//! What happens follows from a seed: the configuration, what clients say, and what goes wrong.
//! Connections are lost before, in and behind answers, servers are not reached or slow, clients
//! leave and kill each other, configurations are loaded anew. With faults a client may hear of an
//! error; it may never hear another answer than its own, lose what was promised, or find a row
//! twice.
//!
//! Beside statements and transactions, seeds play features that are on in some of them
//! (`scopes.rs`): commands of all kinds at once, batches of reads of many clients, state that pins
//! sessions, MySQL's dialect, the query cache, causal reads at a late reader, a drain, a table over
//! two shards. What the proxy does wrong with shards today is left out there (`gaps.rs`).
//!
//! Each seed has a transcript: a hash of all bytes at clients, and one at servers. A change that
//! only moves code leaves both as they are. A few seeds have two: sessions that give up at the same
//! moment do so in the order of addresses.
//!
//!     POINTSMAN_SIM_SEEDS=10000 cargo test -p proxy --test sim    # more seeds
//!     POINTSMAN_SIM_FIRST=5000 POINTSMAN_SIM_SEEDS=10000 cargo test -p proxy --test sim
//!     POINTSMAN_SIM_SEED=17 cargo test -p proxy --test sim        # one, again
//!     POINTSMAN_SIM_SEED=17 POINTSMAN_SIM_EVENTS=1 \
//!         cargo test -p proxy --test sim -- --nocapture           # and all that happens in it
//!     POINTSMAN_SIM_TRANSCRIPTS=1 cargo test -p proxy --test sim -- --nocapture

mod sim {
    mod author;
    mod catalogue;
    mod changes;
    mod client;
    mod command;
    mod dialect;
    mod dice;
    mod encode;
    mod exchange;
    mod execution;
    mod faults;
    mod freshness;
    mod gaps;
    mod handles;
    mod judge;
    mod last;
    mod model;
    mod pinned;
    mod promises;
    mod replication;
    mod run;
    mod scopes;
    mod server;
    mod sharded;
    mod sharded_judge;
    mod sharded_texts;
    mod sharding;
    mod statement;
    mod swapped;
    mod tape;
    mod texts;
    mod values;
    mod world;
}
