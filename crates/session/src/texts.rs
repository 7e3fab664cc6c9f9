//! Texts of prepared statements, each once for all sessions of a worker that have prepared it,
//! within a budget.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::ops::Deref;
use std::rc::{Rc, Weak};

/// The texts of one worker.
#[derive(Debug)]
pub struct Texts {
    known: RefCell<HashMap<u64, Weak<Kept>>>,
    state: RandomState,
    /// Bytes of all of them.
    bytes: Rc<Cell<usize>>,
    max: usize,
}

/// A text that is kept as long as there is a reference to it.
#[derive(Debug, Clone)]
pub struct Text(Rc<Kept>);

/// Room that is kept free, until this is dropped.
#[derive(Debug)]
pub struct Reserved {
    len: usize,
    bytes: Rc<Cell<usize>>,
}

#[derive(Debug)]
struct Kept {
    text: Box<[u8]>,
    bytes: Rc<Cell<usize>>,
}

impl Texts {
    /// Keeps `max` bytes at most.
    pub fn new(max: usize) -> Self {
        Self { known: RefCell::default(), state: RandomState::new(), bytes: Rc::default(), max }
    }

    /// The text, if there is room for it.
    pub fn keep(&self, text: &[u8]) -> Option<Text> {
        let hash = self.state.hash_one(text);
        let mut known = self.known.borrow_mut();
        // Of two texts with one hash the later one is kept alone.
        let there = known.get(&hash).and_then(Weak::upgrade).filter(|kept| *kept.text == *text);
        if let Some(kept) = there {
            return Some(Text(kept));
        }
        let bytes = self.bytes.get() + text.len();
        if bytes > self.max {
            return None;
        }
        self.bytes.set(bytes);
        let kept = Rc::new(Kept { text: text.into(), bytes: Rc::clone(&self.bytes) });
        known.insert(hash, Rc::downgrade(&kept));
        Some(Text(kept))
    }

    /// Room for a text of which not all has come; nothing if there is none.
    pub fn reserve(&self, len: usize) -> Option<Reserved> {
        let bytes = self.bytes.get().checked_add(len).filter(|bytes| *bytes <= self.max)?;
        self.bytes.set(bytes);
        Some(Reserved { len, bytes: Rc::clone(&self.bytes) })
    }

    /// Bytes of all of them.
    pub fn bytes(&self) -> u64 {
        self.bytes.get() as u64
    }

    /// Forgets where texts were to which there is no reference any more.
    pub fn sweep(&self) {
        let mut known = self.known.borrow_mut();
        known.retain(|_, kept| kept.strong_count() > 0);
        if known.capacity() > 4 * known.len() {
            known.shrink_to_fit();
        }
    }
}

impl Deref for Text {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0.text
    }
}

impl Text {
    /// Whether both are the same one: two of a worker that are equal nearly always are.
    pub fn is(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.bytes.set(self.bytes.get() - self.text.len());
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.bytes.set(self.bytes.get() - self.len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c29_what_has_not_come_yet_takes_room_as_well() {
        let texts = Texts::new(10);
        let reserved = texts.reserve(8).unwrap();
        assert!(texts.reserve(3).is_none() && texts.keep(b"abc").is_none());
        drop(reserved);
        assert!(texts.keep(b"abcdefgh").is_some());
        assert!(texts.reserve(usize::MAX).is_none());
        assert_eq!(texts.bytes.get(), 0);
    }

    #[test]
    fn a_text_is_there_once() {
        let texts = Texts::new(100);
        let (one, two) = (texts.keep(b"SELECT 1").unwrap(), texts.keep(b"SELECT 1").unwrap());
        assert!(Rc::ptr_eq(&one.0, &two.0) && *one == *b"SELECT 1");
        assert_eq!(texts.bytes(), 8);
        drop((one, two));
        assert_eq!(texts.bytes(), 0);
        texts.sweep();
        assert!(texts.known.borrow().is_empty());
    }

    #[test]
    fn c29_there_is_an_end_to_what_is_kept() {
        let texts = Texts::new(10);
        let one = texts.keep(b"12345678");
        assert!(one.is_some() && texts.keep(b"123").is_none() && texts.keep(b"12345678").is_some());
        drop(one);
        assert!(texts.keep(b"123").is_some());
    }
}
