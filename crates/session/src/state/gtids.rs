//! What servers tell of the transactions that a session has committed: who wants that, and what was
//! told last.
//!
//! Servers are asked by a [setting](super::settings) like those of clients: MySQL by
//! `session_track_gtids`, MariaDB by `last_gtid` among `session_track_system_variables`. A client
//! that has not asked for it is told nothing of what it brings: see [`trackers`](super::trackers).

use config::CausalReads;
use gtid::mysql::Set;
use gtid::{Gtid, mariadb};

use super::trackers::{Keeps, Trackers};
use super::{Setting, Settings};
use crate::causal::own::Own;

/// The variable by which servers are asked.
pub const TRACK_GTIDS: &str = "session_track_gtids";

/// The variable of MariaDB that names the variables whose changes OK packets tell.
const TRACK_VARIABLES: &str = "session_track_system_variables";

/// The variable of MariaDB with the session's last transaction.
pub(super) const LAST_GTID: &[u8] = b"last_gtid";

/// How MariaDB is asked to tell the session's transactions. What the session tracks besides stays.
const ASKS_MARIADB: &[u8] = b"SET SESSION session_track_system_variables = \
    CONCAT_WS(',', NULLIF(@@session.session_track_system_variables, ''), 'last_gtid')";

/// The text of the [setting](TRACK_GTIDS) `text` for a server of this kind.
pub fn said_to(text: &[u8], is_mariadb: bool) -> &[u8] {
    let asks = matches!(Wish::of(text), Some(Wish::Own | Wish::All));
    if is_mariadb && asks { ASKS_MARIADB } else { text }
}

/// Whether a client that sets this variable replaces the list by which MariaDB tells transactions.
pub fn replaces_tracked(key: &str) -> bool {
    key == TRACK_VARIABLES
}

/// Whether the text of such a setting asks for `last_gtid`.
pub fn names_last_gtid(text: &[u8]) -> bool {
    text.contains(&b'*') || text.windows(LAST_GTID.len()).any(|word| word.eq_ignore_ascii_case(LAST_GTID))
}

/// Whose wishes count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tracking {
    /// Whose writes reads must see where the user's row says nothing (`pointsman-causal_reads`).
    pub causal: CausalReads,
    /// Rules say that reads must see writes.
    pub causal_by_rules: bool,
    /// Servers tell them whether the client has asked or not (`mysql-default_session_track_gtids`).
    pub by_default: bool,
    /// Clients that ask are told (`mysql-client_session_track_gtid`).
    pub for_clients: bool,
}

/// What a value of the variable asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    Off,
    Own,
    /// All that the server has executed, which is nothing of the session's.
    All,
    /// Whatever the server does by itself.
    Default,
}

impl Wish {
    /// Of the text of a setting. `None` if servers know no such value.
    fn of(text: &[u8]) -> Option<Self> {
        let value = text.rsplit(|byte| *byte == b'=').next()?.trim_ascii();
        let value = value.trim_ascii_start().strip_prefix(b"'").unwrap_or(value);
        let value = value.strip_suffix(b"'").unwrap_or(value);
        let is = |word: &str| value.eq_ignore_ascii_case(word.as_bytes());
        let wishes = [
            (["OFF", "0"], Self::Off),
            (["OWN_GTID", "1"], Self::Own),
            (["ALL_GTIDS", "2"], Self::All),
            (["DEFAULT", "DEFAULT"], Self::Default),
        ];
        wishes.into_iter().find(|(words, _)| words.iter().any(|word| is(word))).map(|(_, wish)| wish)
    }

    /// How a server is told this.
    fn setting(self) -> Setting {
        let value = if self == Self::Own { "OWN_GTID" } else { "OFF" };
        Setting {
            key: TRACK_GTIDS.into(),
            text: format!("SET SESSION {TRACK_GTIDS} = {value}").into_bytes().into(),
        }
    }
}

impl Tracking {
    /// These settings, and what sessions begin with if servers tell the transactions of all
    /// clients.
    pub fn with_first(settings: &Settings) -> Settings {
        let mut settings = settings.clone();
        settings.set(Self::first());
        settings
    }

    /// The setting that they begin with.
    pub fn first() -> Setting {
        Wish::Own.setting()
    }

    /// What a client's `SET` of the variable asks for: whether it is to be told, how the setting is
    /// kept that its server has now, and what its server has to be told besides, if that is
    /// something else.
    pub fn judge(self, setting: Setting) -> (bool, Setting, Option<Setting>) {
        let wish = Wish::of(&setting.text);
        let asks = self.for_clients && matches!(wish, Some(Wish::Own | Wish::All));
        let kept = match wish {
            Some(wish @ (Wish::Own | Wish::Off)) => wish.setting(),
            _ => setting,
        };
        let wanted = match wish {
            _ if self.by_default || asks => Some(Wish::Own.setting()),
            _ if !self.for_clients => Some(Wish::Off.setting()),
            _ => None,
        };
        (asks, kept, wanted)
    }
}

/// What a session was told.
#[derive(Debug)]
pub struct Gtids {
    /// The last transaction of each hostgroup that has told one.
    last: Vec<(u32, Gtid)>,
    /// What reads of the session must see, where they must see writes.
    pub own: Option<Own>,
    /// What of its answers the client sees.
    pub trackers: Trackers,
    /// A reply may hide a transaction that no OK packet has told: the end of the reply, which the
    /// client gets once the server was asked for it.
    pub untold: Option<Vec<u8>>,
}

