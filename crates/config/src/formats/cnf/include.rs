//! `@include`: the files behind it, and the limits that keep them finite.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::lexer::{self, Lexeme, Token};

/// How deep files include files (libconfig's own limit).
const INCLUDE_DEPTH_MAX: usize = 10;
/// How many files are included altogether, a file counting each time that it is named.
const INCLUDES_MAX: usize = 1_000;

/// The files that are open on the way to the one being read, and how many were included so far.
pub(super) struct Sources {
    open: Vec<PathBuf>,
    included: usize,
}

impl Sources {
    /// The sources of a document that starts in `file`.
    pub(super) fn new(file: &Path) -> Self {
        Self { open: vec![identity(file)], included: 0 }
    }

    /// Appends the tokens of `text`, the content of `file`, and of all that it includes, in their
    /// order.
    pub(super) fn read(&mut self, text: &str, file: &Rc<Path>, out: &mut Vec<Lexeme>) {
        for Lexeme { token, at } in lexer::lex(text, file) {
            match token {
                Token::Include(path) => {
                    if let Err(message) = self.include(&path, file, out) {
                        out.push(Lexeme { token: Token::Bad(message), at });
                        return;
                    }
                }
                token => out.push(Lexeme { token, at }),
            }
        }
    }

    /// Reads the file that `from` includes as `path`.
    fn include(&mut self, path: &str, from: &Path, out: &mut Vec<Lexeme>) -> Result<(), String> {
        let path = from.parent().unwrap_or(Path::new("")).join(path);
        let shown = path.display();
        let identity = identity(&path);
        if self.open.contains(&identity) {
            return Err(format!("`{shown}` includes itself"));
        }
        if self.open.len() > INCLUDE_DEPTH_MAX {
            return Err(format!("`{shown}` is included more than {INCLUDE_DEPTH_MAX} files deep"));
        }
        self.included += 1;
        if self.included > INCLUDES_MAX {
            return Err(format!("more than {INCLUDES_MAX} files are included"));
        }
        let text = crate::file::read(&path).map_err(|error| format!("`{shown}` {}", error.message))?;
        self.open.push(identity);
        self.read(&text, &Rc::from(path), out);
        self.open.pop();
        Ok(())
    }
}

/// The file's one real path, or what comes nearest for a file that does not exist.
fn identity(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}
