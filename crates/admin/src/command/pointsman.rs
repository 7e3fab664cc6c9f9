//! `POINTSMAN ...`: what ProxySQL does not have.

use super::{Command, Statement};
use crate::layers::Module;

/// `POINTSMAN CHECK CONFIG`, `POINTSMAN CACHE ADVISE`, `POINTSMAN DIFF <module>`,
/// `POINTSMAN ROLLBACK <module> [TO <version>]`, `POINTSMAN RESUME DDL <id>`,
/// `POINTSMAN FORGET DDL <id>`.
pub(super) fn parse(statement: &Statement<'_>) -> Option<Command> {
    let words = statement.upper.strip_prefix("POINTSMAN ")?;
    if words == "CACHE ADVISE" {
        return Some(Command::CacheAdvise);
    }
    if words == "CHECK CONFIG" {
        return Some(Command::CheckConfig);
    }
    if let Some(name) = words.strip_prefix("DIFF ") {
        return module(name).map(Command::Diff);
    }
    if let Some(id) = words.strip_prefix("RESUME DDL ") {
        return Some(Command::ResumeDdl(id.parse().ok()?));
    }
    if let Some(id) = words.strip_prefix("FORGET DDL ") {
        return Some(Command::ForgetDdl(id.parse().ok()?));
    }
    let target = words.strip_prefix("ROLLBACK ")?;
    match target.rsplit_once(" TO ") {
        None => Some(Command::Rollback(module(target)?, None)),
        Some((name, version)) => Some(Command::Rollback(module(name)?, Some(version.parse().ok()?))),
    }
}

/// The commands without a number.
pub(super) fn spellings() -> Vec<String> {
    let of = |verb: &'static str| {
        Module::ALL.into_iter().map(move |module| format!("POINTSMAN {verb} {}", module.words()))
    };
    ["POINTSMAN CHECK CONFIG", "POINTSMAN CACHE ADVISE"]
        .map(str::to_owned)
        .into_iter()
        .chain(of("DIFF"))
        .chain(of("ROLLBACK"))
        .collect()
}

fn module(words: &str) -> Option<Module> {
    Module::ALL.into_iter().find(|module| module.words() == words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_our_own() {
        let of = |text: &str| Command::of(&Statement::new(text));
        assert_eq!(of("pointsman check config"), Some(Command::CheckConfig));
        assert_eq!(of("pointsman diff mysql servers"), Some(Command::Diff(Module::MysqlServers)));
        assert_eq!(of("pointsman cache advise"), Some(Command::CacheAdvise));
        let rollback = |to| Some(Command::Rollback(Module::Scheduler, to));
        assert_eq!(of("pointsman rollback scheduler"), rollback(None));
        assert_eq!(of("pointsman rollback scheduler to 7"), rollback(Some(7)));
        assert_eq!(of("pointsman resume ddl 7"), Some(Command::ResumeDdl(7)));
        assert_eq!(of("pointsman forget ddl 7"), Some(Command::ForgetDdl(7)));
        for text in [
            "pointsman resume ddl",
            "pointsman forget ddl x",
            "pointsman",
            "pointsman diff",
            "pointsman rollback scheduler to x",
            "pointsman diff nothing",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }
}
