//! `FLUSH CACHE ...`: answers of the query cache that are not to be served any more.

use cache::Flush;
use config::digest_number;

use super::text::unquoted;
use super::{Command, Statement};

const TABLE: &str = "FLUSH CACHE TABLE needs the table with its schema, such as shop.orders";
const DIGEST: &str =
    "FLUSH CACHE DIGEST needs a digest as stats_mysql_query_digest has it, such as 0x1234567890ABCDEF";
const RULE: &str = "FLUSH CACHE RULE needs the rule_id of a row of mysql_query_rules";
const USER: &str = "FLUSH CACHE USER needs the name of a user";
const WHAT: &str = "FLUSH CACHE takes nothing, TABLE schema.table, DIGEST digest, RULE rule_id or USER name";

/// `FLUSH CACHE`, `FLUSH CACHE TABLE schema.table`, `... DIGEST digest`, `... RULE rule_id`,
/// `... USER name`.
pub(super) fn parse(statement: &Statement<'_>) -> Option<Command> {
    let rest = statement.after("FLUSH CACHE")?;
    let (what, name) = rest.split_once(' ').unwrap_or((rest, ""));
    Some(Command::FlushCache(match what.to_ascii_uppercase().as_str() {
        "TABLE" => table(name).ok_or(TABLE),
        "DIGEST" => digest_number(unquoted(name)).map(Flush::Digest).ok_or(DIGEST),
        "RULE" => name.parse().map(Flush::Rule).map_err(|_| RULE),
        "USER" if !name.is_empty() => Ok(Flush::User(unquoted(name).to_owned())),
        "USER" => Err(USER),
        _ => Err(WHAT),
    }))
}

fn table(name: &str) -> Option<Flush> {
    let (schema, table) = name.split_once('.')?;
    let bare = |name: &str| name.trim_matches('`').to_owned();
    let (schema, table) = (bare(schema), bare(table));
    (!schema.is_empty() && !table.is_empty()).then_some(Flush::Table(schema, table))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_flushed_is_named() {
        let of = |text: &str| match Command::of(&Statement::new(text)) {
            Some(Command::FlushCache(flush)) => flush,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(of("flush cache"), Ok(Flush::All));
        let table = Flush::Table("Shop".to_owned(), "orders".to_owned());
        assert_eq!(of("FLUSH CACHE TABLE Shop.`orders`"), Ok(table));
        assert_eq!(of("FLUSH CACHE DIGEST 0x00000000000000FF"), Ok(Flush::Digest(255)));
        assert_eq!(of("FLUSH CACHE rule 7"), Ok(Flush::Rule(7)));
        assert_eq!(of("FLUSH CACHE USER 'App'"), Ok(Flush::User("App".to_owned())));
        for (text, error) in [
            ("FLUSH CACHE TABLE orders", TABLE),
            ("FLUSH CACHE DIGEST SELECT", DIGEST),
            ("FLUSH CACHE RULE x", RULE),
            ("FLUSH CACHE USER", USER),
            ("FLUSH CACHE TABEL a.b", WHAT),
        ] {
            assert_eq!(of(text), Err(error), "{text}");
        }
    }
}
