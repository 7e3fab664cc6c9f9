//! Asking servers of an Aurora cluster.

use std::time::Duration;

use config::{AuroraHostgroups, Endpoint};
use monitor::{AuroraMember, AuroraWord, Word};
use observe::rows::Detail;

use crate::question::Rows;

/// Asks a server how its cluster is. Servers that were not heard of for three minutes, or say that
/// they are ten behind, are mostly none any more.
pub(crate) const QUESTION: &str = "SELECT SERVER_ID, SESSION_ID, LAST_UPDATE_TIMESTAMP, \
    REPLICA_LAG_IN_MILLISECONDS, CPU FROM information_schema.REPLICA_HOST_STATUS \
    WHERE (SESSION_ID = 'MASTER_SESSION_ID' OR REPLICA_LAG_IN_MILLISECONDS <= 600000) \
    AND LAST_UPDATE_TIMESTAMP > (SELECT MAX(LAST_UPDATE_TIMESTAMP) FROM information_schema.REPLICA_HOST_STATUS) \
    - INTERVAL 180 SECOND ORDER BY SERVER_ID";

/// What a row of `mysql_aws_aurora_hostgroups` says about answers.
#[derive(Debug, Clone)]
pub(crate) struct Reading {
    port: u16,
    domain: String,
    add: Duration,
    least: Duration,
}

impl Reading {
    /// What this row says.
    pub(crate) fn new(row: &AuroraHostgroups) -> Self {
        Self {
            port: u16::try_from(row.aurora_port).unwrap_or(u16::MAX),
            domain: row.domain_name.clone(),
            add: row.add_lag,
            least: row.min_lag,
        }
    }

    /// What an answer says; `None` if it makes no sense.
    pub(crate) fn read(&self, rows: &Rows) -> Option<Word<Endpoint>> {
        let members = (0..rows.len()).map(|at| self.member(rows, at));
        Some(Word::Aurora(AuroraWord { members: members.collect::<Option<_>>()? }))
    }

    fn member(&self, rows: &Rows, at: usize) -> Option<AuroraMember<Endpoint>> {
        let id = rows.text(at, "SERVER_ID").filter(|id| !id.is_empty())?;
        let number = |column| rows.text(at, column).and_then(|number| number.parse::<f64>().ok());
        let lag = number("REPLICA_LAG_IN_MILLISECONDS").unwrap_or(0.0).clamp(0.0, LAG_MS_MAX);
        let lag = Duration::from_secs_f64(lag / 1_000.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is between 0 and 100"
        )]
        let cpu = number("CPU").unwrap_or(0.0).clamp(0.0, 100.0) as u32;
        Some(AuroraMember {
            server: Endpoint::Tcp { host: format!("{id}{}", self.domain), port: self.port },
            id,
            session: rows.text(at, "SESSION_ID").unwrap_or_default(),
            updated: rows.text(at, "LAST_UPDATE_TIMESTAMP").unwrap_or_default(),
            lag,
            estimated: lag.max(self.least).saturating_add(self.add),
            cpu,
        })
    }
}

/// More than any lag, in milliseconds: a year.
const LAG_MS_MAX: f64 = 3.2e10;

/// What `mysql_server_aws_aurora_log` shows of each server, from `SERVER_ID` on.
pub(super) fn details(word: &AuroraWord<Endpoint>) -> Vec<Vec<Detail>> {
    let ms = |time: Duration| Detail::Number(i64::try_from(time.as_millis()).unwrap_or(i64::MAX));
    let row = |member: &AuroraMember<Endpoint>| {
        vec![
            Detail::Text(member.id.clone()),
            Detail::Text(member.session.clone()),
            Detail::Text(member.updated.clone()),
            ms(member.lag),
            ms(member.estimated),
            Detail::Number(member.cpu.into()),
        ]
    };
    word.members.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::question::tests::answer;

    #[test]
    fn a_server_says_how_its_cluster_is() {
        let row = AuroraHostgroups {
            domain_name: ".c.example".to_owned(),
            aurora_port: 3307,
            ..AuroraHostgroups::default()
        };
        let columns =
            ["server_id", "SESSION_ID", "LAST_UPDATE_TIMESTAMP", "REPLICA_LAG_IN_MILLISECONDS", "CPU"];
        let rows: [&[Option<&str>]; 2] = [
            &[Some("a"), Some("MASTER_SESSION_ID"), Some("2026-01-01 00:00:00.1"), Some("0"), Some("7.5")],
            &[Some("b"), Some("x"), Some("2026-01-01 00:00:00"), Some("1234.5"), None],
        ];
        let Some(Word::Aurora(word)) = Reading::new(&row).read(&answer(&columns, &rows).unwrap()) else {
            panic!()
        };
        assert_eq!(word.writer().map(|writer| writer.id.as_str()), Some("a"));
        assert_eq!(word.members[1].server, Endpoint::Tcp { host: "b.c.example".to_owned(), port: 3307 });
        let lags: Vec<_> = word.members.iter().map(|member| member.estimated.as_micros()).collect();
        assert_eq!(lags, [60_000, 1_264_500]);
        assert_eq!(details(&word)[0][5], Detail::Number(7));
        let nameless: [&[Option<&str>]; 1] = [&[None, None, None, None, None]];
        assert_eq!(Reading::new(&row).read(&answer(&columns, &nameless).unwrap()), None);
    }
}
