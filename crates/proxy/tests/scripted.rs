//! The data plane between scripted clients and servers, on one thread, with paused time.

mod scripted {
    mod acquire;
    mod answers;
    mod apply;
    mod change_user;
    mod changes;
    mod check_logins;
    mod choice;
    mod client_faults;
    mod client_login;
    mod commands;
    mod compress;
    mod compress_faults;
    mod counts;
    mod drain;
    mod explain;
    mod infile;
    mod internal;
    mod kept;
    mod kill;
    mod kill_races;
    mod listing;
    mod methods;
    mod mirror;
    mod monitor;
    mod naming;
    mod off;
    mod overdue;
    mod pace;
    mod pipeline;
    mod pressure;
    mod proxy_header;
    mod query;
    mod queue;
    mod refused_login;
    mod refused_server_login;
    mod server_faults;
    mod server_login;
    mod split;
    mod statements;
    mod stats;
    mod support;
    mod time_limits;
    mod tls;
    mod tunnel;
}
