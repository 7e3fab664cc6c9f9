//! The typed rows of a large table.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use crate::turns::{in_turns, same_in_turns};

/// Rows that configurations have in common until one of them is changed. Cheap to clone.
#[derive(Clone)]
pub struct Rows<T>(Arc<Vec<T>>);

impl<T: PartialEq> Rows<T> {
    /// Whether both are the same, found out in turns with other threads unless one was made from
    /// the other.
    pub fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || same_in_turns(self, other)
    }
}

impl<T> Rows<T> {
    /// Frees what no other configuration has of them, in turns with other threads.
    pub fn free(self) {
        if let Some(rows) = Arc::into_inner(self.0) {
            in_turns(rows).for_each(drop);
        }
    }
}

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T: PartialEq> PartialEq for Rows<T> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl<T: Eq> Eq for Rows<T> {}

impl<T: fmt::Debug> fmt::Debug for Rows<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T> Deref for Rows<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

/// A configuration that changes rows gets its own copy.
impl<T: Clone> DerefMut for Rows<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        Arc::make_mut(&mut self.0)
    }
}

impl<T> From<Vec<T>> for Rows<T> {
    fn from(rows: Vec<T>) -> Self {
        Self(Arc::new(rows))
    }
}

impl<T> FromIterator<T> for Rows<T> {
    fn from_iter<I: IntoIterator<Item = T>>(rows: I) -> Self {
        rows.into_iter().collect::<Vec<_>>().into()
    }
}

impl<'a, T> IntoIterator for &'a Rows<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<'a, T: Clone> IntoIterator for &'a mut Rows<T> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}
