//! What the proxy must be told for a test: whom its clients log in as, and how to talk to the
//! server.

use std::collections::BTreeMap;

use crate::suite::Test;
use crate::trial::Mode;

/// Users with their passwords, by name. Of several passwords that a user has in turn, the first two
/// that are not empty.
///
/// Logins that must fail do not count: the proxy may know nothing of such users.
pub(crate) type Users = BTreeMap<String, Passwords>;

/// A user's password, and the one that it has later.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Passwords {
    /// Empty if there is none.
    pub(crate) first: String,
    /// Empty if it stays the same.
    pub(crate) second: String,
}

impl From<&str> for Passwords {
    fn from(first: &str) -> Self {
        Self { first: first.to_owned(), second: String::new() }
    }
}

/// What a test needs of the proxy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    /// All users that it logs in as.
    pub(crate) users: Users,
    /// TLS to the server: a test that connects with TLS asks the server whether there is any.
    pub(crate) tls: bool,
    /// Compression to the server, for the same reason.
    pub(crate) compression: bool,
    /// Connections that it may have at a time, at most.
    pub(crate) connections: usize,
    /// Whether it may stop the writes of all other clients.
    pub(crate) stops_others: bool,
}

/// What `test` needs.
pub(crate) fn of(test: &Test, mode: Mode) -> Needs {
    let mut needs = Needs {
        compression: mode == Mode::Compress,
        connections: 1,
        stops_others: test.sources.iter().any(|source| stops_others(source)),
        ..Needs::default()
    };
    let mut must_fail = false;
    for command in test.sources.iter().flat_map(|source| commands(source)) {
        if let Some(codes) = strip_word(&command, "error") {
            must_fail = codes.split([',', ';']).all(|code| code.trim() != "0");
            continue;
        }
        // What stands between `error` and the command that it is about.
        if ["#", "replace_", "disable_", "enable_"].iter().any(|start| command.starts_with(start)) {
            continue;
        }
        if std::mem::take(&mut must_fail) {
            continue;
        }
        if strip_word(&command, "connect").is_some() {
            needs.connections += 1;
            // In capitals: options of the connection.
            needs.tls |= command.split(|end: char| !end.is_ascii_alphanumeric()).any(|word| word == "SSL");
            needs.compression |= command.contains("COMPRESS");
        }
        needs.tls |= command.contains("--ssl") && !command.contains("--ssl=0");
        let login =
            connected(&command).or_else(|| changed_to(&command)).or_else(|| on_command_line(&command));
        if let Some((user, password)) = login {
            needs.note(&unquoted(&user), unquoted(&password));
        }
    }
    needs
}

/// Whether a script has one of the statements that stop all writes.
fn stops_others(source: &str) -> bool {
    let lower = source.to_lowercase();
    ["read lock", "backup stage", "backup lock"].iter().any(|words| lower.contains(words))
}

impl Needs {
    fn note(&mut self, user: &str, password: String) {
        let odd = |text: &str| text.contains(['$', '`', '\u{fffd}']);
        if !user.is_empty() && !odd(user) && !odd(&password) {
            let known = self.users.entry(user.to_owned()).or_default();
            if known.first.is_empty() {
                known.first = password;
            } else if known.first != password && known.second.is_empty() {
                known.second = password;
            }
        }
    }
}

/// The commands of a script, without the dashes before them: a line each, except for a `connect`
/// that goes on up to a semicolon.
fn commands(source: &str) -> impl Iterator<Item = String> {
    let mut lines = source.lines();
    std::iter::from_fn(move || {
        let line = lines.next()?.trim();
        let mut command = line.trim_start_matches("--").trim_start().to_owned();
        if !line.starts_with("--") && strip_word(&command, "connect").is_some() {
            while !command.contains(';') {
                let Some(next) = lines.next() else { break };
                command.push('\n');
                command.push_str(next);
            }
        }
        Some(command)
    })
    .filter(|command| !command.is_empty())
}

/// `connect (NAME, HOST, USER, PASSWORD, ...)`, with or without brackets.
fn connected(command: &str) -> Option<(String, String)> {
    let rest = strip_word(command, "connect")?;
    let arguments = rest.trim_start().trim_start_matches('(');
    let end = arguments.find([')', ';']).unwrap_or(arguments.len());
    let mut fields = arguments[..end].split(',').skip(2).map(|field| field.trim().to_owned());
    Some((fields.next()?, fields.next().unwrap_or_default()))
}

