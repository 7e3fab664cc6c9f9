//! Whom a test's clients log in as: the proxy must know them, as it must know all users.

use std::collections::BTreeMap;

use crate::suite::Test;

/// Users with their passwords, by name. Of several passwords that a user has in turn, the first that is not empty.
pub(crate) type Users = BTreeMap<String, String>;

/// Everybody whom the test logs in as.
pub(crate) fn of(test: &Test) -> Users {
    let mut users = Users::new();
    for line in test.sources.iter().flat_map(|source| source.lines()) {
        let command = line.trim().trim_start_matches("--").trim_start();
        let login = connected(command).or_else(|| changed_to(command)).or_else(|| on_command_line(command));
        if let Some((user, password)) = login {
            let user = unquoted(&user);
            let password = unquoted(&password);
            let odd = |text: &str| text.contains(['$', '`', '\u{fffd}']);
            if !user.is_empty() && !odd(&user) && !odd(&password) {
                let known = users.entry(user).or_default();
                if known.is_empty() {
                    *known = password;
                }
            }
        }
    }
    users
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

    fn login(user: &str, password: &str) -> Option<(String, String)> {
        Some((user.to_owned(), password.to_owned()))
    }

    #[test]
    fn logins_are_found_in_every_spelling() {
        assert_eq!(connected("connect (con1,localhost,u1,pw,test);"), login("u1", "pw"));
        assert_eq!(connected("connect con1, localhost, u1;"), login("u1", ""));
        assert_eq!(connected("connection con1;"), None);
        assert_eq!(changed_to("change_user u1,pw;"), login("u1", "pw"));
        assert_eq!(on_command_line("exec $MYSQL -uu1 --password=pw test"), login("u1", "pw"));
        assert_eq!(on_command_line("exec $MYSQL test"), None);
    }
}
