//! MySQL Group Replication: what members say, and what follows.
//!
//! Each member knows a list of all members with their states. A member is good for something if it
//! says itself that it is `ONLINE` and that a majority of its list can be reached, and if no more
//! members of such a majority deny than confirm it. The second half is what takes out a member that
//! has died or is cut off before it has missed enough questions.

use super::nodes::Node;
use super::{Nodes, Role, Verdict, Word};

/// What a member of a group has said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupWord<E> {
    /// Its own name in the group: `server_uuid`.
    pub id: String,
    /// Whether it takes no writes.
    pub read_only: bool,
    /// Transactions that it has received and not yet applied.
    pub behind: u64,
    /// The members of the group as it sees them, itself among them; none if it is in no group.
    pub members: Vec<GroupMember<E>>,
}

/// A member of a group as one of them sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupMember<E> {
    /// Its name in the group.
    pub id: String,
    /// Where it says that it is reached.
    pub server: Option<E>,
    /// How it is.
    pub state: MemberState,
}

/// `MEMBER_STATE` of `performance_schema.replication_group_members`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberState {
    /// It takes part.
    Online,
    /// It catches up, and takes part then.
    Recovering,
    /// The others have lost contact to it.
    Unreachable,
    /// It has failed and left.
    Error,
    /// It takes no part.
    Offline,
}

/// What a member must keep to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupLimits {
    /// The most transactions that it may be behind; `None`: any number.
    pub max_behind: Option<u64>,
    /// Looks in a row that see more after which it is passed over; 0 counts as 1.
    pub checks: u32,
    /// Whether that goes for the writer hostgroup.
    pub of_writers: bool,
    /// Whether it goes for the reader hostgroup.
    pub of_readers: bool,
}

impl MemberState {
    /// The state of this name; `None`: there is none.
    pub fn named(name: &str) -> Option<Self> {
        let states = [Self::Online, Self::Recovering, Self::Unreachable, Self::Error, Self::Offline];
        states.into_iter().find(|state| state.name() == name)
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Online => "ONLINE",
            Self::Recovering => "RECOVERING",
            Self::Unreachable => "UNREACHABLE",
            Self::Error => "ERROR",
            Self::Offline => "OFFLINE",
        }
    }
}

impl<E> GroupWord<E> {
    /// Whether it is in touch with more than half of the members.
    pub fn has_quorum(&self) -> bool {
        let reached =
            |member: &&GroupMember<E>| matches!(member.state, MemberState::Online | MemberState::Recovering);
        self.members.iter().filter(reached).count() * 2 > self.members.len()
    }

    /// Whether both say the same, but for what is to be applied.
    pub(super) fn is_like(&self, other: &Self) -> bool
    where
        E: PartialEq,
    {
        (&self.id, self.read_only, &self.members) == (&other.id, other.read_only, &other.members)
    }

    /// How it sees the member of this name.
    fn state_of(&self, id: &str) -> Option<MemberState> {
        self.members.iter().find(|member| member.id == id).map(|member| member.state)
    }

    /// Its own state.
    pub fn state(&self) -> MemberState {
        self.state_of(&self.id).unwrap_or(MemberState::Offline)
    }

    /// Whether it can be used, as far as it knows itself.
    pub fn is_viable(&self) -> bool {
        self.state() == MemberState::Online && self.has_quorum()
    }
}

/// The word of a member that has answered the last question and is part of a majority.
fn elector<E>(node: &Node<E>) -> Option<&GroupWord<E>> {
    match &node.word {
        Some(Word::Group(word)) if node.misses == 0 && word.is_viable() => Some(word),
        _ => None,
    }
}

/// What a member is good for that has said this.
pub(super) fn judge<E: Clone + Ord>(word: &GroupWord<E>, nodes: &Nodes<E>) -> Verdict {
    let state = word.state();
    if state != MemberState::Online {
        return Verdict::new(Role::Out, format!("it is {}", state.name()));
    }
    if !word.has_quorum() {
        return Verdict::new(Role::Out, "it does not reach a majority of its group");
    }
    let electors = || nodes.iter().filter_map(|(_, node)| elector(node));
    let confirm = electors().filter(|other| other.state_of(&word.id) == Some(MemberState::Online)).count();
    let deny = electors().count() - confirm;
    if deny > confirm {
        return Verdict::new(Role::Out, format!("{deny} members say that it is not ONLINE"));
    }
    if word.read_only {
        Verdict::new(Role::Reader, "it is ONLINE with read_only=1")
    } else {
        Verdict::new(Role::Writer, "it is ONLINE with read_only=0")
    }
}

/// The members that those with a majority name, with their names in the group.
pub(super) fn named<E>(nodes: &Nodes<E>) -> impl Iterator<Item = (&E, &str)> {
    let words = nodes.iter().filter_map(|(_, node)| elector(node));
    let is_there =
        |member: &&GroupMember<E>| matches!(member.state, MemberState::Online | MemberState::Recovering);
    let members = words.flat_map(|word| &word.members).filter(is_there);
    members.filter_map(|member| Some((member.server.as_ref()?, member.id.as_str())))
}
