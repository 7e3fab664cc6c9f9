//! Hints of clients in the first comment of a statement: `/* hostgroup=2;query_timeout=500 */`.
//!
//! Pairs `key=value` are separated by `;`, blanks around keys and values do not count, nor does the
//! case of keys. Keys are ProxySQL's, `access_mode`, `shard`, `causal_reads` and `causal_scope`.
//! Unknown keys, and values that do not fit, are as if they were not there: other programs write
//! comments too.

/// What hints can ask for; `None` where they did not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hints<'a> {
    /// Send the statement to this hostgroup.
    pub hostgroup: Option<u32>,
    /// Cache the answer for this many milliseconds.
    pub cache_ttl: Option<u32>,
    /// Wait this many milliseconds first.
    pub query_delay: Option<u32>,
    /// Try this many more times if the server fails.
    pub query_retries: Option<u32>,
    /// Give up after this many milliseconds.
    pub query_timeout: Option<u32>,
    /// Send a copy to this hostgroup.
    pub mirror: Option<u32>,
    /// Take no server that lags more than this many milliseconds, at most [`MAX_LAG_MS`].
    pub max_lag_ms: Option<u32>,
    /// Take no server that lacks what was written at this time, in milliseconds since 1970.
    pub min_epoch_ms: Option<u64>,
    /// Take no server that lacks this transaction: `uuid:number` or `domain-server-sequence`.
    pub min_gtid: Option<&'a str>,
    /// Use a new connection.
    pub create_new_connection: bool,
    /// Take this shard: a hostgroup, or the name of a node.
    pub shard: Option<&'a str>,
    /// Whether the statement writes, whatever it looks like.
    pub access_mode: Option<AccessMode>,
    /// Whose writes a read must see, as the word of the configuration.
    pub causal_reads: Option<&'a str>,
    /// The application that the statement belongs to.
    pub causal_scope: Option<&'a str>,
}

/// What a client says that a statement does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessMode {
    /// It must go to a server that takes writes.
    ReadWrite,
    /// A reader will do.
    ReadOnly,
}

/// The largest `max_lag_ms`, in milliseconds: ten minutes, as in ProxySQL.
pub const MAX_LAG_MS: u32 = 600_000;

/// Reads the hints of a comment, given without its marks.
pub fn parse(comment: &[u8]) -> Hints<'_> {
    let mut hints = Hints::default();
    for pair in comment.split(|byte| *byte == b';') {
        let Ok(pair) = std::str::from_utf8(pair) else { continue };
        if let Some((key, value)) = pair.split_once('=') {
            hints.set(key.trim_ascii(), value.trim_ascii());
        }
    }
    hints
}

/// What can be asked for.
const KEYS: [&str; 14] = [
    "hostgroup",
    "cache_ttl",
    "query_delay",
    "query_retries",
    "query_timeout",
    "mirror",
    "max_lag_ms",
    "min_epoch_ms",
    "min_gtid",
    "create_new_connection",
    "shard",
    "access_mode",
    "causal_reads",
    "causal_scope",
];

impl<'a> Hints<'a> {
    fn set(&mut self, key: &str, value: &'a str) {
        let Some(key) = KEYS.into_iter().find(|name| name.eq_ignore_ascii_case(key)) else { return };
        match key {
            "hostgroup" => set(&mut self.hostgroup, number(value)),
            "cache_ttl" => set(&mut self.cache_ttl, number(value)),
            "query_delay" => set(&mut self.query_delay, number(value)),
            "query_retries" => set(&mut self.query_retries, number(value)),
            "query_timeout" => set(&mut self.query_timeout, number(value)),
            "mirror" => set(&mut self.mirror, number(value)),
            "max_lag_ms" => set(&mut self.max_lag_ms, number(value).filter(|lag| *lag <= MAX_LAG_MS)),
            "min_epoch_ms" => set(&mut self.min_epoch_ms, value.parse().ok()),
            "min_gtid" => set(&mut self.min_gtid, Some(value).filter(|gtid| is_gtid(gtid))),
            "create_new_connection" => self.create_new_connection |= value == "1",
            "shard" => set(&mut self.shard, Some(value).filter(|name| !name.is_empty())),
            "access_mode" => set(&mut self.access_mode, access_mode(value)),
            "causal_reads" => set(&mut self.causal_reads, Some(value)),
            "causal_scope" => set(&mut self.causal_scope, Some(value).filter(|name| !name.is_empty())),
            _ => {}
        }
    }
}

/// The last value that fits counts.
fn set<T>(hint: &mut Option<T>, value: Option<T>) {
    if value.is_some() {
        *hint = value;
    }
}

