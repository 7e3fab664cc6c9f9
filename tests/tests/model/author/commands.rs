//! Commands other than statements, and commands that are sent ahead.

use wire::Capabilities;
use wire::command::Kind;

use super::{Author, Session};
use crate::step::{Command, Step};

/// After a reset or another login MariaDB still knows `FOUND_ROWS()` of before; after this it does
/// not.
pub(super) const SETTLED: &str = "SELECT {tag}";

impl Author {
    /// `COM_PING`.
    pub(super) fn ping(&mut self) {
        self.say(Command::Plain(Kind::Ping, Vec::new()));
    }

    /// A command that is no statement.
    pub(super) fn command(&mut self) {
        match self.dice.below(16) {
            0..=2 => self.ping(),
            3..=5 => {
                let schema = *self.dice.pick(&["{db}", "{db}b", "shared", "nowhere", "{db}", ""]);
                let schema = self.filled(schema);
                self.read_before_modes();
                self.say(Command::Plain(Kind::InitDb, schema.into_bytes()));
                if self.forgets_types {
                    // Asked for the modes of statements that were prepared before, MySQL has no
                    // warnings any more.
                    self.query(SETTLED);
                }
            }
            6 | 7 => {
                let schema = *self.dice.pick(&["USE {db}", "USE `{db}b`", "use shared", "USE {db};"]);
                self.query(schema);
            }
            8 => {
                let option = u8::from(self.dice.chance(50));
                self.say(Command::Plain(Kind::SetOption, vec![option, 0]));
                self.several();
            }
            9 => {
                let table = *self.dice.pick(&["t", "u", "nowhere"]);
                let wildcard = *self.dice.pick(&["", "%", "a%"]);
                self.say(Command::Plain(Kind::FieldList, format!("{table}\0{wildcard}").into_bytes()));
            }
            // It takes away what the login has set, but the proxy has only logged in again.
            13 if self.session.capabilities.contains(Capabilities::IGNORE_SPACE) && !self.gaps => self.ping(),
            10..=12 => self.reset(),
            13 => self.change_user(),
            14 if self.dice.chance(40) => self.kill(),
            _ => self.ask_for_last(),
        }
    }

    /// `COM_RESET_CONNECTION`: nothing is open any more.
    fn reset(&mut self) {
        self.say(Command::Plain(Kind::ResetConnection, Vec::new()));
        self.forget();
        self.one_of(&[
            "SELECT {tag}, LAST_INSERT_ID(), ROW_COUNT(), @a, @@sql_mode, @@time_zone",
            "SELECT {tag}, DATABASE(), @@character_set_client, @@collation_connection, @@autocommit",
            "SHOW WARNINGS",
            "SELECT {tag}",
        ]);
        self.query(SETTLED);
    }

    /// Nothing is open any more, in a session that goes on.
    pub(super) fn forget(&mut self) {
        let Session { capabilities, left, is_tame, .. } = self.session;
        self.session = Session { connected: true, capabilities, left, is_tame, ..Session::default() };
    }

    /// Several commands that are sent before an answer is read.
    pub(super) fn pipeline(&mut self) {
        let begin = self.steps.len();
        for _ in 0..self.dice.within(2..7) {
            match self.dice.below(8) {
                0..=2 => self.read(),
                3 => self.write(),
                4 => self.ask_for_last(),
                5 => self.ping(),
                6 => self.variable(),
                _ => self.user_variable(),
            }
        }
        let steps = self.steps.split_off(begin);
        let mut ahead = Vec::new();
        for step in steps {
            match step {
                Step::Say(command) => ahead.push(command),
                // A file has to be waited for.
                other => self.steps.push(other),
            }
        }
        self.steps.push(Step::Ahead(ahead));
    }
}
