//! The data plane between scripted clients and servers, on one thread, with paused time.

mod scripted {
    mod answers;
    mod change_user;
    mod client_faults;
    mod commands;
    mod infile;
    mod pressure;
    mod query;
    mod server_faults;
    mod statements;
    mod support;
    mod tunnel;
}
