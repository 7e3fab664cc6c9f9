//! The nodes of a statement, and the walk through them.
//!
//! All nodes are in one `Vec`, each with links to its parent, first child and next sibling. A walk
//! needs neither recursion nor memory, however long a chain of operators is.

use crate::digest::Span;

use super::cursor::Cursor;
use super::kind::Kind;
use super::refusal::Refusal;
use super::settings::Settings;
use super::token::{self, Token};

/// Which node of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub(super) u32);

impl NodeId {
    pub(super) const NONE: Self = Self(u32::MAX);

    pub(super) fn some(self) -> Option<Self> {
        (self != Self::NONE).then_some(self)
    }
}

/// A part of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node {
    /// What it is.
    pub kind: Kind,
    start: u32,
    end: u32,
    parent: NodeId,
    first: NodeId,
    next: NodeId,
}

impl Node {
    pub(super) const fn new(kind: Kind, start: u32, end: u32) -> Self {
        Self { kind, start, end, parent: NodeId::NONE, first: NodeId::NONE, next: NodeId::NONE }
    }

    /// The bytes of the statement that it is.
    pub const fn span(&self) -> Span {
        Span { start: self.start as usize, end: self.end as usize }
    }
}

/// A step of a [`Walk`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The node; its children come next.
    Enter(NodeId),
    /// The node again, behind its children.
    Leave(NodeId),
}

/// The tree of one statement, in memory that is used again for the next.
#[derive(Debug, Default)]
pub struct Tree {
    pub(super) nodes: Vec<Node>,
    pub(super) pending: Vec<NodeId>,
    /// Of each node, the nearest [scope](super::Kind::is_scope) around it.
    pub(super) scopes: Vec<NodeId>,
    /// Names of tables, in the text's order.
    pub(super) table_names: Vec<NodeId>,
    tokens: Vec<Token>,
    placeholders: u32,
    is_conditional: bool,
}

impl Tree {
    /// Reads one statement; a `;` may stand behind it. Returns the root, a [`Kind::Statement`].
    ///
    /// # Errors
    /// With the place and the reason if the statement is not understood; the tree is empty then.
    pub fn read(&mut self, sql: &[u8], settings: &Settings) -> Result<NodeId, Refusal> {
        self.nodes.clear();
        self.pending.clear();
        self.placeholders = 0;
        let mut tokens = std::mem::take(&mut self.tokens);
        let outcome = self.read_tokens(sql, settings, &mut tokens);
        self.tokens = tokens;
        if outcome.is_err() {
            self.nodes.clear();
        }
        self.find_scopes();
        outcome
    }

    fn read_tokens(
        &mut self,
        sql: &[u8],
        settings: &Settings,
        tokens: &mut Vec<Token>,
    ) -> Result<NodeId, Refusal> {
        self.is_conditional = token::read(sql, settings, tokens)?;
        let mut cursor = Cursor::new(sql, tokens, settings, self);
        let root = cursor.statement()?;
        self.placeholders = cursor.placeholders();
        Ok(root)
    }

    /// Number of nodes.
    pub const fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether no statement was read.
    pub const fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Number of `?`.
    pub const fn placeholders(&self) -> u32 {
        self.placeholders
    }

    /// Whether a part stands in a comment that the server executes. Then a span may begin in such
    /// a comment and end behind it: see [`Splices::is_in_conditional`](super::Splices).
    pub const fn is_conditional(&self) -> bool {
        self.is_conditional
    }

    /// The root; none if there is no tree.
    pub fn root(&self) -> Option<NodeId> {
        let last = self.nodes.len().checked_sub(1)?;
        u32::try_from(last).ok().map(NodeId)
    }

    /// A node; none if the id is of another tree.
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id.0 as usize)
    }

    pub(super) fn node_mut(&mut self, id: NodeId) -> Option<&mut Node> {
        self.nodes.get_mut(id.0 as usize)
    }

    /// What a node is; [`Kind::Opaque`] if the id is of another tree.
    pub fn kind(&self, id: NodeId) -> Kind {
        self.node(id).map_or(Kind::Opaque, |node| node.kind)
    }

    /// Which bytes a node is.
    pub fn span(&self, id: NodeId) -> Span {
        self.node(id).map_or(Span { start: 0, end: 0 }, Node::span)
    }

    /// The node around a node; none around the root.
    pub fn parent(&self, id: NodeId) -> Option<NodeId> {
        self.node(id)?.parent.some()
    }

    /// The children of a node, in the text's order.
    pub fn children(&self, id: NodeId) -> Children<'_> {
        Children { tree: self, next: self.node(id).map_or(NodeId::NONE, |node| node.first) }
    }

    /// The first child of a kind.
    pub fn child(&self, id: NodeId, kind: Kind) -> Option<NodeId> {
        self.children(id).find(|child| self.kind(*child) == kind)
    }

    /// The walk through a node and all below it.
    pub fn walk(&self, id: NodeId) -> Walk<'_> {
        Walk { tree: self, top: id, step: self.node(id).map(|_| Step::Enter(id)) }
    }

    /// The nodes around a node, the nearest first.
    pub fn ancestors(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        std::iter::successors(self.parent(id), |id| self.parent(*id))
    }

    /// Makes `children` those of `parent`.
    pub(super) fn link(&mut self, parent: NodeId, children: usize) {
        let mut next = NodeId::NONE;
        while self.pending.len() > children
            && let Some(child) = self.pending.pop()
        {
            if let Some(node) = self.node_mut(child) {
                node.parent = parent;
                node.next = next;
            }
            next = child;
        }
        if let Some(node) = self.node_mut(parent) {
            node.first = next;
        }
    }
}

/// The children of a node.
#[derive(Debug, Clone)]
pub struct Children<'a> {
    tree: &'a Tree,
    next: NodeId,
}

impl Iterator for Children<'_> {
    type Item = NodeId;

    fn next(&mut self) -> Option<NodeId> {
        let child = self.next.some()?;
        self.next = self.tree.node(child)?.next;
        Some(child)
    }
}

/// Every node below one, before and behind its children.
#[derive(Debug, Clone)]
pub struct Walk<'a> {
    tree: &'a Tree,
    top: NodeId,
    step: Option<Step>,
}

impl Walk<'_> {
    /// Passes by the children of the node that the last step entered. Its `Leave` still comes.
    pub fn skip_children(&mut self) {
        self.step = match self.step {
            Some(Step::Enter(child)) => self.tree.parent(child).map(Step::Leave),
            step => step,
        };
    }

    fn behind(&self, step: Step) -> Option<Step> {
        match step {
            Step::Enter(id) => Some(self.tree.node(id)?.first.some().map_or(Step::Leave(id), Step::Enter)),
            Step::Leave(id) if id == self.top => None,
            Step::Leave(id) => {
                let node = self.tree.node(id)?;
                Some(node.next.some().map_or(Step::Leave(node.parent), Step::Enter))
            }
        }
    }
}

impl Iterator for Walk<'_> {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        let step = self.step?;
        self.step = self.behind(step);
        Some(step)
    }
}
