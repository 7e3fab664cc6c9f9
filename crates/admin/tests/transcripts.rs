//! Dialogues with the admin port, as files: `tests/transcripts/*.txt`.
//!
//! A line that begins with `> ` is a statement, the lines behind it are its answer; `@ stats` makes
//! the next ones a statistics user's. To write the answers anew, and then to read the difference:
//!
//! ```text
//! POINTSMAN_WRITE_TRANSCRIPTS=1 cargo test -p admin --test transcripts
//! ```

mod common;

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use admin::{Answer, Engine, Rights, Store, VERSION, Who};
use common::FakePlane;
use observe::plane::DataPlane;

#[test]
fn answers_are_as_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts");
    let mut names: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    assert!(names.len() > 5, "the transcripts are in {}", folder.display());
    let write = std::env::var_os("POINTSMAN_WRITE_TRANSCRIPTS").is_some();
    let mut wrong = String::new();
    for path in names {
        let expected = std::fs::read_to_string(&path).unwrap();
        let got = replay(&expected);
        if write {
            std::fs::write(&path, &got).unwrap();
        } else if let Some((line, (expected, got))) =
            expected.lines().zip(got.lines()).enumerate().find(|(_, (expected, got))| expected != got)
        {
            let _ =
                writeln!(wrong, "{}:{}:\n  expected {expected}\n  got      {got}", path.display(), line + 1);
        } else if expected != got {
            let _ = writeln!(wrong, "{}: an answer has more or fewer lines", path.display());
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// The transcript with the answers that are given now.
fn replay(transcript: &str) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let plane: Arc<dyn DataPlane> = Arc::new(FakePlane::default());
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(None).unwrap();
    store.attach(Arc::clone(&plane));
    let engine = Engine::start(store, plane, runtime.handle()).unwrap();
    let mut who = Who { user: "admin".to_owned(), rights: Rights::Admin, address: None };
    let mut out = String::new();
    for line in transcript.lines() {
        if let Some(statement) = line.strip_prefix("> ") {
            let here = folder.path().display().to_string();
            let answer = engine.ask(&who, statement.replace("$FOLDER", &here)).wait();
            let _ = writeln!(out, "{line}\n{}", shown(&answer).replace(&here, "$FOLDER"));
        } else if let Some(user) = line.strip_prefix("@ ") {
            user.clone_into(&mut who.user);
            who.rights = if user == "stats" { Rights::Stats } else { Rights::Admin };
            let _ = writeln!(out, "{line}\n");
        } else if line.starts_with('#') {
            let _ = writeln!(out, "{line}\n");
        }
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// An answer as text, with an empty line behind it.
fn shown(answer: &Answer) -> String {
    let mut out = match answer {
        Answer::Ok { affected, info } => {
            let rows = if *affected == 0 { String::new() } else { format!(", {affected} rows") };
            let info = if info.is_empty() { String::new() } else { format!(": {info}") };
            format!("OK{rows}{info}\n")
        }
        Answer::Error(error) => {
            format!("ERROR {} ({}): {error}\n", error.code, String::from_utf8_lossy(&error.state))
        }
        Answer::Close => "CLOSED\n".to_owned(),
        Answer::Rows { columns, rows } => {
            let mut out = format!("{}\n", columns.join(" | "));
            for row in rows {
                let cells: Vec<String> =
                    row.iter().map(|cell| cell.as_deref().map_or("NULL".to_owned(), text)).collect();
                let _ = writeln!(out, "{}", cells.join(" | "));
            }
            let _ = writeln!(out, "({} rows)", rows.len());
            out
        }
    };
    out = out.replace(VERSION, "$VERSION");
    out
}

fn text(cell: &[u8]) -> String {
    String::from_utf8_lossy(cell).replace('\\', "\\\\").replace('\n', "\\n")
}
