//! The manual and the example file say what the definitions say.
//!
//! `POINTSMAN_WRITE_DOCS=1 cargo test -p config --test manual` writes them anew.

use std::path::{Path, PathBuf};

use config::schema::{MYSQL_VARIABLES, Preset};
use config::{Config, manual};

const BEGIN: &str = "<!-- Generated from crates/config/src/schema: begin -->\n";
const END: &str = "<!-- Generated from crates/config/src/schema: end -->\n";

/// A file of the repository.
fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Compares the file with what it should be, after writing it if that was asked for.
fn check(path: &Path, expected: &str) {
    if std::env::var_os("POINTSMAN_WRITE_DOCS").is_some() {
        std::fs::write(path, expected).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap();
    let differing = found.lines().zip(expected.lines()).position(|(found, expected)| found != expected);
    assert!(
        found == expected,
        "{} is out of date from line {}; write it with POINTSMAN_WRITE_DOCS=1 cargo test -p config --test manual",
        path.display(),
        differing.map_or(found.lines().count().min(expected.lines().count()) + 1, |line| line + 1)
    );
}

#[test]
fn the_reference_is_that_of_the_definitions() {
    let path = file("docs/src/configuration.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the page has the line where the reference begins");
    let (_, after) = rest.split_once(END).expect("the page has the line where the reference ends");
    check(&path, &format!("{before}{BEGIN}\n{}\n{END}{after}", manual::reference()));
}

#[test]
fn the_example_is_that_of_the_definitions() {
    check(&file("pointsman.example.toml"), &manual::example());
}

#[test]
fn the_example_is_a_good_configuration() {
    let loaded = config::load(&file("pointsman.example.toml"), config::Strictness::Strict)
        .unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(loaded.warnings, Vec::<String>::new());
    assert_eq!(
        (loaded.config.listeners.len(), loaded.config.servers.len(), loaded.config.users.len()),
        (3, 2, 1)
    );
}

/// The commented lines of the example are valid, and change nothing.
#[test]
fn the_defaults_of_the_example_are_the_defaults() {
    let uncommented: String = manual::example()
        .lines()
        .filter(|line| !line.starts_with("#hostgroup ") && !line.starts_with("#threads "))
        .map(|line| match line.strip_prefix('#') {
            Some(setting) if !setting.starts_with(' ') => format!("{setting}\n"),
            _ => format!("{line}\n"),
        })
        .collect();
    let all =
        config::parse(&uncommented, Path::new("uncommented")).unwrap_or_else(|problems| panic!("{problems}"));
    let example = config::load(&file("pointsman.example.toml"), config::Strictness::Strict).unwrap().config;
    assert_eq!(all.config, example);
    let mut variables = Config::default().variables;
    variables.read_write_split = true;
    assert_eq!(example.variables, variables);
}

#[test]
fn the_page_explains_every_default_that_differs() {
    let page = std::fs::read_to_string(file("docs/src/configuration.md")).unwrap();
    let prose = page.split(BEGIN).next().unwrap_or_default();
    for field in MYSQL_VARIABLES.fields().filter(|field| field.proxysql_preset.is_some()) {
        assert!(prose.contains(&format!("`{}`", field.name)), "{}", field.name);
        assert_ne!(field.preset, Preset::Required);
    }
}

/// The smallest file of the page is one, in both formats.
#[test]
fn the_first_example_of_the_page_means_the_same_in_both_formats() {
    let page = std::fs::read_to_string(file("docs/src/configuration.md")).unwrap();
    let blocks: Vec<&str> = page.split("```").skip(1).step_by(2).collect();
    let [toml, cnf] = blocks.as_slice() else { panic!("{} blocks", blocks.len()) };
    let load =
        |text: &str| config::parse(text, Path::new("page")).unwrap_or_else(|problems| panic!("{problems}"));
    let toml = load(toml.strip_prefix("toml").unwrap());
    // Accounts of the admin port are ProxySQL's in the other one.
    let mut cnf = load(cnf).config;
    cnf.admin = toml.config.admin.clone();
    assert_eq!(toml.config, cnf);
    assert_eq!(toml.warnings, Vec::<String>::new());
    assert_eq!(toml.config.users[0].password, "secret");
}

/// The layouts of the page about shards are right.
#[test]
fn the_example_of_the_page_about_shards_is_a_layout() {
    let page = std::fs::read_to_string(file("docs/src/shards.md")).unwrap();
    let blocks = page.split("```toml").skip(1).filter_map(|rest| rest.split("```").next());
    let blocks: Vec<&str> = blocks.collect();
    let [example, sequence, ..] = blocks.as_slice() else { panic!("{} blocks", blocks.len()) };
    let loaded = config::parse(&format!("{example}{sequence}"), Path::new("page"));
    let loaded = loaded.unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(loaded.warnings, Vec::<String>::new());
    let layout = loaded.config.shards.unwrap();
    assert_eq!((layout.tables().len(), layout.groups().len(), layout.sequences().len()), (3, 1, 1));
    let functions = include_str!("../../shard/src/read/own/function.rs");
    let section = page.split("### Placement functions").nth(1).unwrap().split("### ").next().unwrap();
    for name in section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()) {
        assert!(name == "levels" || functions.contains(&format!("\"{name}\" =>")), "{name}");
    }
}
