//! What each shard gets of a query that several execute.

use shard::Shards;
use sql::digest::Span;
use sql::parse::{Kind, NodeId, Step};

use super::Texts;
use crate::plan::bind::Bound;
use crate::plan::facts::Facts;
use crate::plan::uses::Uses;
use crate::plan::{Branch, Request, merging};

/// What each shard gets of a query that several execute.
#[derive(Clone, Debug)]
pub(super) struct Spread {
    /// What each shard gets: its text up to the first value; none if it is all that of the client.
    heads: Vec<Branch>,
    /// Where the first value begins in the client's text.
    first: usize,
    /// The plain values that the plan depends on, by their numbers: all but those of conditions.
    fixed: Vec<(usize, Box<[u8]>)>,
}

impl Spread {
    /// What shards get of a query, by the `WHERE` of which rows are chosen; none if its plan
    /// depends on parameters elsewhere, or if values stand in front of what differs between shards.
    pub(super) fn of(
        request: &Request<'_>,
        uses: &Uses<'_>,
        clause: Option<NodeId>,
        texts: &Texts,
    ) -> Option<Self> {
        let (tree, sql) = (request.tree, request.sql);
        let is_chosen = |span: Span| {
            let clause = clause.map(|id| tree.span(id));
            clause.is_some_and(|clause| clause.start <= span.start && span.end <= clause.end)
        };
        let is_other = |step| {
            matches!(step, Step::Enter(id)
                if matches!(tree.kind(id), Kind::Placeholder(_)) && !is_chosen(tree.span(id)))
        };
        if tree.walk(tree.root()?).any(is_other) {
            return None;
        }
        let values = match texts {
            Texts::Outline(outline) => outline.values(),
            Texts::One(_) => &[],
        };
        let fixed = values.iter().enumerate().filter(|(_, value)| !is_chosen(**value));
        let fixed = fixed.map(|(number, value)| (number, value.of(sql).into())).collect();
        let first = values.first().map_or(sql.len(), |value| value.start);
        // What is known of the key narrows nothing here.
        let plan = merging::scatter(request, uses, &Bound::of(request, uses, &Facts::default())).ok()?;
        let nodes = uses.all().first()?.table?.nodes().len();
        let behind = sql.get(first..)?;
        let head = |branch: Branch| {
            let text = branch.text.map(|text| text.strip_suffix(behind).map(<[u8]>::to_vec).ok_or(()));
            let text = text.transpose().ok()?;
            branch.placeholders.is_none().then_some(Branch { text, placeholders: None, ..branch })
        };
        let heads: Vec<_> = plan.branches.into_iter().map(head).collect::<Option<_>>()?;
        (heads.len() == nodes).then_some(Self { heads, first, fixed })
    }

    /// What these shards get of `sql`, which is one of the texts; none if the plan is not that of
    /// `sql`.
    pub(super) fn branches(&self, shards: &Shards, texts: &Texts, sql: &[u8]) -> Option<Vec<Branch>> {
        if let Texts::Outline(outline) = texts
            && !self.fixed.is_empty()
        {
            let spans = outline.values_in(sql)?;
            let is_same = |(number, value): &(usize, Box<[u8]>)| {
                spans.get(*number).is_some_and(|span| span.of(sql) == &**value)
            };
            if !self.fixed.iter().all(is_same) {
                return None;
            }
        }
        let behind = sql.get(self.first..)?;
        let branch = |shard: &u32| {
            let head = self.heads.get(usize::try_from(*shard).ok()?)?;
            let text = head.text.as_deref().map(|text| [text, behind].concat());
            Some(Branch { hostgroup: head.hostgroup, text, placeholders: None })
        };
        shards.as_slice().iter().map(branch).collect()
    }
}
