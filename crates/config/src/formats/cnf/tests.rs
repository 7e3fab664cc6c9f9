//! libconfig's grammar, construct by construct, and against arbitrary input.

use proptest::prelude::*;

use super::parser::NESTING_MAX;
use super::*;
use crate::tree::{Entry, Node, Value};

fn parse(text: &str) -> Parsed {
    read(text, &Rc::from(Path::new("x.cnf")), Strictness::Strict)
}

/// The tree of a text that must be right, in a short form that leaves the places out.
fn tree(text: &str) -> String {
    let parsed = parse(text);
    assert!(parsed.problems.is_empty(), "{text}: {:?}", parsed.problems);
    show_entries(&parsed.root)
}

fn show_entries(entries: &[Entry]) -> String {
    let shown: Vec<String> =
        entries.iter().map(|entry| format!("{}={}", entry.key, show(&entry.node))).collect();
    shown.join(" ")
}

fn show(node: &Node) -> String {
    match &node.value {
        Value::Bool(value) => format!("{value}"),
        Value::Int(value) => format!("{value}"),
        Value::Float(value) => format!("{value:?}f"),
        Value::Text(text) => format!("{text:?}"),
        Value::Date(date) => panic!("libconfig has no dates: {date}"),
        Value::List(nodes) => format!("({})", nodes.iter().map(show).collect::<Vec<_>>().join(",")),
        Value::Group(entries) => format!("{{{}}}", show_entries(entries)),
    }
}

/// Line and message of the problem of a broken text.
fn problem(text: &str) -> (usize, String) {
    let parsed = parse(text);
    let [problem] = parsed.problems.as_slice() else { panic!("{text}: {parsed:?}") };
    (problem.line, problem.message.clone())
}

#[test]
fn settings_are_separated_by_anything_or_nothing() {
    for text in ["a=1 b=2", "a = 1; b : 2;", "a:1,\nb=2,", "a=1;b=2", "\u{c}\ta\r\n=\n1\nb =2"] {
        assert_eq!(tree(text), "a=1 b=2", "{text}");
    }
    assert_eq!(tree(""), "");
    assert_eq!(tree("*a-b_C*9 = 1"), "*a-b_C*9=1");
}

#[test]
fn groups_lists_and_arrays() {
    assert_eq!(
        tree("g = { a = 1; h : { } } l = ( 1, \"x\", (), { a=1 b=2 }, [ 1, 2 ], )"),
        "g={a=1 h={}} l=(1,\"x\",(),{a=1 b=2},(1,2))"
    );
    assert_eq!(tree("a = [ ]; b = [1,2,]; l = ()"), "a=() b=(1,2) l=()");
}

#[test]
fn comments_in_three_styles() {
    assert_eq!(
        tree("# a=0\n// b=0\na=1 # x\n/* c=0\n\"*/ b=2 // y\n/**/ /*/**/c=\"#//\" #"),
        "a=1 b=2 c=\"#//\""
    );
}

#[test]
fn numbers_of_all_forms() {
    assert_eq!(
        tree(
            "a=0 b=-12 c=+12 d=0x1F e=0XffL f=12L g=12LL h=9223372036854775807 i=0xFFFFFFFF j=-9223372036854775808"
        ),
        "a=0 b=-12 c=12 d=31 e=255 f=12 g=12 h=9223372036854775807 i=4294967295 j=-9223372036854775808"
    );
    assert_eq!(tree("a=1. b=.5 c=-1.5e3 d=1e2 e=+.5E-1"), "a=1.0f b=0.5f c=-1500.0f d=100.0f e=0.05f");
    for text in [
        "a=1x",
        "a=0x",
        "a=0xG",
        "a=9223372036854775808",
        "a=0x8000000000000000",
        "a=1_0",
        "a=+",
        "a=.",
        "a=1-2",
        "a=0x+1",
        "a=1.5L",
    ] {
        assert_eq!(problem(text).0, 1, "{text}");
    }
}

#[test]
fn booleans_in_any_case() {
    assert_eq!(tree("a=true b=FALSE c=True"), "a=true b=false c=true");
    assert_eq!(problem("a=yes").1, "expected a value, found a word without quotes");
}

