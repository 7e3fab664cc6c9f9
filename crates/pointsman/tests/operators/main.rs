//! What operators of Kubernetes do with ProxySQL, with their command lines, configurations and
//! statements: Percona's for `XtraDB` Cluster, and ProxySQL's own.

#![allow(clippy::unwrap_used, reason = "tests")]

mod percona;
mod pod;
mod proxysql;
mod proxysql_admin;
