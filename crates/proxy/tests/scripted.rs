//! The data plane between scripted clients and servers, on one thread, with paused time.

mod scripted {
    mod query;
    mod support;
}