#[test]
fn string_escapes_and_adjacent_strings() {
    assert_eq!(tree(r#"a="x\n\r\t\f\\\"y""#), format!("a={:?}", "x\n\r\t\x0c\\\"y"));
    assert_eq!(tree(r#"a="\x41\X7e\xc3" "\xa4""#), "a=\"A~ä\"");
    assert_eq!(tree("a=\"one \"\n  \"two\" # x\n \" three\" b=1"), "a=\"one two three\" b=1");
    assert_eq!(tree("a=\"two\nlines\" b=1"), "a=\"two\\nlines\" b=1");
    // A backslash without a meaning stands for itself: rules are full of them.
    assert_eq!(tree(r#"a="^SELECT\s+\d\x4""#), format!("a={:?}", r"^SELECT\s+\d\x4"));
    assert_eq!(problem(r#"a="\xff""#), (1, "the escapes of a string do not make UTF-8 text".to_owned()));
}

#[test]
fn problems_name_line_and_culprit() {
    for (text, line, message) in [
        ("a=1\nb 2", 2, "expected `=` or `:` after `b`, found a value"),
        ("a=\n\n}", 3, "expected a value, found `}`"),
        ("a", 1, "the file ends where `=` or `:` after `a` should be"),
        ("a=1\n=", 2, "expected the name of a setting, found `=` or `:`"),
        ("a=\n{ b=1;\n", 2, "the group `{` that starts here is never closed"),
        ("a=(1,\n2", 1, "the list `(` that starts here is never closed"),
        ("a=(1\n2)", 2, "expected `,` or the end of the list `(`, found a value"),
        ("a=({b=1}\n{b=2})", 2, "expected `,` or the end of the list `(`, found `{`"),
        ("a=(1]", 1, "expected `,` or the end of the list `(`, found `]`"),
        ("a={b=1;;}", 1, "expected the name of a setting, found `;`"),
        (
            "x=1\na=[1,\n {b=1}]",
            3,
            "an array `[ ]` holds only plain values; groups and lists go into a list `( )`",
        ),
        ("\na=\"x\nb=1", 2, "a string is never closed"),
        ("a=1\n/* x\n", 2, "a comment `/*` is never closed"),
        ("a=1\n%", 2, "`%` cannot be here"),
        ("a=1 @include \"x\"", 1, "`@` can only start a line `@include \"file\"`"),
        ("@include x", 1, "`@` can only start a line `@include \"file\"`"),
        ("a=b@c", 1, "expected a value, found a word without quotes"),
    ] {
        assert_eq!(problem(text), (line, message.to_owned()), "{text}");
    }
}

#[test]
fn what_precedes_a_broken_setting_is_kept() {
    let parsed = parse("a=1\nb={c=2}\nd={e=1 f}\ng=1");
    assert_eq!(show_entries(&parsed.root), "a=1 b={c=2}");
    assert_eq!(parsed.problems.len(), 1);
}

#[test]
fn nesting_has_a_limit() {
    let nested = |depth: usize| format!("a={}{}", "(".repeat(depth), ")".repeat(depth));
    assert!(parse(&nested(NESTING_MAX)).problems.is_empty());
    let (_, message) = problem(&nested(NESTING_MAX + 1));
    assert_eq!(message, "nested more than 32 deep");
    problem(&format!("a={}", "{a=".repeat(1_000_000)));
}

/// Writes the files and returns what the first of them means, with the folder's name taken out of
/// messages.
fn with_files(files: &[(&str, &str)]) -> (String, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let file: Rc<Path> = Rc::from(folder.path().join(files[0].0));
    let parsed = read(files[0].1, &file, Strictness::Strict);
    let prefix = format!("{}/", folder.path().display());
    let problems = parsed.problems.iter().map(|problem| problem.to_string().replace(&prefix, "")).collect();
    (show_entries(&parsed.root), problems)
}

#[test]
fn includes_stand_for_their_content_and_are_found_beside_their_file() {
    let (tree, problems) = with_files(&[
        ("main.cnf", "a=1\n  @include \"sub/one.cnf\" b=2\nl=(\n@include \"list.cnf\"\n)"),
        ("sub/one.cnf", "@include \"two.cnf\"\nc={d=1}"),
        ("sub/two.cnf", "e=5"),
        ("list.cnf", "{x=1},\n{x=2}"),
    ]);
    assert_eq!((tree.as_str(), problems), ("a=1 e=5 c={d=1} b=2 l=({x=1},{x=2})", vec![]));
}

#[test]
fn included_problems_name_the_included_file() {
    let (_, problems) = with_files(&[("main.cnf", "a=1\n@include \"b.cnf\""), ("b.cnf", "b=1\nc=\n]")]);
    assert_eq!(problems, ["b.cnf:3: expected a value, found `]`"]);
    let (_, problems) = with_files(&[("main.cnf", "a=1\n@include \"nowhere.cnf\"\nb=2")]);
    assert_eq!(
        problems,
        ["main.cnf:2: `nowhere.cnf` cannot be read: No such file or directory (os error 2)"]
    );
}

#[test]
fn includes_have_an_end() {
    let (_, problems) = with_files(&[
        ("a.cnf", "@include \"b.cnf\""),
        ("b.cnf", "x=1\n@include \"./c/../a.cnf\""),
        ("c/d", ""),
    ]);
    assert_eq!(problems, ["b.cnf:2: `./c/../a.cnf` includes itself"]);

    let chain: Vec<(String, String)> =
        (0..12).map(|n| (format!("{n}.cnf"), format!("@include \"{}.cnf\"", n + 1))).collect();
    let chain: Vec<(&str, &str)> = chain.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let (_, problems) = with_files(&chain);
    assert_eq!(problems, ["10.cnf:1: `11.cnf` is included more than 10 files deep"]);

    let twice = "@include \"b.cnf\"\n".repeat(40);
    let (_, problems) = with_files(&[
        ("a.cnf", &twice),
        ("b.cnf", &twice.replace('b', "c")),
        ("c.cnf", &twice.replace('b', "d")),
        ("d.cnf", ""),
    ]);
    assert_eq!(problems.len(), 1);
    assert!(problems[0].ends_with("more than 1000 files are included"), "{problems:?}");
}

/// Values that libconfig can write.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        prop::num::f64::NORMAL.prop_map(Value::Float),
        any::<String>().prop_map(Value::Text),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone().prop_map(node), 0..4).prop_map(Value::List),
            prop::collection::vec(("[A-Za-z*][-A-Za-z0-9_*]{0,8}", inner), 0..4).prop_map(|pairs| {
                Value::Group(pairs.into_iter().map(|(key, value)| entry(key, value)).collect())
            }),
        ]
    })
}

fn node(value: Value) -> Node {
    Node { value, at: crate::tree::Place::new(&Path::new("").into(), 0) }
}

fn entry(key: String, value: Value) -> Entry {
    // The two words that are no names.
    let key = if key.eq_ignore_ascii_case("true") || key.eq_ignore_ascii_case("false") {
        "name".into()
    } else {
        key
    };
    let node = node(value);
    Entry { key, at: node.at.clone(), node }
}

/// `value` in libconfig's grammar.
fn write(value: &Value) -> String {
    match value {
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => format!("{value}L"),
        Value::Float(value) => format!("{value:?}"),
        Value::Text(text) => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
        Value::Date(_) => unreachable!("not generated"),
        Value::List(nodes) => {
            format!("( {} )", nodes.iter().map(|node| write(&node.value)).collect::<Vec<_>>().join(", "))
        }
        Value::Group(entries) => {
            let settings: Vec<String> = entries
                .iter()
                .map(|entry| format!("{} = {};\n", entry.key, write(&entry.node.value)))
                .collect();
            format!("{{ {} }}", settings.concat())
        }
    }
}

/// Pieces of which the grammar consists, to reach deeper than arbitrary characters do.
fn piece() -> impl Strategy<Value = String> {
    let pieces = [
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        "=",
        ":",
        ",",
        ";",
        "\"",
        "\\",
        "\\x",
        "\n",
        " ",
        "#",
        "//",
        "/*",
        "*/",
        "@include ",
        "@",
        "0x",
        "1",
        "L",
        "-",
        ".",
        "e",
        "true",
        "mysql_servers",
        "mysql_users",
        "listeners",
        "mysql_variables",
        "address",
        "hostname",
        "username",
        "password",
        "threads",
        "\"*\"",
        "\"$A$005$\"",
        "é",
        "[[",
        "]]",
        "'''",
    ];
    prop_oneof![prop::sample::select(pieces.to_vec()).prop_map(str::to_owned), any::<String>()]
}

proptest! {
    #[test]
    fn values_round_trip(value in value()) {
        let text = format!("a = {}", write(&value));
        prop_assert_eq!(tree(&text), format!("a={}", show(&node(value))));
    }

    #[test]
    fn no_text_panics(text: String) {
        let _ = crate::parse(&text, Path::new("x"));
        let _ = parse(&text);
    }

    #[test]
    fn no_pieces_panic(pieces in prop::collection::vec(piece(), 0..40)) {
        let text = pieces.concat();
        let _ = crate::parse(&text, Path::new("x"));
        let parsed = parse(&text);
        let lines = text.matches('\n').count() + 1;
        prop_assert!(parsed.problems.iter().all(|problem| (1..=lines).contains(&problem.line)));
    }
}
