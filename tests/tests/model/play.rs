//! Runs a script on both sides, and stops at the first difference.

mod kill;

use std::collections::VecDeque;

use crate::side::{Answer, Side};
use crate::step::{Command, Leave, Login, Step};
use crate::world::World;

/// Steps that the message about a difference shows.
const HISTORY_LEN: usize = 20;

/// The first answer that is not the same.
#[derive(Debug)]
pub(crate) struct Difference {
    /// The place of the step in the script, from 0.
    pub(crate) at: usize,
    /// Commands until then.
    pub(crate) commands: usize,
    /// The command, in the words of the report.
    pub(crate) command: String,
    /// What is wrong.
    pub(crate) why: String,
    /// What the server itself has answered.
    pub(crate) expected: Answer,
    /// What came through the proxy.
    pub(crate) got: Answer,
    /// The steps before, with the first packet of their answers.
    pub(crate) history: VecDeque<(Step, Answer)>,
}

/// A session on both sides.
pub(crate) struct Player<'a> {
    world: &'a World,
    sides: Option<(Side, Side)>,
    login: Login,
    at: usize,
    commands: usize,
    history: VecDeque<(Step, Answer)>,
}

/// What a step comes to: the answer to show, or what is wrong.
type Played = Result<Answer, Box<Difference>>;

impl<'a> Player<'a> {
    /// A session that is not connected; `login` is how it connects when nothing else is said.
    pub(crate) const fn new(world: &'a World, login: Login) -> Self {
        Self { world, sides: None, login, at: 0, commands: 0, history: VecDeque::new() }
    }

    /// Runs all steps; returns the number of commands.
    pub(crate) async fn play(mut self, script: &[Step]) -> Result<usize, Box<Difference>> {
        for (at, step) in script.iter().enumerate() {
            self.at = at;
            let answer = self.step(step).await?;
            if self.history.len() == HISTORY_LEN {
                self.history.pop_front();
            }
            self.history.push_back((step.clone(), answer));
        }
        Ok(self.commands)
    }

    async fn step(&mut self, step: &Step) -> Played {
        if let Step::Connect(login) = step {
            self.sides = None;
            self.login = login.clone();
            return self.connect(login).await;
        }
        if self.sides.is_none() {
            if matches!(step, Step::Leave(_)) {
                return Ok(Answer::default());
            }
            let login = self.login.clone();
            let answer = self.connect(&login).await?;
            if self.sides.is_none() {
                return Ok(answer);
            }
        }
        match step {
            Step::Connect(_) => Ok(Answer::default()),
            Step::Say(command) => self.same(std::slice::from_ref(command)).await,
            Step::Ahead(commands) => self.same(commands).await,
            Step::Load(sql, data) => self.load(sql, data).await,
            Step::ChangeUser(login) => self.change_user(login).await,
            Step::Leave(leave) => self.leave(leave).await,
            Step::Kill { tag, whole } => self.kill(tag, *whole).await,
        }
    }

    /// Logs in on both sides, which must come to the same.
    async fn connect(&mut self, login: &Login) -> Played {
        let direct = Side::connect(self.world.direct.server.address(), login).await;
        let proxied = Side::connect(self.world.proxy.tcp(), login).await;
        self.commands += 1;
        match (direct, proxied) {
            (Ok(direct), Ok(proxied)) if direct.capabilities == proxied.capabilities => {
                let hides = self.world.caching.is_some();
                self.sides = Some((direct.without_plans(hides), proxied.without_plans(hides)));
                Ok(Answer::default())
            }
            (Err(expected), Err(got)) if expected == got => Ok(Answer::default()),
            (expected, got) => {
                let shown = |side: Result<Side, String>| side.map(|side| side.capabilities);
                let why = format!("the login has come to {:?}, not to {:?}", shown(got), shown(expected));
                Err(self.difference(format!("{login:?}"), why, Answer::default(), Answer::default()))
            }
        }
    }

