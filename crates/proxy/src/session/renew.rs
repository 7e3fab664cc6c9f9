//! Error 1615: a server wants a statement to be prepared again, because what it is about has changed too often, or does not fit into
//! its caches. It has executed nothing. The proxy prepares it once more over the same connection, and executes it there.

use wire::frame::HEADER_LEN;

use super::Session;
use super::execute::{NotPrepared, id};
use crate::ending::Ending;
use crate::limits::RENEWALS_MAX;

/// `ER_NEED_REPREPARE`.
const NEED_REPREPARE: u16 = 1615;

/// Whether this is the number of that error.
pub(super) const fn needs_preparing(code: u16) -> bool {
    code == NEED_REPREPARE
}

impl Session {
    /// Prepares the statement of `command` once more, so that it is executed next; if it cannot be, or was too often, the client gets the
    /// server's `answer`.
    pub(super) async fn renew(&mut self, command: Option<Vec<u8>>, answer: &[u8]) -> Result<(), Ending> {
        self.course.renewals += 1;
        let payload = command.as_deref().and_then(|command| command.get(HEADER_LEN..));
        // One that cannot be prepared here is the server's as it is: the next execution may work.
        let modes = self.course.modes();
        let can_be = |id: &u32| {
            let prepared = self.course.prepared.as_ref().and_then(|all| all.get(*id));
            prepared.is_some_and(|prepared| prepared.is_preparable_in(modes))
        };
        let statement = payload.and_then(id).filter(|_| self.course.renewals <= RENEWALS_MAX).filter(can_be);
        let (Some(mut command), Some(statement)) = (command, statement) else {
            self.course.renewals = 0;
            return self.write_to_client(answer).await;
        };
        self.close_here(statement).await?;
        match self.prepare_again(statement).await? {
            Ok(_) => {
                command.append(&mut self.backlog);
                self.backlog = command;
                Ok(())
            }
            Err(NotPrepared::Lost(error)) => self.reply_error(1, &error).await,
            Err(NotPrepared::Refused(_) | NotPrepared::Changed | NotPrepared::Cannot) => {
                self.write_to_client(answer).await
            }
        }
    }
}
