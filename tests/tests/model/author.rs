//! Writes random sessions, by seed alone. It knows roughly what its session has open, so that most
//! statements mean something; what fails is as good as what works.

mod again;
mod commands;
mod last;
mod locks;
mod prepared;
mod reads;
mod sessions;
mod texts;
mod transactions;
mod variables;
mod writes;

use wire::Capabilities;

use prepared::name;

use crate::cached::Caching;
use crate::step::{Command, Param, Step};
use e2e::dice::Dice;

/// Accounts and their passwords. The last may do little.
pub(crate) const ACCOUNTS: [(&str, &str); 3] =
    [("model_a", "secret-a"), ("model_b", "secret-b"), ("model_poor", "secret-c")];

/// Slots for prepared statements.
const SLOTS: usize = 8;

/// What may be written.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, not states")]
pub(crate) struct Scope {
    /// Also statements whose answers are known to differ.
    pub(crate) gaps: bool,
    /// Sessions share connections: what `FOUND_ROWS()` says is only certain behind a `SELECT`, and
    /// `GET DIAGNOSTICS` does not know how many rows there were.
    pub(crate) shares: bool,
    /// They do so at MySQL, or get answers from the cache: which types user variables have in a
    /// prepared statement follows from when it was executed first, parameters keep the types of
    /// their first values, and warnings may be gone behind a `COM_INIT_DB`.
    pub(crate) forgets_types: bool,
    /// They are MySQL's: behind a key that was named, keys are counted in the steps of the session
    /// that had the table open before, until a session says `FLUSH TABLES`.
    pub(crate) inherits_steps: bool,
    /// Most sessions have the same login and send many of the same statements.
    pub(crate) has_similar_sessions: bool,
    /// For whom reads are cached, if they are: then reads are said again, and by others.
    pub(crate) caching: Option<Caching>,
}

/// Who writes the script of one client.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, not states")]
pub(crate) struct Author {
    dice: Dice,
    gaps: bool,
    /// Whether what is not certain for sessions that share connections is left out.
    is_certain: bool,
    forgets_types: bool,
    inherits_steps: bool,
    has_similar_sessions: bool,
    caching: Option<Caching>,
    client: usize,
    /// The client's schema; there is another with a `b` behind its name.
    db: String,
    steps: Vec<Step>,
    /// Commands so far.
    said: usize,
    /// Sessions so far.
    sessions: usize,
    session: Session,
}

/// What is open in a session.
#[derive(Debug, Default)]
struct Session {
    connected: bool,
    /// Whether it says only what leaves it answers from the cache.
    is_tame: bool,
    capabilities: Capabilities,
    /// Commands until it ends.
    left: usize,
    /// How often what texts mean may have changed.
    modes: usize,
    slots: [Option<Slot>; SLOTS],
    /// What has to be ended, and when at the latest.
    due: Vec<(usize, Command)>,
}

/// A prepared statement.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, not states")]
struct Slot {
    params: &'static [P],
    is_select: bool,
    has_tables: bool,
    /// What type its values have, where types are forgotten.
    class: usize,
    /// The last parameters that were sent with their types.
    typed: Option<Vec<Param>>,
    /// In which modes that was.
    typed_in: usize,
    has_cursor: bool,
    /// MySQL 9.7 answers without rows, and not as the protocol says, when it is then executed
    /// without a cursor.
    had_cursor: bool,
    /// Others have it as well.
    is_common: bool,
    /// It had values that were sent in parts.
    had_parts: bool,
}

/// What a parameter of a prepared statement may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum P {
    /// The id of a row, more or less.
    Id,
    /// Any number.
    Number,
    /// A text, which may be sent as long data.
    Text,
    /// The tag of the command.
    Tag,
    /// Whatever; its value alone decides its type.
    Any,
}

/// What is written.
type Topic = fn(&mut Author);

/// And how often.
const TOPICS: [(usize, Topic); 16] = [
    (16, Author::read),
    (16, Author::write),
    (10, Author::ask_for_last),
    (9, Author::variable),
    (7, Author::user_variable),
    (9, Author::transaction),
    (14, Author::prepared),
    (3, Author::text_prepared),
    (3, Author::temporary_table),
    (4, Author::lock),
    (4, Author::several),
    (4, Author::call),
    (5, Author::mistake),
    (5, Author::command),
    (3, Author::pipeline),
    (2, Author::define),
];

/// Whether a statement may change what texts mean.
fn sets_modes(sql: &str) -> bool {
    let sql = sql.to_lowercase();
    let is_set = sql.contains("set ")
        && ["names", "char", "collation", "sql_mode"].iter().any(|word| sql.contains(word));
    is_set || sql.starts_with("use ")
}

/// Several statements in one text, and stored code: whether they change modes is unknown.
const MAY_SET_MODES: [&str; 4] = ["PREPARE in_many", "SET @m =", "BEGIN NOT ATOMIC", "CALL "];

/// Whether a command is a read of tables that means the same when it is said again.
fn may_be_cached(command: &Command) -> bool {
    match command {
        Command::Query(sql) => {
            sql.starts_with("SELECT") && sql.contains(" FROM ") && !sql.to_lowercase().contains("lock")
        }
        Command::Execute(_, 0, params, _) => !params.contains(&Param::Sent),
        _ => false,
    }
}

impl Author {
    /// The script of one client: at least this many commands.
    pub(crate) fn script(seed: u64, client: usize, scope: Scope, db: &str, commands: usize) -> Vec<Step> {
        let mut author = Self {
            dice: Dice::new(seed, client),
            gaps: scope.gaps,
            is_certain: scope.shares && !scope.gaps,
            forgets_types: scope.forgets_types && !scope.gaps,
            inherits_steps: scope.inherits_steps && !scope.gaps,
            has_similar_sessions: scope.has_similar_sessions,
            caching: scope.caching,
            client,
            db: db.to_owned(),
            steps: Vec::new(),
            said: 0,
            sessions: 0,
            session: Session::default(),
        };
        while author.said < commands {
            author.next();
        }
        author.steps
    }

