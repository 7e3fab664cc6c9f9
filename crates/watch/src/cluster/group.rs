//! Asking members of a replication group.

use config::Endpoint;
use monitor::{GroupMember, GroupWord, MemberState, Word};
use observe::rows::Detail;

use super::yes;
use crate::question::Rows;

/// Asks a member how it sees its group. A server that is in none has one row, or one with nothing
/// about members.
pub(crate) const QUESTION: &str = "SELECT @@global.server_uuid me, @@global.read_only | @@global.super_read_only read_only, \
    m.MEMBER_ID id, m.MEMBER_HOST host, m.MEMBER_PORT port, m.MEMBER_STATE state, \
    s.COUNT_TRANSACTIONS_IN_QUEUE + s.COUNT_TRANSACTIONS_REMOTE_IN_APPLIER_QUEUE behind FROM (SELECT 1) one \
    LEFT JOIN performance_schema.replication_group_members m ON m.CHANNEL_NAME = 'group_replication_applier' \
    LEFT JOIN performance_schema.replication_group_member_stats s \
    ON s.CHANNEL_NAME = m.CHANNEL_NAME AND s.MEMBER_ID = m.MEMBER_ID";

/// What the answer says; `None` if it makes no sense.
pub(crate) fn read(rows: &Rows) -> Option<Word<Endpoint>> {
    let id = rows.text(0, "me")?;
    let read_only = rows.text(0, "read_only")? != "0";
    let mut members = Vec::new();
    let mut behind = 0;
    for at in 0..rows.len() {
        // In no group: no member, or one without a name.
        let Some(member) = rows.text(at, "id").filter(|id| !id.is_empty()) else { continue };
        if member == id {
            behind = rows.text(at, "behind").and_then(|number| number.parse().ok()).unwrap_or(0);
        }
        let host = rows.text(at, "host").filter(|host| !host.is_empty());
        let port = rows.text(at, "port").and_then(|port| port.parse().ok()).filter(|port| *port > 0);
        let server = host.zip(port).map(|(host, port)| Endpoint::Tcp { host, port });
        let state = MemberState::named(&rows.text(at, "state")?).unwrap_or(MemberState::Offline);
        members.push(GroupMember { id: member, server, state });
    }
    Some(Word::Group(GroupWord { id, read_only, behind, members }))
}

/// `viable_candidate`, `read_only` and `transactions_behind` of
/// `mysql_server_group_replication_log`.
pub(super) fn details(word: &GroupWord<Endpoint>) -> Vec<Detail> {
    let behind = i64::try_from(word.behind).unwrap_or(i64::MAX);
    vec![yes(word.is_viable()), yes(word.read_only), Detail::Number(behind)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::question::tests::answer;

    const COLUMNS: [&str; 7] = ["me", "read_only", "id", "host", "port", "state", "behind"];

    fn word(rows: &[&[Option<&str>]]) -> Option<GroupWord<Endpoint>> {
        match read(&answer(&COLUMNS, rows)?)? {
            Word::Group(word) => Some(word),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_member_says_how_it_sees_its_group() {
        let row = |id: &'static str, port: &'static str, state: &'static str, behind: &'static str| {
            [Some("a"), Some("0"), Some(id), Some("db"), Some(port), Some(state), Some(behind)]
        };
        let said = word(&[
            &row("a", "1", "ONLINE", "7"),
            &row("b", "2", "RECOVERING", "9"),
            &row("c", "3", "UNREACHABLE", "0"),
        ])
        .unwrap();
        assert_eq!((said.id.as_str(), said.read_only, said.behind), ("a", false, 7));
        assert_eq!(said.members[1].server, Some(Endpoint::Tcp { host: "db".to_owned(), port: 2 }));
        assert!(said.is_viable());
        assert_eq!(details(&said), [yes(true), yes(false), Detail::Number(7)]);
    }

    #[test]
    fn a_server_in_no_group_is_no_candidate() {
        let alone = [Some("a"), Some("0"), Some(""), Some(""), None, Some("OFFLINE"), None];
        for rows in [alone, [Some("a"), Some("0"), None, None, None, None, None]] {
            let said = word(&[&rows]).unwrap();
            assert_eq!(said.members, []);
            assert!(!said.is_viable());
        }
        assert_eq!(word(&[]), None);
    }
}
