//! Facts of joins.

use sql::parse::{Join, Kind, NodeId};

use super::{Equality, Facts, Within};
use crate::plan::uses::Uses;
use crate::plan::{Request, origin, text};

impl<'a> Facts<'a> {
    /// The facts of a join: of `ON`, and of `USING`.
    pub(super) fn add_join(&mut self, request: &Request<'a>, uses: &Uses<'a>, id: NodeId, join: Join) {
        let tree = request.tree;
        let mut children = tree.children(id);
        let (left, right) = (children.next(), children.next());
        let within = match join {
            // An outer join around an inner one makes its rows missing as a whole.
            Join::Inner | Join::Straight | Join::Natural => tree.block(id).map(Within::Block),
            Join::Left | Join::NaturalLeft => right.map(Within::Side),
            Join::Right | Join::NaturalRight => left.map(Within::Side),
        };
        let condition = tree.child(id, Kind::On).and_then(|on| tree.children(on).next());
        if let Some((condition, within)) = condition.zip(within) {
            self.add(request, uses, condition, within);
        }
        let using = tree.child(id, Kind::Using);
        if let Some((using, (left, right))) = using.zip(left.zip(right)) {
            self.add_using(request, uses, using, [left, right], join);
        }
    }

    /// `USING` of two tables.
    fn add_using(
        &mut self,
        request: &Request<'a>,
        uses: &Uses<'a>,
        using: NodeId,
        [left, right]: [NodeId; 2],
        join: Join,
    ) {
        let tree = request.tree;
        for name in tree.children(using) {
            let name = text::name(request.sql, tree.span(name)).to_lowercase();
            let [Some(left), Some(right)] = [left, right]
                .map(|side| origin::named(request, uses, side, &name).map(|origin| origin.column))
            else {
                continue;
            };
            if self.is_full() {
                return;
            }
            if !matches!(join, Join::Right) {
                self.equalities.push(Equality { from: left.clone(), to: right.clone() });
            }
            if !matches!(join, Join::Left) {
                self.equalities.push(Equality { from: right, to: left });
            }
        }
    }
}
