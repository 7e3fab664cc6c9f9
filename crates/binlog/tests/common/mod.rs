//! What the tests of recorded streams have in common: facts as lines of text.

use binlog::{Broken, Checksum, Fact, How, Reader, Tables, Transactions};
use gtid::Gtid;

/// The facts of a stream that comes in pieces of these bytes, one a line, and what broke it.
pub(crate) fn facts<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<String>, Result<bool, Broken>) {
    let (mut reader, mut transactions, mut lines) =
        (Reader::new(Checksum::Crc32), Transactions::default(), Vec::new());
    for piece in pieces {
        let fed = reader.feed(piece, |logged| {
            transactions.take(&logged, |fact| lines.extend(line(&fact)));
        });
        if let Err(broken) = fed {
            return (lines, Err(broken));
        }
    }
    (lines, Ok(reader.is_between()))
}

/// A fact as a line. What differs from one run to the next is left out: sources, positions.
fn line(fact: &Fact) -> Option<String> {
    let transaction = match fact {
        Fact::Progress => return None,
        Fact::Transaction(transaction) => transaction,
        other => return Some(format!("{other:?}")),
    };
    let gtid = match &transaction.gtid {
        None => "none".to_owned(),
        Some(Gtid::MySql(gtid)) => {
            let source = gtid.source.to_string();
            source.split_once(':').map_or_else(|| "gtid".to_owned(), |(_, tag)| format!("gtid {tag}"))
        }
        Some(Gtid::MariaDb(gtid)) => format!("gtid {}-{}", gtid.domain, gtid.server),
    };
    let tables = match &transaction.tables {
        Tables::All(why) => format!("all: {why:?}"),
        Tables::These(these) => {
            let tables = these.iter().map(|(table, how)| match () {
                () if how.is_empty() => format!("{table} (named)"),
                () => format!("{table} ({})", names(*how)),
            });
            tables.collect::<Vec<_>>().join(", ")
        }
    };
    let mut line = format!("{gtid}: {tables}");
    for (is, flag) in [(transaction.definitions, "definitions"), (transaction.privileges, "privileges")] {
        if is {
            line = format!("{line} [{flag}]");
        }
    }
    Some(line.replace(":  [", ": ["))
}

fn names(how: How) -> String {
    how.iter_names().map(|(name, _)| name.to_lowercase()).collect::<Vec<_>>().join(" ")
}
