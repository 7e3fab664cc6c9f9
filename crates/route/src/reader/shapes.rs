//! What statements do, by their digests: found out once, remembered in a table of fixed size.

use crate::StatementPlan;
use crate::limits::SHAPES_MAX;

/// What a worker remembers. A digest has one place; another one with the same place takes it.
#[derive(Debug)]
pub(super) struct Shapes(Box<[Option<(u64, StatementPlan)>]>);

const _: () = assert!(SHAPES_MAX.is_power_of_two(), "places are the lower bits of digests");

impl Default for Shapes {
    fn default() -> Self {
        Self(vec![None; SHAPES_MAX].into())
    }
}

impl Shapes {
    /// What statements with this digest do; `look` finds it out.
    pub(super) fn get(&mut self, digest: u64, look: impl FnOnce() -> StatementPlan) -> StatementPlan {
        let place = usize::try_from(digest & (SHAPES_MAX as u64 - 1)).unwrap_or(0);
        let Some(entry) = self.0.get_mut(place) else { return look() };
        match entry {
            Some((known, plan)) if *known == digest => *plan,
            _ => entry.insert((digest, look())).1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_not_looked_at_again() {
        let read = StatementPlan::COMMAND;
        let mut shapes = Shapes::default();
        assert_eq!(shapes.get(7, || read), read);
        assert_eq!(shapes.get(7, || panic!("it is known")), read);
        let other = 7 + SHAPES_MAX as u64;
        assert_eq!(shapes.get(other, StatementPlan::default), StatementPlan::default());
        assert_eq!(shapes.get(7, StatementPlan::default), StatementPlan::default(), "its place was taken");
    }
}
