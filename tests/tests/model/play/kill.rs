//! Statements of another connection that are killed while they run.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use wire::command::Kind;

use super::{Played, Player};
use crate::side::{Answer, Side};
use crate::step::Command;

/// Longest time until a statement that is to be killed runs.
const RUNNING_TIME_MAX: Duration = Duration::from_mins(2);
/// What an error begins with, in the answer to a `KILL`.
const REFUSED: &[u8] = b"\\xff";

impl Player<'_> {
    /// Kills the statement of another connection that sleeps, or that connection.
    pub(super) async fn kill(&mut self, tag: &str, whole: bool) -> Played {
        let tag = &self.world.unique(tag);
        let _turn = self.world.sleepers.acquire().await.unwrap_or_else(|error| panic!("{error}"));
        let direct = Side::connect(self.world.direct.server.address(), &self.login).await;
        let proxied = Side::connect(self.world.proxy.tcp(), &self.login).await;
        let (mut direct, mut proxied) = match (direct, proxied) {
            (Ok(direct), Ok(proxied)) => (direct, proxied),
            (direct, proxied) => {
                let why = format!("no second connection: {:?}, {:?}", direct.err(), proxied.err());
                return Err(self.difference(tag.to_owned(), why, Answer::default(), Answer::default()));
            }
        };
        let sleep = Command::Query(format!("SELECT '{tag}', SLEEP(100) FROM (SELECT 1) one"));
        let begun = async {
            direct.say(std::slice::from_ref(&sleep)).await?;
            proxied.say(std::slice::from_ref(&sleep)).await
        };
        begun.await.unwrap_or_else(|error| panic!("{error}"));
        if !self.are_sleeping(tag).await {
            let why = "the statement to be killed does not run on both servers".to_owned();
            return Err(self.difference(format!("{sleep:?}"), why, Answer::default(), Answer::default()));
        }
        let kill = if whole { "KILL" } else { "KILL QUERY" };
        let expected = self.kill_one(&mut direct, true, kill).await?;
        let got = self.kill_one(&mut proxied, false, kill).await?;
        if expected != got {
            return Err(self.difference(
                kill.to_owned(),
                "the answer is another one".to_owned(),
                expected,
                got,
            ));
        }
        if expected.frames.first().is_some_and(|frame| frame.payload.starts_with(REFUSED)) {
            return Ok(expected); // it sleeps on, and is left
        }
        let ping = Command::Plain(Kind::Ping, Vec::new());
        for command in [sleep, ping, Command::Query(format!("SELECT '{tag} still there'"))] {
            self.commands += 1;
            // The sleeper has been asked already.
            let is_sleep = matches!(&command, Command::Query(sql) if sql.contains("SLEEP"));
            if is_sleep {
                let expected = direct.finish(&command).await.unwrap_or_else(|error| panic!("{error}"));
                if whole {
                    return match proxied.at_end_or_error().await {
                        Ok(()) => Ok(expected),
                        Err(why) => {
                            Err(self.difference(format!("{command:?}"), why, expected, Answer::default()))
                        }
                    };
                }
                if let Err((got, why)) = proxied.expect(&command, &expected).await {
                    return Err(self.difference(format!("{command:?}, killed"), why, expected, got));
                }
                continue;
            }
            let expected = direct.ask(&command).await.unwrap_or_else(|error| panic!("{error}"));
            let _ = proxied.say(std::slice::from_ref(&command)).await;
            if let Err((got, why)) = proxied.expect(&command, &expected).await {
                return Err(self.difference(format!("{command:?}, after a kill"), why, expected, got));
            }
        }
        let _ = (direct.quit().await, proxied.quit().await);
        Ok(Answer::default())
    }

    /// Sends the kill of `victim` over this session; returns its answer.
    async fn kill_one(&mut self, victim: &mut Side, is_direct: bool, kill: &str) -> Played {
        let command = Command::Query(format!("{kill} {}", victim.names.own_id));
        let Some((direct, proxied)) = &mut self.sides else { return Ok(Answer::default()) };
        let killer = if is_direct { direct } else { proxied };
        let answer = killer.ask(&command).await;
        self.commands += usize::from(is_direct);
        let mut answer = answer.map_err(|error| {
            self.difference(format!("{command:?}"), error.to_string(), Answer::default(), Answer::default())
        })?;
        for frame in &mut answer.frames {
            // An error names whom it could not kill.
            let shown = frame.payload.escape_ascii().to_string();
            frame.payload = shown.replace(&victim.names.own_id.to_string(), "ID").into_bytes();
        }
        Ok(answer)
    }

    /// Waits until a statement with this tag sleeps on both servers.
    async fn are_sleeping(&self, tag: &str) -> bool {
        let deadline = Instant::now() + RUNNING_TIME_MAX;
        while Instant::now() < deadline {
            if self.world.sleeping(tag).await {
                return true;
            }
            sleep(Duration::from_millis(5)).await;
        }
        false
    }
}