impl Gtids {
    /// Nothing yet; the client gets this of what servers tell, and the ages of answers if it
    /// `keeps_ages`.
    pub const fn new(keeps: Keeps, keeps_ages: bool) -> Self {
        Self { last: Vec::new(), own: None, trackers: Trackers::new(keeps, keeps_ages), untold: None }
    }

    /// A server of this hostgroup has told this, which is that of this cluster.
    pub fn note(&mut self, hostgroup: u32, cluster: Option<u32>, gtid: Gtid) {
        if let (Some(own), Some(cluster)) = (&mut self.own, cluster) {
            own.note(cluster, gtid);
        }
        match self.last.iter_mut().find(|(at, _)| *at == hostgroup) {
            Some((_, last)) => *last = gtid,
            None => self.last.push((hostgroup, gtid)),
        }
    }

    /// The last transaction that the session has committed in this hostgroup.
    pub fn last(&self, hostgroup: u32) -> Option<Gtid> {
        self.last.iter().find(|(at, _)| *at == hostgroup).map(|(_, gtid)| *gtid)
    }
}

/// The last transaction of those that MySQL tells.
pub(super) fn last_of(told: &[u8]) -> Option<Gtid> {
    let last = told.rsplit(|byte| *byte == b',').next()?;
    let set: Set = std::str::from_utf8(last).ok()?.parse().ok()?;
    set.last().map(Gtid::MySql)
}

/// The transaction that is the value of MariaDB's `last_gtid`; nothing if it is empty.
pub(super) fn last_at_mariadb(value: &[u8]) -> Option<Gtid> {
    let gtid: mariadb::Gtid = std::str::from_utf8(value).ok()?.parse().ok()?;
    Some(Gtid::MariaDb(gtid))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(by_default: bool, for_clients: bool, value: &str) -> (bool, String, Option<String>) {
        let text = format!("SET SESSION {TRACK_GTIDS} = {value}").into_bytes().into();
        let tracking = Tracking { by_default, for_clients, ..Tracking::default() };
        let (asks, kept, wanted) = tracking.judge(Setting { key: TRACK_GTIDS.into(), text });
        let value = |one: Setting| String::from_utf8_lossy(&one.text).rsplit_once(' ').unwrap().1.to_owned();
        (asks, value(kept), wanted.map(value))
    }

    #[test]
    fn what_a_client_asks_for() {
        let of = |asks, kept: &str, wanted: Option<&str>| (asks, kept.to_owned(), wanted.map(str::to_owned));
        for value in ["OWN_GTID", "own_gtid", "'OWN_GTID'", "1"] {
            assert_eq!(judged(false, true, value), of(true, "OWN_GTID", Some("OWN_GTID")), "{value}");
        }
        assert_eq!(judged(false, true, "ALL_GTIDS"), of(true, "ALL_GTIDS", Some("OWN_GTID")));
        assert_eq!(judged(false, true, "OFF"), of(false, "OFF", None));
        assert_eq!(judged(false, true, "DEFAULT"), of(false, "DEFAULT", None));
        assert_eq!(judged(true, true, "OFF"), of(false, "OFF", Some("OWN_GTID")));
        assert_eq!(judged(true, false, "ALL_GTIDS"), of(false, "ALL_GTIDS", Some("OWN_GTID")));
        assert_eq!(judged(false, false, "OWN_GTID"), of(false, "OWN_GTID", Some("OFF")));
    }

    #[test]
    fn each_server_is_asked_in_its_words() {
        let own = Wish::Own.setting();
        assert_eq!(said_to(&own.text, false), &*own.text);
        assert_eq!(said_to(&own.text, true), ASKS_MARIADB);
        let off = Wish::Off.setting();
        assert_eq!(said_to(&off.text, true), &*off.text);
        assert!(!ASKS_MARIADB.windows(2).any(|pair| pair == b"  "), "it is one line");
        let asks =
            |text: &str| names_last_gtid(format!("SET session_track_system_variables = {text}").as_bytes());
        assert!(asks("'*'") && asks("'autocommit,LAST_GTID'") && !asks("'autocommit'") && !asks("DEFAULT"));
        assert_eq!(last_at_mariadb(b"0-1-7"), "0-1-7".parse().ok());
        assert_eq!([last_at_mariadb(b""), last_at_mariadb(b"\xff")], [None, None]);
    }

    #[test]
    fn the_last_one_of_a_hostgroup_counts() {
        const UUID: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
        let gtid = |number| Gtid::MySql(gtid::mysql::Gtid { source: UUID.parse().unwrap(), number });
        let told = |text: &str| last_of(text.as_bytes());
        assert_eq!(told(&format!("{UUID}:7")), Some(gtid(7)));
        assert_eq!(told(&format!("{UUID}:7-9")), Some(gtid(9)));
        assert_eq!(told(&format!("00000000-0000-0000-0000-000000000007:3,{UUID}:1-2:5")), Some(gtid(5)));
        let tagged = format!("{UUID}:tag:5");
        assert_eq!(told(&tagged).map(|gtid| gtid.to_string()), Some(tagged));
        assert_eq!(told(""), None);
        let mut gtids = Gtids::new(Keeps::All, false);
        for (hostgroup, number) in [(0, 1), (1, 5), (0, 2)] {
            gtids.note(hostgroup, None, gtid(number));
        }
        assert_eq!([0, 1, 2].map(|at| gtids.last(at)), [Some(gtid(2)), Some(gtid(5)), None]);
    }
}
