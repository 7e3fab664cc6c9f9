//! What becomes of a layout by what is found at the nodes of its tables.

use super::check::{Answer, check};
use super::finding::Finding;
use shard::{Layout, Table, Unique};

/// What is wrong with the nodes of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Survey {
    /// Findings for which a layout is not to be used.
    pub problems: Vec<Finding>,
    /// Findings that concern single statements, or a table that is declared unchecked.
    pub warnings: Vec<Finding>,
    /// No server that was asked has the table: it may be created later.
    pub is_nowhere: bool,
}

/// Judges what the nodes of a table have said, in their order. Those that do not answer, or were
/// not asked, have no findings.
pub fn survey(layout: &Layout, table: &Table, found: &[Answer]) -> Survey {
    if found.iter().all(|answer| answer.table().is_none()) {
        return Survey { is_nowhere: found.contains(&Answer::NoTable), ..Survey::default() };
    }
    let findings = check(layout, table, found);
    let is_problem = |finding: &Finding| finding.problem.stops_writes() && table.unique() == Unique::Checked;
    let (problems, warnings) = findings.into_iter().partition(is_problem);
    Survey { problems, warnings, is_nowhere: false }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{MYSQL, table};
    use super::*;
    use shard::placement::{Function, Level, Modulo, Sign};
    use shard::{Draft, Node};

    /// `orders` of three nodes by `id`.
    fn layout(unique: Unique) -> Layout {
        let node = |hostgroup| Node { hostgroup, schema: "shop".to_owned(), table: "orders".to_owned() };
        let function = Function::Modulo(Modulo { shards: 3, sign: Sign::Floor });
        let level = Level { columns: vec![0], function, nodes: None };
        let nodes = [1, 2, 3].map(node).to_vec();
        let orders = Table::sharded(["shop", "orders"], nodes, vec!["no".to_owned()], vec![level]);
        let tables = vec![orders.with_unique(unique)];
        Layout::new(Draft { hostgroups: vec![1, 2, 3], tables, ..Draft::default() }).unwrap()
    }

    fn of(unique: Unique, found: &[Answer]) -> Survey {
        let layout = layout(unique);
        survey(&layout, layout.table("shop", "orders").unwrap(), found)
    }

    fn defined(columns: &[[&str; 2]]) -> Answer {
        Answer::Table(table(MYSQL, columns, &[]))
    }

    #[test]
    fn a_server_that_was_not_asked_has_no_findings() {
        let one = || defined(&[["no", "int"]]);
        assert_eq!(of(Unique::Checked, &[one(), Answer::Unknown, one()]), Survey::default());
        let missing = of(Unique::Checked, &[one(), Answer::Unknown, Answer::NoTable]);
        assert_eq!(
            missing.problems.iter().map(|finding| finding.node.hostgroup).collect::<Vec<_>>(),
            [3],
            "{missing:?}"
        );
    }

    #[test]
    fn a_table_that_is_nowhere_may_be_created_later() {
        assert_eq!(
            of(Unique::Checked, &[Answer::Unknown, Answer::Unknown, Answer::Unknown]),
            Survey::default()
        );
        let nowhere = of(Unique::Checked, &[Answer::NoTable, Answer::Unknown, Answer::NoTable]);
        assert_eq!(nowhere, Survey { is_nowhere: true, ..Survey::default() });
    }

    #[test]
    fn an_unchecked_table_is_used_all_the_same() {
        let found = || [defined(&[["no", "int"]]), defined(&[["no", "bigint"]]), Answer::NoTable];
        let checked = of(Unique::Checked, &found());
        assert_eq!((checked.problems.len(), checked.warnings.len()), (2, 0), "{checked:?}");
        let unchecked = of(Unique::Unchecked, &found());
        assert_eq!((unchecked.problems.len(), unchecked.warnings.len()), (0, 2), "{unchecked:?}");
    }

    #[test]
    fn numbers_of_a_server_concern_single_statements() {
        let found = || defined(&[["id", "int"], ["no", "int"]]);
        let survey = of(Unique::Checked, &[found(), found(), found()]);
        assert_eq!((survey.problems.len(), survey.warnings.len()), (0, 3), "{survey:?}");
    }
}
