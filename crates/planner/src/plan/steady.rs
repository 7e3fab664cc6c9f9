//! Whether the parts of a change have the same values on several servers.

use sql::parse::{Kind, NodeId, Step};
use sql::shape::{Effects, follows_timestamp, function_effects};

use super::refusal::Cause;
use super::{Refusal, Request, text};

/// Functions that have a new value for each row, on one server as on several.
const OF_A_ROW: [&str; 8] =
    ["encrypt", "rand", "random_bytes", "sys_guid", "sysdate", "uuid", "uuid_v4", "uuid_v7"];

/// Functions without effects whose value is one server's all the same.
const OF_A_SERVER: [&str; 2] = ["name_const", "rownum"];

/// Which servers a row is on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rows {
    /// One of several: each row is changed once.
    Apart,
    /// All: they must get the same values.
    Everywhere,
}

/// Refuses functions and variables whose values differ between servers, or between the session of
/// the client and that at a server.
pub(super) fn check(request: &Request<'_>, rows: Rows) -> Result<(), Refusal> {
    let tree = request.tree;
    let Some(root) = tree.root() else { return Ok(()) };
    for step in tree.walk(root) {
        let Step::Enter(id) = step else { continue };
        let is_refused = match tree.kind(id) {
            Kind::Match | Kind::UserVariable | Kind::SystemVariable | Kind::Sequence => true,
            Kind::Function => !is_steady(request, id, rows),
            _ => false,
        };
        if is_refused {
            return Err(Cause::Function.at(tree.span(id)));
        }
    }
    Ok(())
}

fn is_steady(request: &Request<'_>, function: NodeId, rows: Rows) -> bool {
    let (tree, sql) = (request.tree, request.sql);
    let Ok(name) = std::str::from_utf8(tree.span(function).of(sql)) else { return false };
    let name = name.to_ascii_lowercase();
    let call = tree.parent(function);
    let has_arguments = call.is_some_and(|call| tree.children(call).count() > 1);
    if call.is_some_and(|call| text::is_last_id(request, call)) {
        return request.asked.last_insert_id.is_some();
    }
    // A subquery may have one value for the rows of all servers.
    let is_of_row = tree.scopes(function).all(|id| tree.kind(id) != Kind::Subquery);
    holds(&name, has_arguments, rows) && (is_of_row || !OF_A_ROW.contains(&name.as_str()))
}

/// Whether a call of the function with this name in lower case has the same value on several
/// servers as on one.
pub(super) fn holds(name: &str, has_arguments: bool, rows: Rows) -> bool {
    match function_effects(name, has_arguments) {
        Some(effects) if effects.is_empty() => !OF_A_SERVER.contains(&name),
        Some(Effects::VOLATILE) => {
            // With a seed the values of all rows are known beforehand.
            // A change has one time at all servers.
            let is_of_row = OF_A_ROW.contains(&name) && !(name == "rand" && has_arguments);
            follows_timestamp(name) || is_of_row && rows == Rows::Apart
        }
        // Stored functions, and what belongs to a session or to a server.
        _ => false,
    }
}