    /// Runs commands on both sides: one after the other at the server itself, all at once through
    /// the proxy.
    async fn same(&mut self, commands: &[Command]) -> Played {
        let Some((mut direct, mut proxied)) = self.sides.take() else { return Ok(Answer::default()) };
        let mut answers = Vec::new();
        for command in commands {
            let answer = direct.ask(command).await;
            let answer = answer
                .unwrap_or_else(|error| panic!("no answer from the server itself to {command:?}: {error}"));
            let ended = answer.ended;
            answers.push(answer);
            if ended {
                break;
            }
        }
        if let Err(error) = proxied.say(&commands[..answers.len()]).await {
            let why = format!("it cannot be sent: {error}");
            return Err(self.difference(format!("{commands:?}"), why, Answer::default(), Answer::default()));
        }
        let mut last = Answer::default();
        for (index, (command, expected)) in commands.iter().zip(answers).enumerate() {
            self.commands += 1;
            if let Err((got, why)) = proxied.expect(command, &expected).await {
                let place = if commands.len() > 1 {
                    format!(", {index} of {} sent at once: {commands:?}", commands.len())
                } else {
                    String::new()
                };
                return Err(self.difference(format!("{command:?}{place}"), why, expected, got));
            }
            last = expected;
        }
        if proxied.has_more() {
            let why = "more bytes come than the answer has".to_owned();
            return Err(self.difference(format!("{commands:?}"), why, last, Answer::default()));
        }
        if !last.ended {
            self.sides = Some((direct, proxied));
        }
        Ok(last)
    }

    async fn load(&mut self, sql: &str, data: &[u8]) -> Played {
        let Some((mut direct, mut proxied)) = self.sides.take() else { return Ok(Answer::default()) };
        let expected = direct.load(sql, data).await;
        let expected =
            expected.unwrap_or_else(|error| panic!("the server itself does not answer {sql}: {error}"));
        self.commands += 1;
        match proxied.load(sql, data).await {
            Ok(got) if got == expected => {
                if !got.ended {
                    self.sides = Some((direct, proxied));
                }
                Ok(expected)
            }
            Ok(got) => {
                Err(self.difference(sql.to_owned(), "the answer is another one".to_owned(), expected, got))
            }
            Err(error) => {
                Err(self.difference(sql.to_owned(), error.to_string(), expected, Answer::default()))
            }
        }
    }

    async fn change_user(&mut self, login: &Login) -> Played {
        let Some((mut direct, mut proxied)) = self.sides.take() else { return Ok(Answer::default()) };
        let expected = direct.change_user(login).await;
        let expected = expected
            .unwrap_or_else(|error| panic!("the server itself does not change to {login:?}: {error}"));
        self.commands += 1;
        match proxied.change_user(login).await {
            Ok(got) if got == expected => {
                if !got.ended {
                    self.sides = Some((direct, proxied));
                }
                Ok(expected)
            }
            Ok(got) => Err(self.difference(
                format!("{login:?}"),
                "the answer is another one".to_owned(),
                expected,
                got,
            )),
            Err(error) => {
                Err(self.difference(format!("{login:?}"), error.to_string(), expected, Answer::default()))
            }
        }
    }

    async fn leave(&mut self, leave: &Leave) -> Played {
        let Some((mut direct, mut proxied)) = self.sides.take() else { return Ok(Answer::default()) };
        match leave {
            Leave::Quit => {
                self.commands += 1;
                let ends = (direct.quit().await, proxied.quit().await);
                if ends.1.is_err() {
                    return Err(self.difference(
                        format!("{leave:?}"),
                        format!("{ends:?}"),
                        Answer::default(),
                        Answer::default(),
                    ));
                }
            }
            Leave::Silently => {}
            Leave::Unread(command) => {
                self.commands += 1;
                let command = std::slice::from_ref(command);
                // Whether they could does not matter: they are gone.
                let _ = (direct.say(command).await, proxied.say(command).await);
            }
            Leave::Torn => {
                let _ = (direct.tear().await, proxied.tear().await);
            }
        }
        Ok(Answer::default())
    }

    fn difference(&mut self, command: String, why: String, expected: Answer, got: Answer) -> Box<Difference> {
        let history = std::mem::take(&mut self.history);
        Box::new(Difference { at: self.at, commands: self.commands, command, why, expected, got, history })
    }
}