/// `change_user USER, PASSWORD, SCHEMA`.
fn changed_to(command: &str) -> Option<(String, String)> {
    let arguments = strip_word(command, "change_user")?;
    let end = arguments.find(';').unwrap_or(arguments.len());
    let mut fields = arguments[..end].split(',').map(|field| field.trim().to_owned());
    Some((fields.next()?, fields.next().unwrap_or_default()))
}

/// `exec $MYSQL -uUSER -pPASSWORD` and its long forms.
fn on_command_line(command: &str) -> Option<(String, String)> {
    let rest = strip_word(command, "exec")?;
    let mut words = rest.split_whitespace().peekable();
    let (mut user, mut password) = (None, String::new());
    while let Some(word) = words.next() {
        if word == "-u" {
            user = words.peek().map(|&next| next.to_owned());
        } else if let Some(value) = word.strip_prefix("--user=").or_else(|| word.strip_prefix("-u")) {
            user = Some(value.to_owned());
        } else if let Some(value) = word.strip_prefix("--password=").or_else(|| word.strip_prefix("-p")) {
            value.clone_into(&mut password);
        }
    }
    Some((user?, password))
}

fn strip_word<'a>(command: &'a str, word: &str) -> Option<&'a str> {
    let (start, rest) = command.split_at_checked(word.len())?;
    let rest = Some(rest).filter(|_| start.eq_ignore_ascii_case(word))?;
    rest.starts_with(|next: char| next.is_whitespace() || next == '(').then_some(rest)
}

fn unquoted(text: &str) -> String {
    text.trim_matches(|quote| quote == '\'' || quote == '"').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(script: &str) -> Needs {
        let mut test = Test::new("t".into());
        test.sources.push(script.into());
        of(&test, Mode::Text)
    }

    #[test]
    fn logins_that_must_fail_do_not_count() {
        let users = needs(
            "--error 1045\n# why\nconnect (c,localhost,u1);\nerror 0,1045;\nconnect (c,localhost,u2,x);\n\
             CONNECT c,localhost,'u\n3',,;",
        )
        .users;
        assert_eq!(users, Users::from([("u2".into(), "x".into()), ("u\n3".into(), "".into())]));
    }

    #[test]
    fn a_user_may_have_two_passwords_in_turn() {
        let users = needs("connect c,localhost,u;\nconnect c,localhost,u,x;\nconnect c,localhost,u,y;").users;
        let both = Passwords { first: "x".to_owned(), second: "y".to_owned() };
        assert_eq!(users, Users::from([("u".into(), both)]));
    }

    #[test]
    fn tests_of_tls_and_compression_are_known() {
        assert_eq!(needs("connect (c,localhost,root,,,,,NOSSL);"), needs("connect (c,localhost,root);"));
        assert!(needs("connect (c,localhost,root,,,,,SSL);").tls);
        assert!(needs("exec $MYSQL --ssl-ca=x").tls);
        assert_eq!(needs("connect (c,localhost,root);\nconnect (d,localhost,root);").connections, 3);
        assert!(needs("FLUSH TABLES\nWITH READ LOCK;").stops_others);
        assert!(needs("connect (c,localhost,root,,,,,SSL COMPRESS);").compression);
    }

    fn login(user: &str, password: &str) -> (String, String) {
        (user.to_owned(), password.to_owned())
    }

    #[test]
    fn logins_are_found_in_every_spelling() {
        assert_eq!(connected("connect (con1,localhost,u1,pw,test);"), Some(login("u1", "pw")));
        assert_eq!(connected("connect con1, localhost, u1;"), Some(login("u1", "")));
        assert_eq!(connected("connection con1;"), None);
        assert_eq!(changed_to("change_user u1,pw;"), Some(login("u1", "pw")));
        assert_eq!(on_command_line("exec $MYSQL -uu1 --password=pw test"), Some(login("u1", "pw")));
        assert_eq!(on_command_line("exec $MYSQL test"), None);
    }
}
