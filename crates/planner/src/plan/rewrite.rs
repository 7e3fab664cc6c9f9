//! The text of a statement for one shard: names of its physical tables, and the edits of its plan.
//! All other bytes are those of the client.

mod names;

use std::cell::OnceCell;

use shard::{Node, Shards};
use sql::digest::Span;
use sql::parse::{Kind, Overlap, Splices, Step};

use super::bind::Places;
use super::refusal::Cause;
use super::uses::Uses;
use super::{Branch, Gap, Refusal, Request, labels, text};

use names::Names;

/// A text in the place of a span.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Edit {
    /// What it replaces; it stands in front of a byte if that is empty.
    pub(super) start: usize,
    /// The byte behind it.
    pub(super) end: usize,
    /// The text.
    pub(super) text: Vec<u8>,
    /// The client's placeholders that the text has, rising.
    pub(super) placeholders: Vec<u32>,
}

impl Edit {
    /// A text without placeholders.
    pub(super) fn new(span: Span, text: impl Into<Vec<u8>>) -> Self {
        Self { start: span.start, end: span.end, text: text.into(), placeholders: Vec::new() }
    }

    /// A text in front of the byte at `at`.
    pub(super) fn insertion(at: usize, text: impl Into<Vec<u8>>) -> Self {
        Self::new(Span { start: at, end: at }, text)
    }

    pub(super) fn span(&self) -> Span {
        Span { start: self.start, end: self.end }
    }

    /// Whether the other edit is of bytes that this one replaces.
    fn has(&self, other: &Self) -> bool {
        self.replaces(other.span())
    }

    /// Whether this edit replaces bytes, or what would stand between them.
    fn replaces(&self, span: Span) -> bool {
        let is_between = span.start < span.end || self.start < span.start && span.end < self.end;
        self.start <= span.start && span.end <= self.end && is_between
    }
}

/// What makes the texts of one statement.
pub(super) struct Rewriter<'r, 'a> {
    request: &'r Request<'a>,
    uses: &'r Uses<'a>,
    /// Where names of tables stand, once one of them is replaced.
    names: OnceCell<Names>,
    /// Where `LAST_INSERT_ID()` stands, if its value is known.
    last_ids: OnceCell<Vec<Edit>>,
}

impl<'r, 'a> Rewriter<'r, 'a> {
    pub(super) const fn new(request: &'r Request<'a>, uses: &'r Uses<'a>) -> Self {
        Self { request, uses, names: OnceCell::new(), last_ids: OnceCell::new() }
    }

    /// The statement for the server that has all of it.
    pub(super) fn one(&self, places: &Places<'_>, edits: &[Edit]) -> Result<Branch, Refusal> {
        self.branch(places.hostgroup, &places.nodes, edits)
    }

    /// The statement for each of several shards, with the same edits for all.
    pub(super) fn many(&self, shards: &Shards, edits: &[Edit]) -> Result<Vec<Branch>, Refusal> {
        let all = self.places_of(shards)?.into_iter();
        all.map(|places| self.branch(places.hostgroup, &places.nodes, edits)).collect()
    }

    /// The same with edits that depend on the number of the statement among all.
    pub(super) fn each(
        &self,
        shards: &Shards,
        edits: &dyn Fn(usize) -> Vec<Edit>,
    ) -> Result<Vec<Branch>, Refusal> {
        let all = self.places_of(shards)?.into_iter().enumerate();
        all.map(|(number, places)| self.branch(places.hostgroup, &places.nodes, &edits(number))).collect()
    }

    /// The same with a gap at the byte `at` of the client's text.
    pub(super) fn gaps(&self, shards: &Shards, edits: &[Edit], at: usize) -> Result<Vec<Gap>, Refusal> {
        let all = self.places_of(shards)?.into_iter();
        all.map(|places| self.with_gap(&places, edits, at)).collect()
    }

