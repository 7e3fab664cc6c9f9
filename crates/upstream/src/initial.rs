//! What connections to servers begin with (`init_connect`), and begin anew with when they were
//! reset for another session.

use std::collections::HashMap;

use config::Config;
use sql::lexer::{Kind, Lexer, Modes};
use wire::reply::Answer;
use wire::{Capabilities, Codec as _, packet};

use crate::Worker;
use crate::{Connection, OpenError, Reply, internal_query, query};

/// The statements by hostgroup, one by one.
#[derive(Debug, Default)]
pub(crate) struct InitConnects {
    /// Those of hostgroups whose rows have some of their own.
    hostgroups: HashMap<u32, Vec<Box<[u8]>>>,
    others: Vec<Box<[u8]>>,
}

impl InitConnects {
    /// What the variable and the rows of `mysql_hostgroup_attributes` say.
    pub(crate) fn new(config: &Config) -> Self {
        let rows = config.hostgroup_attributes.iter().filter(|row| !row.init_connect.is_empty());
        Self {
            hostgroups: rows.map(|row| (row.hostgroup_id, statements(&row.init_connect))).collect(),
            others: statements(&config.variables.init_connect),
        }
    }

    /// What connections to servers of this hostgroup begin with.
    pub(crate) fn of(&self, hostgroup: u32) -> &[Box<[u8]>] {
        self.hostgroups.get(&hostgroup).unwrap_or(&self.others)
    }
}

/// The statements of a text, which `;` separates: not every client allows several in one.
fn statements(text: &str) -> Vec<Box<[u8]>> {
    let bytes = text.as_bytes();
    let ends = Lexer::new(bytes, Modes::default()).filter(|token| token.kind == Kind::Sign(b';'));
    let mut all = Vec::new();
    let mut begin = 0;
    for end in ends.map(|token| token.start).chain([bytes.len()]) {
        let one = bytes.get(begin..end).unwrap_or_default().trim_ascii();
        if !one.is_empty() {
            all.push(one.into());
        }
        begin = end + 1;
    }
    all
}

/// Says at a connection that has just logged in what it begins with. A server's refusal is one of
/// the login, whose text names the variable: the client has said nothing of that kind.
pub(crate) async fn initialise(
    worker: &Worker,
    link: &mut Connection,
    hostgroup: u32,
    capabilities: Capabilities,
) -> Result<(), OpenError> {
    let settings = worker.settings();
    let statements = settings.initial.of(hostgroup);
    if statements.is_empty() {
        return Ok(());
    }
    let command = |text: &[u8]| (query(capabilities, text), Answer::Result);
    let commands: Vec<_> = statements.iter().map(|text| command(text)).collect();
    let unwell = |why: &str| OpenError::Login(format!("it was told what init_connect says, and {why}"));
    let replies = internal_query(worker, link, capabilities, &commands).await.map_err(unwell)?;
    if let Some(refused) = replies.iter().find(|reply| reply.error().is_some()) {
        return Err(refusal(refused));
    }
    if let Some(status) = replies.iter().rev().find_map(|reply| reply.outcome.status()) {
        link.state_mut().status = status;
    }
    if replies.iter().any(Reply::has_key) {
        link.last_id = None;
    }
    Ok(())
}

/// What a server has against a statement of `init_connect`, as a client hears it.
fn refusal(reply: &Reply) -> OpenError {
    match packet::Err::decode(reply.payload(), Capabilities::PROTOCOL_41) {
        Ok(error) => {
            let message = format!("{} (in init_connect)", String::from_utf8_lossy(error.message));
            let told = packet::Err { message: message.as_bytes(), ..error };
            let payload = told.encode(Capabilities::PROTOCOL_41);
            OpenError::Refused { code: error.code, message: message.into_bytes(), payload }
        }
        Err(error) => OpenError::Login(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use config::HostgroupAttributes;

    use super::*;

    #[test]
    fn statements_are_told_one_by_one() {
        let of = |text| {
            statements(text).iter().map(|one| String::from_utf8_lossy(one).into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(of(""), [""; 0]);
        assert_eq!(of(" ; ;"), [""; 0]);
        assert_eq!(of("SET a = ';' ; SET b = 1;"), ["SET a = ';'", "SET b = 1"]);
        assert_eq!(of("SET NAMES utf8mb4 /* ; */"), ["SET NAMES utf8mb4 /* ; */"]);
    }

    #[test]
    fn a_hostgroup_may_have_its_own() {
        let mut config = Config::default();
        config.variables.init_connect = "SET @a = 1".to_owned();
        let row = |hostgroup_id, init_connect: &str| HostgroupAttributes {
            hostgroup_id,
            init_connect: init_connect.to_owned(),
            ..Default::default()
        };
        config.hostgroup_attributes = vec![row(1, "SET @b = 2"), row(2, "")];
        let initial = InitConnects::new(&config);
        let of = |hostgroup| initial.of(hostgroup).iter().map(|one| &**one).collect::<Vec<_>>();
        assert_eq!([of(0), of(1), of(2)], [[b"SET @a = 1"], [b"SET @b = 2"], [b"SET @a = 1"]]);
    }
}
