//! Manual pages and completions of shells, made from the command lines and kept in `packaging/`.
//!
//! `POINTSMAN_WRITE_PAGES=1 cargo test -p pointsman --bin pointsman pages` writes them anew.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::CommandFactory;
use clap_complete::Shell;

/// Set to write the files instead of comparing them.
const WRITE: &str = "POINTSMAN_WRITE_PAGES";

/// A program, by its command line.
fn program<C: CommandFactory>(name: &'static str) -> clap::Command {
    C::command().name(name).bin_name(name).version(env!("CARGO_PKG_VERSION"))
}

/// Every file, by its path in `packaging/`.
fn files() -> BTreeMap<PathBuf, Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let mut files = BTreeMap::new();
    for command in [program::<crate::cli::Cli>("pointsman"), program::<crate::proxysql::Cli>("proxysql")] {
        let name = command.get_name().to_owned();
        clap_mangen::generate_to(command.clone().disable_help_subcommand(true), folder.path()).unwrap();
        for (shell, file) in [
            (Shell::Bash, format!("bash/{name}")),
            (Shell::Zsh, format!("zsh/_{name}")),
            (Shell::Fish, format!("fish/{name}.fish")),
        ] {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut command.clone(), &name, &mut text);
            files.insert(Path::new("completions").join(file), text);
        }
    }
    for page in std::fs::read_dir(folder.path()).unwrap() {
        let page = page.unwrap();
        files.insert(Path::new("man").join(page.file_name()), std::fs::read(page.path()).unwrap());
    }
    files
}

#[test]
fn pages_and_completions_are_those_of_the_command_lines() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging");
    let files = files();
    for (path, text) in &files {
        let path = root.join(path);
        if std::env::var_os(WRITE).is_some() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
        }
        let kept = std::fs::read(&path).unwrap_or_default();
        assert!(kept == *text, "{} is not up to date: {WRITE}=1 writes it", path.display());
    }
    for page in std::fs::read_dir(root.join("man")).unwrap() {
        let page = Path::new("man").join(page.unwrap().file_name());
        assert!(files.contains_key(&page), "{} is the page of no command", page.display());
    }
}
