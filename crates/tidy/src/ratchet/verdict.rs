//! What is wrong with the figures, compared with the file of ratchets.

use super::figure::Figure;
use super::record::Record;

/// Parts of a figure that a message names.
const PARTS_MAX: usize = 40;

/// One text for each figure that is above or below its line, and for each line that is void.
pub(crate) fn complaints(figures: &[Figure], record: &Record) -> Vec<String> {
    let mut complaints: Vec<String> = figures.iter().filter_map(|figure| of(figure, record)).collect();
    let is_known = |key: &String| figures.iter().any(|figure| figure.key() == *key);
    let named = record
        .numbers
        .keys()
        .chain(record.exceptions.keys())
        .chain(record.loans.iter().map(|loan| &loan.key));
    for key in named.filter(|key| !is_known(key)) {
        complaints.push(format!("{key}: there is no such figure; remove its line"));
    }
    for loan in record.loans.iter().filter(|loan| record.done.contains(&loan.step)) {
        let (key, step) = (&loan.key, &loan.step);
        complaints
            .push(format!("{key}: the loan until {step} is over; remove its line, and what it paid for"));
    }
    complaints
}

fn of(figure: &Figure, record: &Record) -> Option<String> {
    let (key, value, goal) = (figure.key(), figure.value, figure.kind.goal);
    if record.exceptions.contains_key(&key) {
        return None;
    }
    let number = record.numbers.get(&key).copied();
    let limit = number.unwrap_or(goal) + record.lent(&key);
    if value > limit {
        let allowed = match (number, record.lent(&key)) {
            (_, more @ 1..) => format!("at most {limit}, of which {more} are lent"),
            (Some(_), _) => format!("at most {limit}"),
            (None, _) => format!("at most {limit}, the goal"),
        };
        let about = figure.kind.about;
        let shown = parts(figure);
        return Some(format!("{key}: {value}; {allowed} ({about}): {}{shown}", figure.kind.advice));
    }
    let number = number.filter(|number| value < *number || *number <= goal)?;
    let what =
        if value <= goal { "remove its line".to_owned() } else { format!("lower its line to {value}") };
    Some(format!("{key}: {value}; the line says {number}: {what} (cargo run -p tidy -- --tighten)"))
}

/// What the figure counts, a line each.
fn parts(figure: &Figure) -> String {
    let shown = figure.parts.iter().take(PARTS_MAX).cloned();
    let more = figure.parts.len().saturating_sub(PARTS_MAX);
    let rest = (more > 0).then(|| format!("and {more} more"));
    shown.chain(rest).flat_map(|part| ["\n  ".to_owned(), part]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(value: usize, record: &str) -> String {
        let figure = Figure::new("circle", "proxy", value, vec!["a.rs".into(), "b.rs".into()]).unwrap();
        complaints(&[figure], &Record::parse(record).unwrap()).join("\n")
    }

    #[test]
    fn a_figure_above_its_line_or_goal_fails_with_its_parts() {
        assert_eq!(complaint(31, "circle proxy 31\n"), "");
        let above = complaint(32, "circle proxy 31\n");
        assert!(above.starts_with("circle proxy: 32; at most 31 (files of a crate"), "{above}");
        assert!(above.ends_with("as an argument\n  a.rs\n  b.rs"), "{above}");
        assert_eq!(complaint(5, ""), "");
        assert!(complaint(6, "").starts_with("circle proxy: 6; at most 5, the goal"));
    }

    #[test]
    fn a_message_names_so_many_parts() {
        let names = |count: usize| (0..count).map(|n| format!("{n}.rs")).collect();
        let text = |count| parts(&Figure::new("circle", "proxy", count, names(count)).unwrap());
        assert_eq!(text(PARTS_MAX).lines().last(), Some("  39.rs"));
        assert_eq!(text(PARTS_MAX + 2).lines().last(), Some("  and 2 more"));
    }

    #[test]
    fn a_figure_below_its_line_fails_until_the_line_is_lowered() {
        assert!(complaint(30, "circle proxy 31\n").contains("lower its line to 30 (cargo run"));
        assert!(complaint(4, "circle proxy 31\n").contains("remove its line"));
        assert!(complaint(5, "circle proxy 5\n").contains("remove its line"));
    }

    #[test]
    fn a_loan_allows_more_until_its_step_is_done() {
        let loan = "circle proxy 31\nloan circle proxy +2 until step-5: both ways exist\n";
        assert_eq!((complaint(31, loan), complaint(33, loan)), (String::new(), String::new()));
        assert!(complaint(34, loan).contains("at most 33, of which 2 are lent"));
        assert!(complaint(30, loan).contains("lower its line to 30"));
        assert!(complaint(31, &format!("{loan}done step-5\n")).contains("the loan until step-5 is over"));
        assert_eq!(complaint(31, &format!("{loan}done step-4\n")), "");
    }

    #[test]
    fn exceptions_have_no_limit_and_lines_have_figures() {
        assert_eq!(complaint(99, "except circle proxy: it is one table\n"), "");
        assert!(complaint(1, "circle gone 7\n").contains("circle gone: there is no such figure"));
        assert!(complaint(1, "loan lines gone +1 until x: y\n").contains("no such figure"));
    }
}
