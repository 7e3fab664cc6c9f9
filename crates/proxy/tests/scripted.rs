//! The data plane between scripted clients and servers, on one thread, with paused time.

mod scripted {
    mod acquire;
    mod answers;
    mod change_user;
    mod client_faults;
    mod client_login;
    mod commands;
    mod infile;
    mod life;
    mod pressure;
    mod query;
    mod server_faults;
    mod server_login;
    mod statements;
    mod support;
    mod tunnel;
}
