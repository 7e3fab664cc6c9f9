//! Asking a server something over a connection of the monitor's: one command, and its answer.

use config::Endpoint;
use monitor::Word;
use session::identity::PLAIN;
use upstream::{Connection, Reply, Worker, internal_query};
use wire::command::Kind;
use wire::reply::Answer;
use wire::{Codec as _, packet};

use crate::probe::Failure;
use crate::question::Rows;
use crate::{cluster, rds, replicas};

/// The payload of a statement.
pub(crate) fn question_of(statement: &str) -> Vec<u8> {
    [&[Kind::Query as u8], statement.as_bytes()].concat()
}

/// What a server answers to one command.
pub(crate) async fn request(
    worker: &Worker,
    link: &mut Connection,
    payload: Vec<u8>,
    answer: Answer,
) -> Result<Reply, Failure> {
    let replies = internal_query(worker, link, PLAIN, &[(payload, answer)]).await;
    let replies = replies.map_err(|why| Failure::Stale(why.to_owned()))?;
    replies.into_iter().next().ok_or_else(|| Failure::Stale("no answer".to_owned()))
}

/// What a node of a Galera cluster says, or the server's error.
pub(crate) async fn ask_galera(
    worker: &Worker,
    link: &mut Connection,
) -> Result<Result<Word<Endpoint>, String>, Failure> {
    let mut answers = Vec::new();
    for question in cluster::galera::QUESTIONS {
        let reply = request(worker, link, question_of(question), Answer::Result).await?;
        if reply.error() == Some(cluster::galera::REJECTED) {
            return Ok(Ok(cluster::galera::rejecting()));
        }
        match refused(&reply).map_or_else(|| read(&reply), Err) {
            Ok(rows) => answers.push(rows),
            Err(error) => return Ok(Err(error)),
        }
    }
    let word = match &answers[..] {
        [status, variables] => cluster::galera::read(status, variables),
        _ => None,
    };
    Ok(word.ok_or_else(|| "it is no node of a Galera cluster".to_owned()))
}

/// Who a server is, and of which servers its RDS cluster consists, or its error.
pub(crate) async fn ask_rds(
    worker: &Worker,
    link: &mut Connection,
) -> Result<Result<Word<Endpoint>, String>, Failure> {
    let who = match query(worker, link, replicas::WHO).await? {
        Ok(who) => who,
        Err(error) => return Ok(Err(error)),
    };
    let reply = request(worker, link, question_of(rds::QUESTION), Answer::Result).await?;
    let rows = match refused(&reply) {
        None => read(&reply).map(Some),
        Some(_) if reply.error() == Some(rds::NO_SUCH_TABLE) => Ok(None),
        Some(error) => Err(error),
    };
    Ok(rows.and_then(|rows| {
        rds::read(&who, rows.as_ref()).ok_or_else(|| "it does not say who it is".to_owned())
    }))
}

/// The rows of a statement, or the server's error.
pub(crate) async fn query(
    worker: &Worker,
    link: &mut Connection,
    statement: &str,
) -> Result<Result<Rows, String>, Failure> {
    let reply = request(worker, link, question_of(statement), Answer::Result).await?;
    Ok(refused(&reply).map_or_else(|| read(&reply), Err))
}

/// The rows in an answer.
pub(crate) fn read(reply: &Reply) -> Result<Rows, String> {
    Rows::read(&reply.bytes).ok_or_else(|| "its answer makes no sense".to_owned())
}

/// The error that a server has answered with.
pub(crate) fn refused(reply: &Reply) -> Option<String> {
    let code = reply.error()?;
    let payload = reply.bytes.get(wire::frame::HEADER_LEN..).unwrap_or_default();
    let message =
        packet::Err::decode(payload, PLAIN).map(|error| String::from_utf8_lossy(error.message).into_owned());
    Some(format!("error {code}: {}", message.unwrap_or_default()))
}
