//! What of a file cannot be kept, and what its author should know.

use std::path::Path;

use shard::placement::Function;
use shard::read::{Imported, Place, Scope, Source, own_form};

use super::rows::OWN;
use super::{Parsed, Program};
use crate::nearest::suggestion;
use crate::problem::Problem;

/// What a file of ShardingSphere-Proxy without users or data sources lacks.
const PARTS: &str = "users are in one file of ShardingSphere-Proxy (`authority`, in global.yaml or server.yaml), data \
                     sources in others (`databaseName`): give the folder that has all of them";

/// Reports it.
pub(super) fn check(program: Program, imported: &Imported, origin: &Path, parsed: &mut Parsed) {
    // kingshard's file has both, or its reader refuses it.
    if imported.users.is_empty() || imported.scopes.is_empty() {
        parsed.problems.push(Problem::new(origin, 0, PARTS.to_owned()));
        return;
    }
    accounts(imported, parsed);
    for (place, key, _) in
        imported.own.iter().filter(|(_, key, _)| !OWN.iter().any(|(known, ..)| known == key))
    {
        let near = suggestion(key, OWN.iter().map(|(known, ..)| *known));
        parsed.problems.push(refused(place, &format!("is not known{near}")));
    }
    for scope in &imported.scopes {
        tables(scope, parsed);
        match program {
            Program::Kingshard => same_rules(scope, imported, parsed),
            Program::ShardingSphere => homes(scope, imported, parsed),
        }
    }
    for user in imported.users.iter().filter(|user| !user.schemas.is_empty()) {
        let known = |scope: &Scope| scope.schema.as_ref().is_some_and(|name| user.schemas.contains(name));
        if !imported.scopes.iter().all(known) {
            let message = format!(
                "user `{}` may use some databases only (`authorizedSchemas`), which cannot be kept: take the setting out",
                user.name
            );
            parsed.problems.push(Problem::new(origin, 0, message));
        }
    }
    for audit in &imported.audits {
        let table = audit.table.join(".");
        let message = format!(
            "{table}: statements without a condition on the key are executed: its `auditStrategy` has no counterpart here"
        );
        parsed.warnings.push(message);
    }
}

/// Sessions log in to servers as their clients did.
fn accounts(imported: &Imported, parsed: &mut Parsed) {
    let owns = |source: &Source| {
        imported.users.iter().any(|user| user.name == source.user && user.password == source.password)
    };
    for source in imported.sources.iter().filter(|source| !owns(source)) {
        let message = format!(
            "the user at its servers, `{}`, is none of the proxy with the same password: sessions log in to servers \
             with the name and the password of their client",
            source.user.escape_debug()
        );
        parsed.problems.push(refused(&source.place, &message));
    }
    for user in &imported.users {
        let is_known = |source: &Source| source.user == user.name;
        if !imported.sources.iter().all(is_known) {
            parsed.warnings.push(format!("user `{0}` logs in to servers as `{0}`", user.name.escape_debug()));
        }
    }
}

/// Tables whose functions have no form here, and dates that depend on a time zone.
fn tables(scope: &Scope, parsed: &mut Parsed) {
    for table in scope.layout.tables() {
        let Some(placement) = table.placement() else { continue };
        let name = format!("{}.{}", table.schema, table.name);
        if own_form(table).is_none() {
            let message = format!("{name} is sharded by a function that cannot be kept");
            parsed.problems.push(refused(&scope.place, &message));
        }
        if placement.levels().iter().any(|level| matches!(level.function, Function::Dates(_))) {
            parsed.warnings.push(format!(
                "{name}: integers are Unix times, and counted by UTC; if kingshard ran in another time zone, \
                 `utc_offset_seconds` in `arguments` of `pointsman_shard_tables` has to say so"
            ));
        }
    }
}

/// Rules hold for all users here: two of one table must be the same.
fn same_rules(scope: &Scope, imported: &Imported, parsed: &mut Parsed) {
    let own = scope.users.join(", ");
    let mut lacks_rules = false;
    for other in &imported.scopes {
        for table in other.layout.tables() {
            let name = format!("{}.{}", table.schema, table.name);
            match scope.layout.table(&table.schema, &table.name) {
                None => lacks_rules = true,
                Some(same) if same == table => {}
                Some(_) => {
                    let users = other.users.join(", ");
                    let message =
                        format!("{own} has another rule for {name} than {users}: here it holds for all");
                    parsed.problems.push(refused(&scope.place, &message));
                }
            }
        }
    }
    if lacks_rules {
        let message =
            format!("user `{own}` lacks rules that other users have: here rules hold for all users");
        parsed.warnings.push(message);
    }
}

/// Tables without a rule are at one data source, and their schema keeps its name.
fn homes(scope: &Scope, imported: &Imported, parsed: &mut Parsed) {
    let Some(database) = &scope.schema else { return };
    let sources = scope.layout.homes().iter();
    let sources =
        sources.filter_map(|home| imported.sources.iter().find(|one| one.hostgroup == home.hostgroup));
    let sources: Vec<&Source> = sources.collect();
    let Some(first) = sources.first() else { return };
    let has_rules = !scope.layout.tables().is_empty();
    if sources.len() > 1 {
        let message = format!("tables that no rule names are looked for at the data source {}", first.name);
        if has_rules {
            parsed.warnings.push(format!("{database}: {message}"));
        } else {
            parsed.problems.push(refused(&scope.place, &format!("{message}: others need rules")));
        }
    }
    let Some(schema) = first.schema.as_ref().filter(|schema| *schema != database) else { return };
    if has_rules {
        parsed.warnings.push(format!(
            "{database}: clients connect to a schema of this name at the data source {}, and sessions use it at the \
             others: make it at all servers, empty; tables that no rule names are looked for in it, not in {schema}",
            first.name
        ));
    } else {
        let message = format!(
            "the schema {schema} cannot have another name, {database}, for clients: give `databaseName` its name"
        );
        parsed.problems.push(refused(&first.place, &message));
    }
}

fn refused(place: &Place, message: &str) -> Problem {
    let message =
        if place.key.is_empty() { message.to_owned() } else { format!("`{}`: {message}", place.key) };
    Problem::new(&place.file, place.line, message)
}