    /// The next step, or some that belong together.
    fn next(&mut self) {
        if !self.session.connected {
            return self.connect();
        }
        if self.session.left == 0 {
            return self.leave();
        }
        self.session.left -= 1;
        if let Some(place) = self.session.due.iter().position(|(at, _)| *at <= self.said) {
            let (_, command) = self.session.due.swap_remove(place);
            return self.say(command);
        }
        if self.has_similar_sessions && self.dice.chance(75) {
            return self.read_as_others();
        }
        if self.caching.is_some() && self.dice.chance(30) {
            return self.read_again();
        }
        let topics = if self.session.is_tame { &again::TAME[..] } else { &TOPICS };
        let all: usize = topics.iter().map(|(weight, _)| weight).sum();
        let mut number = self.dice.below(all);
        for (weight, topic) in topics {
            if number < *weight {
                return topic(self);
            }
            number -= weight;
        }
    }

    fn say(&mut self, command: Command) {
        self.said += 1;
        let again = if self.caching.is_some() && may_be_cached(&command) { self.dice.below(4) } else { 0 };
        self.said += again;
        for _ in 0..again {
            self.steps.push(Step::Say(command.clone()));
        }
        self.steps.push(Step::Say(command));
    }

    /// A statement, written in one of several ways.
    fn query(&mut self, sql: impl Into<String>) {
        let mut sql = sql.into();
        if self.is_certain {
            sql = sql.replace(", @r = ROW_COUNT", "");
            // MariaDB takes back the mode that it sets, but not its flag.
            sql = sql.replace("shared.p_mode()", "shared.p_none()");
            // At MariaDB only the connection knows whether a key was generated or set.
            sql = sql.replace(", sql_auto_is_null = 1", "");
        }
        let asks_found = sql.to_lowercase().contains("found_rows()");
        if asks_found && (self.is_certain || self.caching.is_some()) && !self.is_behind_read() {
            // Without tables, which may be locked: behind an error it is what the statement before
            // that has found.
            let read = self.filled("SELECT {tag} UNION ALL SELECT 2");
            self.say(Command::Query(read));
        }
        if sets_modes(&sql) {
            self.read_before_modes();
            self.session.modes += 1;
        } else if MAY_SET_MODES.iter().any(|beginning| sql.starts_with(beginning))
            // What was executed from the cache only is not prepared at this connection.
            || self.caching.is_some() && sql.starts_with("SET")
        {
            self.read_before_modes();
        }
        if self.inherits_steps {
            sql = sql.replace("SET auto_increment_increment", "SET @increment");
        }
        let command = self.spelled(sql);
        self.say(command);
    }

    /// Warnings of the statement before are lost if statements are prepared in front of what
    /// changes modes: there are to be none.
    fn read_before_modes(&mut self) {
        if self.is_certain && self.session.slots.iter().any(Option::is_some) {
            let read = self.filled("SELECT {tag}, id FROM shared.s ORDER BY id LIMIT 3");
            self.say(Command::Query(read));
        }
    }

    fn spelled(&mut self, sql: impl Into<String>) -> Command {
        let sql = self.filled(&sql.into());
        Command::Query(match self.dice.below(40) {
            0 => format!("{sql};"),
            1 => format!("/* {} */ {sql}", self.tag()),
            2 => format!("{sql} -- {}", self.tag()),
            3 => format!("  \n{sql} ; "),
            4 => format!("-- first\n{sql}"),
            5 => sql.replacen("SELECT", "select", 1),
            6 => format!("{sql} /* behind */"),
            7 => format!("# {}\n{sql}", self.tag()),
            _ => sql,
        })
    }

    /// Puts values where a template has names: `{tag}`, `{db}`, `{id}` (of a row), `{n}` (a small
    /// number).
    fn filled(&mut self, template: &str) -> String {
        let mut out = String::with_capacity(template.len() + 20);
        let mut rest = template;
        while let Some((before, (name, after))) =
            rest.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
        {
            out.push_str(before);
            let value = match name {
                "tag" => format!("'{}'", self.tag()),
                "db" => self.db.clone(),
                "id" => self.dice.within(1..9).to_string(),
                "n" => self.dice.below(50).to_string(),
                // Locks are the server's: other tests have other ones.
                "lock" => format!("'l{}_{}_{}'", self.db, self.sessions, self.dice.below(2)),
                "char" => {
                    let chars = ["a", "b", "\u{e9}", "\u{4e2d}", "\u{1f600}", "\\'", "%"];
                    (*self.dice.pick(&chars)).to_owned()
                }
                other => format!("{{{other}}}"),
            };
            out.push_str(&value);
            rest = after;
        }
        out + rest
    }

    /// Who asks, and as which command; where reads are cached, often nothing that tells that.
    fn tag(&mut self) -> String {
        if self.caching.is_some() && self.dice.chance(70) {
            return "all".to_owned();
        }
        format!("c{:02}s{}", self.client, self.said)
    }

    /// One of these templates as a statement.
    fn one_of(&mut self, templates: &[&str]) {
        let template = *self.dice.pick(templates);
        self.query(template);
    }

    /// Has this said after some more commands; or never, sometimes.
    fn later(&mut self, sql: &str) {
        if self.dice.chance(85) {
            let at = self.said + self.dice.within(1..12);
            let command = Command::Query(self.filled(sql));
            self.session.due.push((at, command));
        }
    }
}
