//! `COM_STMT_FETCH` of a statement that the backend in use does not have, and cannot prepare now:
//! it has no cursor there. The client hears what the server says of one that it has.

use wire::Capabilities;
use wire::command::Kind;
use wire::reply::Answer;

use super::Session;
use super::backlog::front;
use super::correction::correction;
use super::ids::refusal_with;
use crate::ending::Ending;
use crate::error::ClientError;

/// `ER_STMT_HAS_NO_OPEN_CURSOR`: nothing can be fetched from the statement.
pub(super) const NO_OPEN_CURSOR: u16 = 1421;

/// A statement without tables and parameters.
const ANY: &[u8] = b"SELECT 1";

impl Session {
    /// Answers the command in the backlog.
    pub(super) async fn refuse_fetch(&mut self, id: u32) -> Result<(), Ending> {
        let error = if let Some(error) = self.refusal_of_server(id).await? {
            error
        } else {
            let is_mariadb = self.worker.shared.says_mariadb().await;
            ClientError::NoCursor { id, is_mariadb }.to_packet(1, Capabilities::PROTOCOL_41)
        };
        if let Some(signal) = correction(&error) {
            self.correct(&signal).await?;
        }
        self.answer_here(Kind::StmtFetch, front(&error)).await?;
        self.course.note_error();
        Ok(())
    }

    /// What the backend in use says when another statement is fetched from, in the session's
    /// language: its packet, with this number.
    async fn refusal_of_server(&mut self, id: u32) -> Result<Option<Vec<u8>>, Ending> {
        let prepare = [&[Kind::StmtPrepare as u8][..], ANY].concat();
        let prepared = self.internal_query(&[(prepare, Answer::Prepare)]).await?.unwrap_or_default().pop();
        let Some(other) = prepared.and_then(|reply| reply.prepared) else { return Ok(None) };
        let fetch = [&[Kind::StmtFetch as u8][..], &other.id.to_le_bytes(), &1_u32.to_le_bytes()].concat();
        let refused = self.internal_query(&[(fetch, Answer::Fetch)]).await?.unwrap_or_default().pop();
        if self.backend.is_some() {
            self.close_at(self.course.hostgroup, other.id).await?;
        }
        let refused = refused.filter(|reply| reply.error() == Some(NO_OPEN_CURSOR));
        let own = |message: &str| Some(message.replacen(&format!("({})", other.id), &format!("({id})"), 1));
        Ok(refused.and_then(|reply| refusal_with(&reply.bytes, own)))
    }
}
