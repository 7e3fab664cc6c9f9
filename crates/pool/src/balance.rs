//! Who is chosen among servers that all can be.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use smallvec::SmallVec;

use crate::Server;
use crate::policy::Balance;

/// A server that can be chosen, and its place in the order of the configuration.
pub(crate) type Candidate<'a, E> = (usize, &'a Arc<Server<E>>);

/// Several of them, in the order of the configuration: eight without an allocation.
pub(crate) type Candidates<'a, E> = SmallVec<[Candidate<'a, E>; 8]>;

/// One of the candidates, which are in the order of the configuration and have weights above 0;
/// nothing if there is none.
///
/// `random` decides where chance does, and `turn` is kept between the choices of a hostgroup.
pub(crate) fn pick<'a, E>(
    balance: Balance,
    candidates: &[Candidate<'a, E>],
    random: u64,
    turn: &AtomicU64,
) -> Option<&'a Arc<Server<E>>> {
    let index = match balance {
        Balance::Weighted => draw(candidates, random)?.0,
        Balance::LeastLoaded => less_loaded(candidates, random)?,
        Balance::RoundRobin => next(candidates, turn)?,
        Balance::FirstAvailable => 0,
    };
    candidates.get(index).map(|(_, server)| *server)
}

/// An index with a chance proportional to the weight of its server, and what is left of the random
/// number for the next draw.
fn draw<E>(candidates: &[Candidate<'_, E>], random: u64) -> Option<(usize, u64)> {
    let weight = |(_, server): &Candidate<'_, E>| u64::from(server.weight());
    let total: u64 = candidates.iter().map(weight).sum();
    let mut left = random.checked_rem(total)?;
    let index = candidates.iter().position(|candidate| match left.checked_sub(weight(candidate)) {
        None => true,
        Some(rest) => {
            left = rest;
            false
        }
    })?;
    Some((index, random / total))
}

/// Two different servers are drawn, and the one that runs fewer statements wins; the first one if
/// both run as many. A look at all of them would send all sessions of one moment to the same
/// server.
fn less_loaded<E>(candidates: &[Candidate<'_, E>], random: u64) -> Option<usize> {
    let (first, random) = draw(candidates, random)?;
    let mut others = candidates.to_vec();
    let (_, one) = others.remove(first);
    let Some((second, _)) = draw(&others, random) else { return Some(first) };
    let (_, other) = others.get(second)?;
    let wins = other.running() < one.running();
    Some(if !wins {
        first
    } else if second < first {
        second
    } else {
        second + 1
    })
}

/// The first server at or behind the place whose turn it is; the turn passes to the place behind
/// it.
fn next<E>(candidates: &[Candidate<'_, E>], turn: &AtomicU64) -> Option<usize> {
    loop {
        let now = turn.load(Ordering::Relaxed);
        let behind = candidates.iter().position(|&(place, _)| place as u64 >= now);
        let index = behind.unwrap_or_default();
        let &(place, _) = candidates.get(index)?;
        // Another thread may have taken this turn meanwhile: then the loop takes the next turn.
        let passed = turn.compare_exchange(now, place as u64 + 1, Ordering::Relaxed, Ordering::Relaxed);
        if passed.is_ok() {
            return Some(index);
        }
    }
}
