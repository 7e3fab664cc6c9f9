//! Asking nodes of a Galera cluster.

use config::Endpoint;
use monitor::{GaleraWord, Word};
use observe::rows::Detail;

use super::yes;
use crate::question::Rows;

/// Asks a node how it is. A node that is not ready refuses every statement but `SHOW` and `SET`.
pub(crate) const QUESTIONS: [&str; 2] = [
    "SHOW GLOBAL STATUS WHERE Variable_name IN \
     ('wsrep_local_state', 'wsrep_cluster_status', 'wsrep_local_recv_queue')",
    "SHOW GLOBAL VARIABLES WHERE Variable_name IN \
     ('read_only', 'wsrep_desync', 'wsrep_reject_queries', 'wsrep_sst_donor_rejects_queries', 'pxc_maint_mode')",
];

/// What servers say to statements that they reject: `ER_UNKNOWN_COM_ERROR`, of all things.
pub(crate) const REJECTED: u16 = 1047;

/// What both answers together say; `None` if they make no sense: the server is no node of a
/// cluster.
pub(crate) fn read(status: &Rows, variables: &Rows) -> Option<Word<Endpoint>> {
    let is_on = |name| variables.variable(name).is_some_and(|value| value.eq_ignore_ascii_case("ON"));
    let is_other_than =
        |name, usual| variables.variable(name).is_some_and(|value| !value.eq_ignore_ascii_case(usual));
    Some(Word::Galera(GaleraWord {
        primary: status.variable("wsrep_cluster_status")?.eq_ignore_ascii_case("Primary"),
        local_state: status.variable("wsrep_local_state")?.parse().ok()?,
        queue: status.variable("wsrep_local_recv_queue")?.parse().ok()?,
        desync: is_on("wsrep_desync"),
        rejects_queries: is_other_than("wsrep_reject_queries", "NONE"),
        donor_rejects_queries: is_on("wsrep_sst_donor_rejects_queries"),
        maintenance: is_other_than("pxc_maint_mode", "DISABLED"),
        // MariaDB 12 has words for it.
        read_only: is_other_than("read_only", "OFF"),
    }))
}

/// What is known of a node that rejects even `SHOW`.
pub(crate) fn rejecting() -> Word<Endpoint> {
    Word::Galera(GaleraWord {
        primary: true,
        local_state: 0,
        queue: 0,
        desync: false,
        rejects_queries: true,
        donor_rejects_queries: false,
        maintenance: false,
        read_only: true,
    })
}

/// What `mysql_server_galera_log` shows, from `primary_partition` to `pxc_maint_mode`.
pub(super) fn details(word: &GaleraWord) -> Vec<Detail> {
    vec![
        yes(word.primary),
        yes(word.read_only),
        Detail::Number(i64::try_from(word.queue).unwrap_or(i64::MAX)),
        Detail::Number(word.local_state.into()),
        yes(word.desync),
        yes(word.rejects_queries),
        yes(word.donor_rejects_queries),
        yes(word.maintenance),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::question::tests::answer;

    fn said(pairs: &[(&str, &str)]) -> Rows {
        let rows: Vec<[Option<&str>; 2]> =
            pairs.iter().map(|(name, value)| [Some(*name), Some(*value)]).collect();
        let rows: Vec<&[Option<&str>]> = rows.iter().map(|row| &row[..]).collect();
        answer(&["Variable_name", "Value"], &rows).unwrap()
    }

    #[test]
    fn a_node_says_how_it_is() {
        let status = [
            ("wsrep_local_state", "2"),
            ("wsrep_cluster_status", "Primary"),
            ("wsrep_local_recv_queue", "7"),
        ];
        let well = [
            ("read_only", "OFF"),
            ("wsrep_desync", "OFF"),
            ("wsrep_reject_queries", "NONE"),
            ("wsrep_sst_donor_rejects_queries", "ON"),
            ("pxc_maint_mode", "DISABLED"),
        ];
        let expected = GaleraWord {
            primary: true,
            local_state: 2,
            queue: 7,
            desync: false,
            rejects_queries: false,
            donor_rejects_queries: true,
            maintenance: false,
            read_only: false,
        };
        let word = read(&said(&status), &said(&well));
        assert_eq!(word, Some(Word::Galera(expected.clone())));
        let ill = [
            ("read_only", "ON"),
            ("wsrep_desync", "ON"),
            ("wsrep_reject_queries", "ALL"),
            ("pxc_maint_mode", "SHUTDOWN"),
        ];
        let expected = GaleraWord {
            read_only: true,
            desync: true,
            rejects_queries: true,
            donor_rejects_queries: false,
            maintenance: true,
            ..expected
        };
        assert_eq!(read(&said(&status), &said(&ill)), Some(Word::Galera(expected)));
        assert_eq!(read(&said(&[]), &said(&well)), None, "no node of a cluster");
    }
}
