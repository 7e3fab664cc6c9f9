//! Asking a server something over a connection of the monitor's: one command, and its answer.

use config::Endpoint;
use monitor::Word;
use session::identity::PLAIN;
use upstream::{Connection, InternalQuery, Reply, Worker, ask};
use wire::reply::Answer;
use wire::{Codec as _, packet};

use crate::probe::Failure;
use crate::question::Rows;
use crate::{cluster, rds, replicas};

/// What a server answers to one command.
pub(crate) async fn request(
    worker: &Worker,
    link: &mut Connection,
    command: InternalQuery,
) -> Result<Reply, Failure> {
    ask(worker, link, PLAIN, command).await.map_err(|why| Failure::Stale(why.to_owned()))
}

/// What a server answers to a statement.
pub(crate) async fn say(worker: &Worker, link: &mut Connection, statement: &str) -> Result<Reply, Failure> {
    request(worker, link, (upstream::query(PLAIN, statement), Answer::Result)).await
}

/// What a node of a Galera cluster says.
pub(crate) async fn ask_galera(worker: &Worker, link: &mut Connection) -> Result<Word<Endpoint>, Failure> {
    let mut answers = Vec::new();
    for question in cluster::galera::QUESTIONS {
        let reply = say(worker, link, question).await?;
        if reply.error() == Some(cluster::galera::REJECTED) {
            return Ok(cluster::galera::rejecting());
        }
        answers.push(read(&reply)?);
    }
    let word = match &answers[..] {
        [status, variables] => cluster::galera::read(status, variables),
        _ => None,
    };
    word.ok_or(Failure::nonsense("it is no node of a Galera cluster"))
}

/// Who a server is, and of which servers its RDS cluster consists.
pub(crate) async fn ask_rds(worker: &Worker, link: &mut Connection) -> Result<Word<Endpoint>, Failure> {
    let who = query(worker, link, replicas::WHO).await?;
    let reply = say(worker, link, rds::QUESTION).await?;
    let rows = if reply.error() == Some(rds::NO_SUCH_TABLE) { None } else { Some(read(&reply)?) };
    rds::read(&who, rows.as_ref()).ok_or(Failure::nonsense("it does not say who it is"))
}

/// The rows of a statement.
pub(crate) async fn query(worker: &Worker, link: &mut Connection, statement: &str) -> Result<Rows, Failure> {
    read(&say(worker, link, statement).await?)
}

/// The rows in an answer.
pub(crate) fn read(reply: &Reply) -> Result<Rows, Failure> {
    accepted(reply)?;
    Rows::read(&reply.bytes).ok_or(Failure::nonsense("its answer makes no sense"))
}

/// Fails with the error that a server has answered with.
pub(crate) fn accepted(reply: &Reply) -> Result<(), Failure> {
    let Some(code) = reply.error() else { return Ok(()) };
    let error = packet::Err::decode(reply.payload(), PLAIN);
    let message = error.map(|error| String::from_utf8_lossy(error.message).into_owned());
    Err(Failure::Refused(format!("error {code}: {}", message.unwrap_or_default()).into()))
}