    /// Where the tables of a statement are for each of several shards.
    fn places_of(&self, shards: &Shards) -> Result<Vec<Places<'a>>, Refusal> {
        let sharded = self.uses.sharded().next().and_then(|number| self.uses.get(number)?.table);
        let nodes = sharded.map_or(&[][..], |table| table.nodes());
        let at = |shard: &u32| {
            let shard = usize::try_from(*shard).ok()?;
            Some((shard, nodes.get(shard)?))
        };
        let places = |(shard, node): (usize, &Node)| {
            Ok(Places { hostgroup: node.hostgroup, nodes: self.uses.nodes_beside(shard, node)? })
        };
        shards.as_slice().iter().filter_map(at).map(places).collect()
    }

    /// The statement for a hostgroup, with these nodes of the tables.
    pub(super) fn branch(
        &self,
        hostgroup: u32,
        nodes: &[Option<&Node>],
        edits: &[Edit],
    ) -> Result<Branch, Refusal> {
        self.branch_of(hostgroup, &self.splices(nodes, edits)?, edits)
    }

    /// The same with a gap at the byte `at` of the client's text, behind what edits put there.
    fn with_gap(&self, places: &Places<'_>, edits: &[Edit], at: usize) -> Result<Gap, Refusal> {
        let splices = self.splices(&places.nodes, edits)?;
        let mut branch = self.branch_of(places.hostgroup, &splices, edits)?;
        branch.text.get_or_insert_with(|| self.request.sql.to_vec());
        Ok(Gap::new(branch, splices.moved(at)))
    }

    /// What changes in the text of the client.
    fn splices(&self, nodes: &[Option<&Node>], edits: &[Edit]) -> Result<Splices, Refusal> {
        let (request, mut splices) = (self.request, Splices::default());
        self.check_last_ids()?;
        let replacing: Vec<_> = edits.iter().filter(|edit| edit.start < edit.end).collect();
        let mut all = self.renamed(nodes, &replacing)?;
        for call in self.last_ids().iter().filter(|call| !replacing.iter().any(|edit| edit.has(call))) {
            all.push((call.span(), call.text.clone()));
        }
        let bytes =
            self.uses.budget.take(all.len().saturating_mul(4 + replacing.len()) + request.sql.len() / 256);
        if !bytes {
            return Ok(splices);
        }
        splices.add_all(all).map_err(refused)?;
        if !splices.is_empty() {
            labels::keep(request, &mut splices)?;
        }
        let changed = edits.iter().filter(|edit| edit.span().of(request.sql) != edit.text);
        splices.add_all(changed.map(|edit| (edit.span(), edit.text.clone())).collect()).map_err(refused)?;
        Ok(splices)
    }

    fn branch_of(&self, hostgroup: u32, splices: &Splices, edits: &[Edit]) -> Result<Branch, Refusal> {
        let request = self.request;
        if splices.is_empty() {
            return Ok(Branch { hostgroup, ..Branch::default() });
        }
        if request.tree.is_conditional() && splices.is_in_conditional(request.sql, request.modes) {
            return Err(Cause::Conditional.at(Span { start: 0, end: request.sql.len() }));
        }
        let mut text = Vec::with_capacity(request.sql.len() + 64);
        splices.apply(request.sql, &mut text).map_err(refused)?;
        Ok(Branch { hostgroup, text: Some(text), placeholders: self.placeholders(edits) })
    }

    /// Refuses `LAST_INSERT_ID()` if its value is not known.
    fn check_last_ids(&self) -> Result<(), Refusal> {
        let tree = self.request.tree;
        if self.request.asked.last_insert_id.is_some() || !text::has_last_id(self.request.sql) {
            return Ok(());
        }
        let is_call = |step| match step {
            Step::Enter(id) if text::is_last_id(self.request, id) => Some(id),
            _ => None,
        };
        let call = tree.root().and_then(|root| tree.walk(root).find_map(is_call));
        call.map_or(Ok(()), |id| Err(Cause::Function.at(tree.span(id))))
    }

    /// The calls of `LAST_INSERT_ID()` with their value: a server has that of its own session.
    pub(super) fn last_ids(&self) -> &[Edit] {
        let request = self.request;
        self.last_ids.get_or_init(|| {
            let Some((id, root)) = request.asked.last_insert_id.zip(request.tree.root()) else {
                return Vec::new();
            };
            let call = |step| match step {
                Step::Enter(call) if text::is_last_id(request, call) => {
                    Some(Edit::new(request.tree.span(call), id.to_string()))
                }
                _ => None,
            };
            request.tree.walk(root).filter_map(call).collect()
        })
    }

    /// Physical names in place of the logical ones, where no edit replaces them.
    fn renamed(&self, nodes: &[Option<&Node>], edits: &[&Edit]) -> Result<Vec<(Span, Vec<u8>)>, Refusal> {
        let mut all = Vec::new();
        for (number, (table, node)) in self.uses.all().iter().zip(nodes).enumerate() {
            let is_other = |node: &&Node| {
                self.request.asked.names_all || node.schema != table.schema || node.table != table.name
            };
            if let Some(node) = node.as_ref().copied().filter(is_other) {
                let names = self.names.get_or_init(|| Names::of(self.request, self.uses));
                names.rename(number, node, edits, &mut all)?;
            }
        }
        Ok(all)
    }

    /// The placeholders that are left, if some are not. Those of parts that are not understood have
    /// no node, and stay.
    fn placeholders(&self, edits: &[Edit]) -> Option<Vec<u32>> {
        let tree = self.request.tree;
        let root = tree.root().filter(|_| tree.placeholders() > 0)?;
        let mut replaced: Vec<_> =
            edits.iter().map(Edit::span).filter(|span| span.end > span.start).collect();
        if replaced.is_empty() && edits.iter().all(|edit| edit.placeholders.is_empty()) {
            return None;
        }
        self.uses.budget.take(tree.len() / 8);
        replaced.sort_unstable_by_key(|span| span.start);
        let is_replaced = |at: usize| {
            let behind = replaced.partition_point(|span| span.start <= at);
            let before = behind.checked_sub(1).and_then(|before| replaced.get(before));
            before.is_some_and(|span| at < span.end)
        };
        let mut is_kept = vec![true; usize::try_from(tree.placeholders()).ok()?];
        let mut set = |number: u32, kept: bool| {
            if let Some(place) = usize::try_from(number).ok().and_then(|number| is_kept.get_mut(number)) {
                *place = kept;
            }
        };
        for step in tree.walk(root) {
            if let Step::Enter(id) = step
                && let Kind::Placeholder(number) = tree.kind(id)
                && is_replaced(tree.span(id).start)
            {
                set(number, false);
            }
        }
        edits.iter().flat_map(|edit| &edit.placeholders).for_each(|number| set(*number, true));
        let kept = (0..tree.placeholders()).zip(&is_kept).filter(|(_, is_kept)| **is_kept);
        let kept: Vec<_> = kept.map(|(number, _)| number).collect();
        (kept.len() < is_kept.len()).then_some(kept)
    }
}

fn refused(overlap: Overlap) -> Refusal {
    Cause::Statement.at(overlap.span)
}