/// Numbers of hints are what ProxySQL keeps in a signed 32-bit one.
fn number(value: &str) -> Option<u32> {
    value.parse().ok().filter(|number| i32::try_from(*number).is_ok())
}

/// `uuid:number` or, in MySQL 8.3 and later, `uuid:tag:number`; the dashes of the UUID may be
/// missing, as ProxySQL's binlog reader writes it. MariaDB's form is `domain-server-sequence`.
fn is_gtid(value: &str) -> bool {
    is_mysql_gtid(value) || is_mariadb_gtid(value)
}

fn is_mariadb_gtid(value: &str) -> bool {
    let mut numbers = value.split('-');
    let mut next = || numbers.next().filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
    let ids = [next(), next()].iter().all(|id| id.is_some_and(|id| id.parse::<u32>().is_ok()));
    ids && next().is_some_and(|number| number.parse::<u64>().is_ok()) && numbers.next().is_none()
}

fn is_mysql_gtid(value: &str) -> bool {
    let Some((source, number)) = value.rsplit_once(':') else { return false };
    let (uuid, tag) = source.split_once(':').unwrap_or((source, "_"));
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if !(1..=32).contains(&tag.len()) || !tag.bytes().all(is_word) {
        return false;
    }
    let digits = uuid.bytes().filter(u8::is_ascii_hexdigit).count();
    let dashes = uuid.bytes().filter(|byte| *byte == b'-').count();
    digits == 32 && digits + dashes == uuid.len() && dashes <= 4 && number.parse::<u64>().is_ok()
}

fn access_mode(value: &str) -> Option<AccessMode> {
    match value {
        "read_write" => Some(AccessMode::ReadWrite),
        "read_only" => Some(AccessMode::ReadOnly),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_keys() {
        let gtid = "3e11fa47-71ca-11e1-9e33-c80aa9429562:23";
        let text = format!(
            " hostgroup=2; cache_ttl = 500;query_delay=1;query_retries=2;query_timeout=3;mirror=4;max_lag_ms=600000;\
             min_epoch_ms=1700000000000;min_gtid={gtid};create_new_connection=1;shard=shop.t_1;access_mode=read_only;\
             causal_reads=user;causal_scope=shop;"
        );
        let want = Hints {
            hostgroup: Some(2),
            cache_ttl: Some(500),
            query_delay: Some(1),
            query_retries: Some(2),
            query_timeout: Some(3),
            mirror: Some(4),
            max_lag_ms: Some(MAX_LAG_MS),
            min_epoch_ms: Some(1_700_000_000_000),
            min_gtid: Some(gtid),
            create_new_connection: true,
            shard: Some("shop.t_1"),
            access_mode: Some(AccessMode::ReadOnly),
            causal_reads: Some("user"),
            causal_scope: Some("shop"),
        };
        assert_eq!(parse(text.as_bytes()), want);
        let shouted = text.to_ascii_uppercase().replace("READ_ONLY", "read_only");
        let min_gtid = Some("3E11FA47-71CA-11E1-9E33-C80AA9429562:23");
        let (causal_reads, causal_scope) = (Some("USER"), Some("SHOP"));
        let want = Hints { min_gtid, shard: Some("SHOP.T_1"), causal_reads, causal_scope, ..want };
        assert_eq!(parse(shouted.as_bytes()), want, "ProxySQL's keys have no case");
    }

    #[test]
    fn what_does_not_fit_is_not_there() {
        for comment in [
            "",
            "a comment",
            "hostgroup",
            "hostgroup=",
            "hostgroup=-1",
            "hostgroup=x;hostgroup=4294967295",
            "host_group=1",
            "max_lag_ms=600001",
            "min_gtid=23;min_gtid=3e11:1",
            "min_gtid=3e11fa47-71ca-11e1-9e33-c80aa9429562::23",
            "min_gtid=0-1;min_gtid=0-1-;min_gtid=0-1-2-3;min_gtid=0-+1-2;min_gtid=4294967296-1-1",
            "create_new_connection=yes;causal_scope=;access_mode=both",
            "hostgroup=\u{661}",
        ] {
            assert_eq!(parse(comment.as_bytes()), Hints::default(), "{comment}");
        }
        let tagged = "3e11fa47-71ca-11e1-9e33-c80aa9429562:online:23";
        assert_eq!(parse(format!("min_gtid={tagged}").as_bytes()).min_gtid, Some(tagged));
        assert_eq!(parse(b"min_gtid=0-1-23").min_gtid, Some("0-1-23"));
        assert_eq!(parse(b"x\xff=1;hostgroup=1;y=2").hostgroup, Some(1));
    }
}
