//! Statements that an `EXECUTE` executes by their name, or as a string.

use route::Facts;
use wire::StatusFlags;

use super::Course;
use crate::routing::look;
use crate::state::named::{self, Executed};
use crate::statement::class::{Class, classify};

impl Course {
    /// The statement that an `EXECUTE` executes, and what it does; nothing if that is not known, or
    /// not the same everywhere.
    pub(super) fn executed(&self, text: &[u8], status: StatusFlags) -> Option<(Box<[u8]>, Facts)> {
        let inner = self.text_executed(text)?;
        let is_plain = !self.two_byte_quotes || inner.is_ascii();
        let names_others = matches!(classify(&inner), Class::Prepare | Class::Execute | Class::Deallocate);
        let (facts, several) = look(&inner, true, self.reading(status));
        (is_plain && !names_others && !several).then_some((inner, facts))
    }

    /// The text that an `EXECUTE` executes, as far as it is known.
    pub(in crate::session) fn text_executed(&self, text: &[u8]) -> Option<Box<[u8]>> {
        // Other statements are not taken apart: this is asked of most.
        if classify(text) != Class::Execute {
            return None;
        }
        match named::executed(text)? {
            Executed::Name(name) => {
                self.named.text_of(&name).or_else(|| self.pins.text_of(&name)).map(Into::into)
            }
            Executed::Text(text) => Some(text),
        }
    }
}
