//! LOAD and SAVE: modules and the spellings of directions.

use super::{Command, Statement};
use crate::layers::{Module, Move};

/// The spellings of all directions: the verb, what stands behind the module, the move.
const DIRECTIONS: [(&str, &str, Move); 15] = [
    ("LOAD", "TO MEMORY", Move::DiskToMemory),
    ("LOAD", "TO MEM", Move::DiskToMemory),
    ("LOAD", "FROM DISK", Move::DiskToMemory),
    ("SAVE", "TO DISK", Move::MemoryToDisk),
    ("SAVE", "FROM MEMORY", Move::MemoryToDisk),
    ("SAVE", "FROM MEM", Move::MemoryToDisk),
    ("LOAD", "TO RUNTIME", Move::MemoryToRuntime),
    ("LOAD", "TO RUN", Move::MemoryToRuntime),
    ("LOAD", "FROM MEMORY", Move::MemoryToRuntime),
    ("LOAD", "FROM MEM", Move::MemoryToRuntime),
    ("SAVE", "TO MEMORY", Move::RuntimeToMemory),
    ("SAVE", "TO MEM", Move::RuntimeToMemory),
    ("SAVE", "FROM RUNTIME", Move::RuntimeToMemory),
    ("SAVE", "FROM RUN", Move::RuntimeToMemory),
    ("LOAD", "FROM CONFIG", Move::FileToMemory),
];

/// Modules that are in no configuration file.
const NOT_IN_FILES: [Module; 4] =
    [Module::SqliteserverVariables, Module::ClickhouseUsers, Module::ClickhouseVariables, Module::Coredump];

/// `LOAD <module> <direction>`, `SAVE <module> <direction>`, `LOAD MYSQL USER <name> TO RUNTIME`.
pub(super) fn parse(statement: &Statement<'_>) -> Option<Command> {
    let (verb, rest) = statement.upper.split_once(' ')?;
    if !matches!(verb, "LOAD" | "SAVE") {
        return None;
    }
    for module in Module::ALL {
        let Some(place) = rest.strip_prefix(module.words()).and_then(|rest| rest.strip_prefix(' ')) else {
            continue;
        };
        let direction = DIRECTIONS.iter().find(|entry| (entry.0, entry.1) == (verb, place));
        return direction
            .filter(|entry| exists(module, entry.2))
            .map(|entry| Command::Shift(module, entry.2));
    }
    let (name, place) = statement.after("LOAD MYSQL USER")?.split_once(' ')?;
    place.eq_ignore_ascii_case("TO RUNTIME").then(|| Command::LoadUser(name.to_owned()))
}

/// All commands that move a whole module.
pub(super) fn spellings() -> Vec<String> {
    let all = Module::ALL.into_iter().flat_map(|module| DIRECTIONS.map(|entry| (module, entry)));
    all.filter(|(module, entry)| exists(*module, entry.2))
        .map(|(module, (verb, place, _))| format!("{verb} {} {place}", module.words()))
        .collect()
}

/// Whether a module has this direction.
fn exists(module: Module, by: Move) -> bool {
    match (module, by) {
        (Module::Coredump, by) => by == Move::MemoryToRuntime,
        (module, Move::FileToMemory) => !NOT_IN_FILES.contains(&module),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<Command> {
        Command::of(&Statement::new(text))
    }

    #[test]
    fn every_module_has_every_spelling() {
        for module in Module::ALL {
            let words = module.words().to_ascii_lowercase();
            for (verb, place, by) in DIRECTIONS {
                let found = of(&format!("{verb}  {words} {place};"));
                if exists(module, by) {
                    assert_eq!(found, Some(Command::Shift(module, by)), "{verb} {words} {place}");
                } else {
                    assert!(matches!(found, None | Some(Command::Refused(_))), "{verb} {words} {place}");
                }
            }
        }
    }

    #[test]
    fn core_dumps_are_loaded_to_runtime_only() {
        let command = Some(Command::Shift(Module::Coredump, Move::MemoryToRuntime));
        for text in ["LOAD COREDUMP TO RUNTIME", "load coredump to run", "load coredump from mem"] {
            assert_eq!(of(text), command);
        }
        assert_eq!(of("SAVE COREDUMP TO DISK"), None);
    }

    #[test]
    fn one_word_too_many_is_no_command() {
        for text in [
            "LOAD MYSQL USERS",
            "LOAD MYSQL USERS TO",
            "LOAD MYSQL USERS TO RUNTIME now",
            "LOAD MYSQL USERS TO DISK",
            "SAVE MYSQL USERS TO RUNTIME",
            "LOAD MYSQL TO RUNTIME",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[test]
    fn one_user_can_be_loaded() {
        assert_eq!(of("load mysql user Bob to runtime"), Some(Command::LoadUser("Bob".to_owned())));
        assert_eq!(of("load mysql user a b To runtime"), None);
        assert_eq!(of("load mysql user to runtime"), None);
    }
}
