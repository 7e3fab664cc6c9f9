//! Lines and fields, whole and in parts.

use proptest::prelude::*;

use super::*;

fn csv() -> Format {
    Format { field_end: b",".to_vec(), quote: Some(b'"'), ..Format::default() }
}

/// The lines of a file that comes in parts of these lengths, which begin again behind the last one,
/// with the fields of the first two columns of three.
fn lines(format: &Format, file: &[u8], parts: &[usize]) -> Vec<(Vec<u8>, Option<u64>, Vec<Field>)> {
    let mut splitter = Splitter::new(format.clone(), 3, vec![0, 1]);
    let (mut found, mut rest, mut parts) = (Vec::new(), file, parts.iter().cycle());
    loop {
        match splitter.take() {
            Taken::Line(line) => found.push((line.bytes.to_vec(), line.row, line.fields.to_vec())),
            Taken::Wait(_) if rest.is_empty() => splitter.end(),
            Taken::Wait(_) => {
                let (part, behind) = rest.split_at(rest.len().min(*parts.next().unwrap()));
                splitter.feed(part);
                rest = behind;
            }
            Taken::End => return found,
        }
    }
}

/// The fields of the first two columns, as texts.
fn fields(format: &Format, file: &str) -> Vec<[String; 2]> {
    let text = |field: &Field| match field {
        Field::Missing => "-".to_owned(),
        Field::Null => "NULL".to_owned(),
        Field::Text(text) => String::from_utf8_lossy(text).into_owned(),
    };
    let of = |(_, _, fields): (_, _, Vec<Field>)| [text(&fields[0]), text(&fields[1])];
    lines(format, file.as_bytes(), &[64]).into_iter().map(of).collect()
}

fn check(format: &Format, file: &str, expected: &[[&str; 2]]) {
    let expected: Vec<_> = expected.iter().map(|row| row.map(str::to_owned)).collect();
    assert_eq!(fields(format, file), expected, "{file:?}");
}

#[test]
fn fields_are_those_that_servers_read() {
    let tabs = Format::default();
    check(&tabs, "1\ta\n2\tb\n", &[["1", "a"], ["2", "b"]]);
    check(&tabs, "1\ta\\tb\n\\N\t\\\\N\n", &[["1", "a\tb"], ["NULL", "\\N"]]);
    check(&tabs, "1\\\n2\ta\n\n", &[["1\n2", "a"], ["", "-"]]);
    check(&tabs, "1\n2", &[["1", "-"], ["2", "-"]]);
    check(&tabs, "1\t", &[["1", "-"]]);
    check(&tabs, "NULL\t\\", &[["NULL", "\\"]]);
    check(&csv(), "1,\"a,b\"\n2,\"a\nb\"\n3,\"a\"\"b\"\n", &[["1", "a,b"], ["2", "a\nb"], ["3", "a\"b"]]);
    check(&csv(), "NULL,\"NULL\"\n1,a\"b\"\n", &[["NULL", "NULL"], ["1", "a\"b\""]]);
    check(&csv(), "1,\"a\" b\",2\n\"2\",\"open\n", &[["1", "a\" b"], ["2", "\"open\n"]]);
    let doubled = Format { escape: Some(b'"'), ..csv() };
    check(&doubled, "1,\"a\"\"b\\\"\n2,a\"\"b\n", &[["1", "a\"b\\"], ["2", "a\"b"]]);
    let none = Format { escape: None, line_end: b"\r\n".to_vec(), ..csv() };
    check(&none, "1,\\\r\n2,a\rb\r\n", &[["1", "\\"], ["2", "a\rb"]]);
}

#[test]
fn quotes_mean_nothing_behind_the_last_column() {
    let found = lines(&csv(), b"1,2,3,\"4\n5,6\"\n", &[64]);
    let bytes: Vec<_> = found.iter().map(|(bytes, ..)| bytes.as_slice()).collect();
    assert_eq!(bytes, [&b"1,2,3,\"4\n"[..], b"5,6\"\n"]);
}

#[test]
fn lines_at_the_beginning_have_no_rows() {
    let format = Format { skipped: 2, ..csv() };
    let found = lines(&format, b"\"id\n,name\"\n1,a\n2,b\n", &[3]);
    let rows: Vec<_> = found.iter().map(|(bytes, row, _)| (bytes.len(), *row)).collect();
    assert_eq!(rows, [(4, None), (7, None), (4, Some(1)), (4, Some(2))]);
}

fn any_format() -> impl Strategy<Value = Format> {
    let ends =
        (prop::sample::select(vec![",", "\t", "||", "ab"]), prop::sample::select(vec!["\n", "\r\n", "aab"]));
    let quote = prop::option::of(prop::sample::select(vec![b'"', b'\'']));
    let escape = prop::option::of(prop::sample::select(vec![b'\\', b'"', b'|']));
    (ends, quote, escape, 0..3_u64).prop_map(|((field_end, line_end), quote, escape, skipped)| Format {
        field_end: field_end.into(),
        line_end: line_end.into(),
        quote,
        escape,
        skipped,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn lines_are_the_same_however_bytes_come(
        format in any_format(),
        file in "[ab,\t\n\r\"'\\\\|N0]{0,60}",
        parts in prop::collection::vec(1..9_usize, 1..6),
    ) {
        let whole = lines(&format, file.as_bytes(), &[usize::MAX]);
        prop_assert_eq!(&lines(&format, file.as_bytes(), &parts), &whole);
        prop_assert_eq!(&lines(&format, file.as_bytes(), &[1]), &whole);
        let all: Vec<u8> = whole.iter().flat_map(|(bytes, ..)| bytes.clone()).collect();
        prop_assert_eq!(all, file.as_bytes());
    }

    /// What a shard gets is found as the same rows there.
    #[test]
    fn lines_of_a_shard_are_lines_there(
        format in any_format(),
        file in "[ab,\t\n\r\"'\\\\|N0]{0,60}",
        shards in prop::collection::vec(any::<bool>(), 1..6),
    ) {
        let whole = lines(&format, file.as_bytes(), &[usize::MAX]);
        let mut shards = shards.iter().cycle();
        let (mut bytes, mut rows) = (Vec::new(), Vec::new());
        for (line, row, fields) in whole {
            if row.is_none() || *shards.next().unwrap() {
                bytes.extend(line);
                rows.extend(row.map(|_| fields));
            }
        }
        let there: Vec<_> = lines(&format, &bytes, &[usize::MAX])
            .into_iter()
            .filter_map(|(_, row, fields)| row.map(|_| fields))
            .collect();
        prop_assert_eq!(there, rows);
    }
}
