//! Files of other proxies and their dumps, or what is wrong with them: `golden/NAME.yaml` and
//! `golden/NAME.dump`. `POINTSMAN_WRITE_GOLDEN=1` writes the dumps anew.

use std::fmt::Display;
use std::path::Path;

use shard::read::{Imported, Options, Problems, Yaml, YamlNode, kingshard, own, own_form, own_tree, sphere};

const OPTIONS: Options = Options { first_hostgroup: 10, utc_offset_seconds: 0 };

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden"))
}

fn text(file: &str) -> String {
    std::fs::read_to_string(folder().join(file)).unwrap()
}

fn check(name: &str, read: Result<impl Display, impl Display>) {
    let dump = match read {
        Ok(model) => format!("{model}"),
        Err(problems) => format!("refused\n{problems}\n"),
    };
    assert!(!dump.contains("secret"), "a password is in the dump of {name}");
    let path = folder().join(format!("{name}.dump"));
    if std::env::var_os("POINTSMAN_WRITE_GOLDEN").is_some() {
        std::fs::write(&path, &dump).unwrap();
    }
    assert_eq!(dump, std::fs::read_to_string(&path).unwrap(), "{name}");
}

#[test]
fn kingshard_files() {
    for name in ["kingshard", "kingshard-broken", "kingshard-twice", "kingshard-userless"] {
        let file = format!("{name}.yaml");
        check(name, kingshard(Path::new(&file), &text(&file), OPTIONS));
    }
}

#[test]
fn sphere_files() {
    for (name, files) in [
        ("sphere-5", vec!["sphere-5.yaml", "sphere-5.global.yaml", "sphere-empty.yaml"]),
        ("sphere-4", vec!["sphere-4.yaml", "sphere-4.server.yaml"]),
        ("sphere-broken", vec!["sphere-broken.yaml", "sphere-broken.global.yaml"]),
        ("sphere-apart", vec!["sphere-apart.yaml"]),
        ("sphere-common", vec!["sphere-common.yaml"]),
        ("sphere-split", vec!["sphere-split.yaml"]),
        ("sphere-split-broken", vec!["sphere-split-broken.yaml"]),
    ] {
        let texts: Vec<String> = files.iter().map(|file| text(file)).collect();
        let files: Vec<_> =
            files.iter().zip(&texts).map(|(file, text)| (Path::new(*file), text.as_str())).collect();
        check(name, sphere(&files, OPTIONS));
    }
}

#[test]
fn own_files() {
    for name in ["own", "own-broken", "own-nodes"] {
        let file = format!("{name}.toml");
        check(name, own(Path::new(&file), &text(&file), &[1, 2]));
    }
}

fn sphere_file(name: &str) -> Result<Imported, Problems> {
    let file = format!("{name}.yaml");
    sphere(&[(Path::new(&file), &text(&file))], OPTIONS)
}

/// Layouts of other files in our own form mean the same.
#[test]
fn our_own_form_has_all_that_other_files_say() {
    let node = |value| YamlNode { line: 0, tag: None, value };
    let text = |value: &str| node(Yaml::Text(value.to_owned()));
    let entry = |key: &str, value| (key.to_owned(), value);
    let mut tables = 0;
    for imported in [
        kingshard(Path::new("k"), &self::text("kingshard.yaml"), OPTIONS),
        sphere_file("sphere-5"),
        sphere_file("sphere-4"),
        sphere_file("sphere-split"),
    ] {
        for table in imported.unwrap().scopes.iter().flat_map(|scope| scope.layout.tables()) {
            let Some(form) = own_form(table) else {
                assert!(table.placement().is_none(), "{table}");
                continue;
            };
            let nodes = table.nodes().iter().map(|at| {
                node(Yaml::Map(vec![
                    entry("hostgroup", text(&at.hostgroup.to_string())),
                    entry("schema", text(&at.schema)),
                    entry("table", text(&at.table)),
                ]))
            });
            let mut of_table = vec![
                entry("schema", text(&table.schema)),
                entry("table", text(&table.name)),
                entry("key", node(Yaml::List(table.key_columns().iter().map(|key| text(key)).collect()))),
                entry("nodes", node(Yaml::List(nodes.collect()))),
            ];
            of_table.extend(form);
            let root =
                node(Yaml::Map(vec![entry("table", node(Yaml::List(vec![node(Yaml::Map(of_table))])))]));
            let hostgroups: Vec<u32> = (0..100).collect();
            let read = own_tree(Path::new("own"), &root, &hostgroups)
                .unwrap_or_else(|problems| panic!("{table}{problems}"));
            assert_eq!(read.tables(), std::slice::from_ref(table));
            tables += 1;
        }
    }
    assert!(tables > 12, "{tables}");
}
