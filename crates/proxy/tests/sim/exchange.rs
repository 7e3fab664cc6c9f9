//! Commands of a client at once, and cursors.

use testkit::client::ClientError;
use wire::command::Kind;

use super::client::{Pair, Player, Then};
use super::command::{Command, Got, Handle};
use super::execution::Execution;
use super::model::Answer;

/// `ER_NEED_REPREPARE`.
const NEEDS_PREPARING: u16 = 1615;

impl Player {
    /// Commands that are sent before the first answer is read.
    pub(super) async fn commands(&mut self, pair: &mut Pair, commands: &[Command]) -> Then {
        for text in commands.iter().filter_map(Command::needs) {
            if self.prepare(pair, text).await == Then::Leave {
                return Then::Leave;
            }
        }
        self.sent = self.world.acknowledged.now();
        for command in commands {
            let handle = command.needs().and_then(|text| pair.handles.get_mut(text));
            let may_omit = !self.world.dice.one_in(4);
            let sent = command.send(&mut pair.client, handle, may_omit).await;
            if self.sent(sent) == Then::Leave {
                self.doubt(&pair.twin, commands.iter().filter_map(Command::statement));
                return Then::Leave;
            }
        }
        for (index, command) in commands.iter().enumerate() {
            let got = self.in_time(command.read(&mut pair.client)).await;
            if self.answered(pair, command, got).await == Then::Leave {
                // What stands behind it may have run without it: a `BEGIN`, say.
                for rest in [&commands[index..], &commands[index + 1..]] {
                    self.doubt(&pair.twin, rest.iter().filter_map(Command::statement));
                }
                return Then::Leave;
            }
        }
        Then::Go
    }

    /// Prepares a statement that is not.
    async fn prepare(&self, pair: &mut Pair, text: &str) -> Then {
        if !pair.handles.contains_key(text) {
            match self.in_time(pair.client.prepare(text)).await {
                Ok(prepared) => {
                    pair.twin.succeed();
                    pair.handles.insert(text.to_owned(), Handle::new(prepared));
                }
                Err(error) => return self.explain(&error, text),
            }
        }
        Then::Go
    }

    /// Looks at the answer to one of several commands.
    async fn answered(&mut self, pair: &mut Pair, command: &Command, got: Result<Got, ClientError>) -> Then {
        let what = format!("{command:?}");
        let got = match got {
            Ok(Got::Prepared(prepared)) => {
                pair.twin.succeed();
                return match command {
                    Command::Prepare(text) => self.keep(pair, text, Handle::new(prepared)).await,
                    _ => Then::Go,
                };
            }
            Ok(Got::Result(result)) => Ok(result),
            Err(error) if matches!(command, Command::Prepare(_)) => return self.explain(&error, &what),
            Err(error) => Err(error),
        };
        match command {
            Command::Ping | Command::ResetStatement(_) => {
                if let Err(error) = &got {
                    return self.explain(error, &what);
                }
                match command {
                    Command::Ping => pair.twin.ping(),
                    _ => pair.twin.succeed(),
                }
                // They do not tell that a transaction is lost, the next statement does; but the
                // flag is gone.
                if self.world.faults.loses_connections() {
                    return Then::Go;
                }
                self.compare(&Answer::OK, pair.twin.status(), &got, &what, false)
            }
            Command::Execute(execution) if self.needs_preparing(execution, &got) => {
                self.note_needs_preparing(pair, execution).await
            }
            _ => {
                if let (Err(_), Some(handle)) =
                    (&got, command.needs().and_then(|text| pair.handles.get_mut(text)))
                {
                    handle.types = None;
                }
                let (statement, is_binary) = (command.statement(), command.is_binary());
                self.judge(&mut pair.twin, statement, &what, got, is_binary)
            }
        }
    }

    /// Keeps a statement in place of the one with the same text.
    async fn keep(&self, pair: &mut Pair, text: &str, handle: Handle) -> Then {
        match pair.handles.insert(text.to_owned(), handle) {
            Some(old) => self.close(pair, old).await,
            None => Then::Go,
        }
    }

    /// Whether a statement has to be prepared anew: it is at another server than the transaction,
    /// or types that were told before another `SET NAMES` are not known at a new connection.
    fn needs_preparing<T>(&self, execution: &Execution, got: &Result<T, ClientError>) -> bool {
        let Err(ClientError::Server(error)) = got else { return false };
        error.code == NEEDS_PREPARING && (self.world.is_split || !execution.params.is_empty())
    }

    /// Gives up the handle of a statement that has to be prepared anew.
    async fn note_needs_preparing(&self, pair: &mut Pair, execution: &Execution) -> Then {
        pair.twin.fail(NEEDS_PREPARING, "Prepared statement needs to be re-prepared");
        match pair.handles.remove(&execution.text) {
            Some(handle) => self.close(pair, handle).await,
            None => Then::Go,
        }
    }

    /// Opens a cursor, and asks for rows a few times.
    pub(super) async fn cursor(&mut self, pair: &mut Pair, execution: &Execution, fetches: u32) -> Then {
        if self.prepare(pair, &execution.text).await == Then::Leave {
            return Then::Leave;
        }
        let Some(handle) = pair.handles.get_mut(&execution.text) else { return Then::Go };
        let body = handle.body(execution, true, true);
        self.sent = self.world.acknowledged.now();
        let sent = pair.client.send_command(Kind::StmtExecute, &body).await;
        if self.sent(sent) == Then::Leave {
            return Then::Leave;
        }
        let got = self.in_time(pair.client.read_result()).await;
        if self.needs_preparing(execution, &got) {
            return self.note_needs_preparing(pair, execution).await;
        }
        let statement = Command::Execute(execution.clone()).statement();
        self.judge_cursor(pair, (statement, &execution.text), got, fetches).await
    }
}
