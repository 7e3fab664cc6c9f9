//! How sessions begin and end.

use wire::Capabilities;
use wire::command::Kind;

use super::commands::SETTLED;
use super::{ACCOUNTS, Author, Session};
use crate::cached::Caching;
use crate::step::{Command, Leave, Login, Step};

/// Collations that clients come with: MySQL's and MariaDB's general one, Latin-1, the older UTF-8,
/// binary, GBK.
const COLLATIONS: [u16; 8] = [45, 45, 45, 45, 8, 33, 63, 28];

impl Author {
    /// A new connection.
    pub(super) fn connect(&mut self) {
        self.sessions += 1;
        self.said += 1;
        let login = self.login();
        let left = if self.dice.chance(20) { self.dice.within(1..6) } else { self.dice.within(5..80) };
        let is_tame = self.caching.is_some() && self.dice.chance(85);
        self.session = Session {
            connected: true,
            capabilities: login.capabilities,
            left,
            is_tame,
            ..Session::default()
        };
        self.steps.push(Step::Connect(login));
    }

    fn login(&mut self) -> Login {
        let (account, password) = ACCOUNTS[usize::from(self.dice.chance(20))];
        let mut capabilities = testkit::client::CAPABILITIES;
        capabilities.set(Capabilities::FOUND_ROWS, self.dice.chance(30));
        // A reset takes it out of `sql_mode`, and a connection that was reset does not have it.
        capabilities.set(Capabilities::IGNORE_SPACE, self.gaps && self.dice.chance(10));
        capabilities.set(Capabilities::INTERACTIVE, self.dice.chance(10));
        for (capability, percent) in [
            (Capabilities::DEPRECATE_EOF, 30),
            (Capabilities::SESSION_TRACK, 40),
            (Capabilities::MULTI_STATEMENTS, 25),
        ] {
            if self.dice.chance(percent) {
                capabilities.remove(capability);
            }
        }
        let login = Login {
            account,
            password,
            schema: self.schema(),
            collation: *self.dice.pick(&COLLATIONS),
            capabilities,
        };
        if self.has_similar_sessions && self.dice.chance(80) {
            let ((account, password), capabilities) = (ACCOUNTS[0], testkit::client::CAPABILITIES);
            return Login {
                account,
                password,
                schema: Some("shared".to_owned()),
                collation: 45,
                capabilities,
            };
        }
        login
    }

    fn schema(&mut self) -> Option<String> {
        match self.dice.below(10) {
            0 => None,
            1 => Some(format!("{}b", self.db)),
            2 => Some("shared".to_owned()),
            _ => Some(self.db.clone()),
        }
    }

    /// Accounts to change to. Where answers are for all of them, all have the same privileges.
    fn accounts(&self) -> &'static [(&'static str, &'static str)] {
        if self.caching == Some(Caching::Shared) { &ACCOUNTS[..2] } else { &ACCOUNTS }
    }

    /// `COM_CHANGE_USER`, to an account that may do little as well.
    pub(super) fn change_user(&mut self) {
        let (account, password) = *self.dice.pick(self.accounts());
        let schema = if account == ACCOUNTS[2].0 { Some("shared".to_owned()) } else { self.schema() };
        let password = if self.dice.chance(3) { "wrong" } else { password };
        let collation = *self.dice.pick(&COLLATIONS);
        if !self.gaps {
            // Servers keep what was set with it; the proxy logs in anew.
            let off = !self.session.capabilities.contains(Capabilities::MULTI_STATEMENTS);
            self.say(Command::Plain(Kind::SetOption, vec![u8::from(off), 0]));
        }
        self.said += 1;
        self.steps.push(Step::ChangeUser(Login {
            account,
            password,
            schema,
            collation,
            capabilities: self.session.capabilities,
        }));
        self.forget();
        if password == "wrong" && !self.gaps {
            // What goes on then is half of each user.
            self.session = Session::default();
            return self.steps.push(Step::Leave(Leave::Silently));
        }
        self.one_of(&[
            "SELECT {tag}, DATABASE(), USER(), CURRENT_USER(), @@character_set_client, @a",
            "INSERT INTO {db}.t (a, b) VALUES ({n}, {tag})",
            "SELECT CONNECTION_ID()",
        ]);
        self.query(SETTLED);
        if account == ACCOUNTS[2].0 {
            // Few commands follow as a user without rights.
            self.session.left = self.session.left.min(6);
        }
    }

    /// The connection ends.
    pub(super) fn leave(&mut self) {
        let leave = match self.dice.below(20) {
            0..=9 => Leave::Quit,
            10..=15 => Leave::Silently,
            16 | 17 => {
                let sql = *self.dice.pick(&[
                    "SELECT {tag}, b.* FROM shared.big b ORDER BY id",
                    "SELECT {tag}",
                    "SELECT {tag}, SLEEP(0.02)",
                ]);
                Leave::Unread(Command::Query(self.filled(sql)))
            }
            _ => Leave::Torn,
        };
        self.said += 1;
        self.session = Session::default();
        self.steps.push(Step::Leave(leave));
    }

    /// Another connection sleeps, and this one wakes it.
    pub(super) fn kill(&mut self) {
        if self.is_certain {
            // Those who wait for a connection to sleep on may wait for those who wait to be the
            // next.
            return self.query("DO {n}");
        }
        let tag = format!("k{}", self.tag());
        let tag = format!("{}{tag}", self.db);
        self.said += 4;
        let whole = self.dice.chance(30);
        self.steps.push(Step::Kill { tag, whole });
        if !self.gaps {
            // The server of the session that kills has not heard of it, and still knows what it has
            // said before.
            self.query("DO {n}");
        }
    }
}
