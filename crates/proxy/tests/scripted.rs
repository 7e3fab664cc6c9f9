//! The data plane between scripted clients and servers, on one thread, with paused time.

mod scripted {
    mod answers;
    mod commands;
    mod query;
    mod statements;
    mod support;
}
