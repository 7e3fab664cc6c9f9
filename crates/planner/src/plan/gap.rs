//! Texts for a shard with a place for what is known when the statement runs.

use super::Branch;

/// A statement for one server that lacks some text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    branch: Branch,
    at: usize,
}

impl Gap {
    /// A statement that has its text, which lacks something in front of the byte `at`.
    pub(super) const fn new(branch: Branch, at: usize) -> Self {
        Self { branch, at }
    }

    /// The servers.
    pub const fn hostgroup(&self) -> u32 {
        self.branch.hostgroup
    }

    /// The statement with this text in the gap.
    #[must_use]
    pub fn filled(&self, text: &[u8]) -> Branch {
        let lacking = self.branch.text.as_deref().unwrap_or_default();
        let (ahead, behind) = lacking.split_at_checked(self.at).unwrap_or((lacking, &[]));
        Branch { text: Some([ahead, text, behind].concat()), ..self.branch.clone() }
    }
}
