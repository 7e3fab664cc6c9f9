//! One statement on both sides.

use planner::plan::Cause;

use crate::compare::{self, Difference};
use crate::direct::{self, Outcome};
use crate::query::{Query, Written};
use crate::world::World;

/// What was found out.
#[derive(Debug)]
pub(crate) enum Found {
    /// The statement was not executed.
    Refused(Option<Cause>),
    /// Both sides have answered the same.
    Same(Same),
    /// They differ, but not without indexes: the server has two answers itself.
    Contradictory,
    /// They differ.
    Different(Difference),
}

/// An answer that is the same.
#[derive(Debug)]
pub(crate) struct Same {
    /// So many shards have answered.
    pub(crate) shards: usize,
    /// Whether the shards' columns have different types.
    pub(crate) types_differ: bool,
    /// Whether the answer is an error.
    pub(crate) is_error: bool,
    /// Whether the numbers of warnings differ.
    pub(crate) has_other_warnings: bool,
}

/// Runs a statement on both sides.
pub(crate) async fn of(world: &mut World, query: &Query) -> Found {
    let written = query.written();
    let (got, shards, types_differ) = match direct::executed(world, &written).await {
        Outcome::Refused(cause) => return Found::Refused(cause),
        Outcome::One(answer) => (answer, 1, false),
        Outcome::Many(many) => (many.answer, many.shards, many.types_differ),
        Outcome::Broken(error) => return Found::Different(format!("the merge failed: {error}")),
    };
    let expected = world.ask_whole(&written).await;
    let compared = match compare::frames(&expected, &got, world.way) {
        Ok(true) if compare::needs_places(query, &expected, &got) => {
            let ranked = world.ask_whole(&query.ranked()).await;
            if !ranked.kinds().starts_with(&expected.kinds()) {
                // MariaDB shows BIT as a number if it went through a temporary table.
                return Found::Contradictory;
            }
            if let Some(error) = &ranked.error {
                Err(format!("the oracle has no places: {error:?}"))
            } else {
                // A rule that the server itself does not keep is none.
                compare::places(query, &ranked, &expected)
                    .map_err(|why| format!("the oracle is wrong: {why}"))
                    .and_then(|()| compare::places(query, &ranked, &got))
            }
        }
        Ok(true) => compare::multiset(query, &expected, &got),
        Ok(false) => Ok(()),
        Err(difference) => Err(difference),
    };
    match compared {
        Ok(()) => Found::Same(Same {
            shards,
            types_differ,
            is_error: expected.error.is_some(),
            has_other_warnings: expected.warnings != got.warnings,
        }),
        Err(difference) => Found::Different(difference),
    }
}

/// Changes rows on both sides, in a transaction that stays if `commits` and nothing fails.
pub(crate) async fn of_change(world: &mut World, written: &Written, commits: bool) -> Found {
    world.everywhere("BEGIN").await;
    let (got, shards) = match direct::executed(world, written).await {
        Outcome::Refused(cause) => {
            world.everywhere("ROLLBACK").await;
            return Found::Refused(cause);
        }
        Outcome::One(answer) => (answer, 1),
        Outcome::Many(many) => (many.answer, many.shards),
        Outcome::Broken(error) => return Found::Different(format!("the merge failed: {error}")),
    };
    let expected = world.ask_whole(written).await;
    let compared = compare::frames(&expected, &got, world.way);
    let stays = commits && matches!(compared, Ok(true)) && got.error.is_none();
    world.everywhere(if stays { "COMMIT" } else { "ROLLBACK" }).await;
    match compared {
        Ok(_) => Found::Same(Same {
            shards,
            types_differ: false,
            is_error: expected.error.is_some(),
            has_other_warnings: expected.warnings != got.warnings,
        }),
        Err(difference) => Found::Different(difference),
    }
}

/// The same, once more for a difference: whether it is that of the server itself.
pub(crate) async fn judged(world: &mut World, query: &Query) -> Found {
    let found = of(world, query).await;
    if matches!(found, Found::Different(_)) && contradicts(world, query).await {
        return Found::Contradictory;
    }
    found
}

/// Whether the answers are the same without indexes: MySQL 9.7 compares BIT with a text otherwise
/// where it reads an index, and whether it does depends on the number of rows.
async fn contradicts(world: &mut World, query: &Query) -> bool {
    world.alter_indexes(false).await;
    let found = of(world, query).await;
    world.alter_indexes(true).await;
    matches!(found, Found::Same(_))
}

/// The smallest query found that differs as well, and how.
pub(crate) async fn shrunk(world: &mut World, query: &Query, difference: Difference) -> (Query, Difference) {
    let kind = |difference: &Difference| difference.split(':').next().map(str::to_owned);
    let (mut smallest, mut found) = (query.clone(), difference);
    'again: loop {
        for smaller in smallest.smaller() {
            if let Found::Different(other) = of(world, &smaller).await
                && kind(&other) == kind(&found)
            {
                (smallest, found) = (smaller, other);
                continue 'again;
            }
        }
        return (smallest, found);
    }
}
