//! Replies of scripted shards.

mod relay;
mod replies;
mod script;
mod servers;
mod streams;
mod turns;
