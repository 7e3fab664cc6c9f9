//! Events of the query log as tables, as in ProxySQL 3: `DUMP EVENTSLOG FROM BUFFER TO ...`.

use querylog::Record;
use rusqlite::types::Value;
use rusqlite::{Connection, params};

use observe::plane::DataPlane;

/// Where events are written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sink {
    /// `stats.stats_mysql_query_events`, which keeps a limited number of rows.
    Memory,
    /// `stats_history.history_mysql_query_events`, a file.
    Disk,
    /// Both.
    Both,
}

/// What ProxySQL says of statements that no server got.
const NO_HOSTGROUP: i64 = -1;

/// Moves the events that the data plane keeps into tables, and returns how many there were. If they
/// cannot be written, they are kept. The table in memory keeps `max` rows, the newest.
pub(crate) fn dump(
    connection: &Connection,
    plane: &dyn DataPlane,
    sink: Sink,
    max: i64,
) -> rusqlite::Result<u64> {
    let events = plane.take_events();
    let written = write(connection, events.iter().map(|event| &**event), sink, max);
    if written.is_err() {
        plane.put_back_events(events);
    }
    written
}

fn write<'a>(
    connection: &Connection,
    events: impl Iterator<Item = &'a Record>,
    sink: Sink,
    max: i64,
) -> rusqlite::Result<u64> {
    let tables: &[&str] = match sink {
        Sink::Memory => &["stats.stats_mysql_query_events"],
        Sink::Disk => &["stats_history.history_mysql_query_events"],
        Sink::Both => &["stats.stats_mysql_query_events", "stats_history.history_mysql_query_events"],
    };
    let transaction = connection.unchecked_transaction()?;
    let mut count = 0;
    {
        let mut inserts = Vec::new();
        for table in tables {
            let places = vec!["?"; 19].join(",");
            inserts.push(transaction.prepare(&format!("INSERT INTO {table} VALUES (NULL,{places})"))?);
        }
        for event in events {
            for insert in &mut inserts {
                insert_event(insert, event)?;
            }
            count += 1;
        }
    }
    transaction.execute(
        "DELETE FROM stats.stats_mysql_query_events \
         WHERE id <= (SELECT max(id) FROM stats.stats_mysql_query_events) - ?1",
        [max],
    )?;
    transaction.commit()?;
    Ok(count)
}

fn insert_event(insert: &mut rusqlite::Statement<'_>, event: &Record) -> rusqlite::Result<usize> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let target = event.target.as_ref();
    insert.execute(params![
        event.thread_id,
        text(&event.user),
        text(&event.schema),
        number(event.start_us()),
        number(event.end_us),
        event.digest.map(|digest| format!("0x{digest:016X}")),
        text(&event.text),
        target.map(|target| &*target.server),
        &*event.client,
        event.event.number(),
        target.map_or(NO_HOSTGROUP, |target| target.hostgroup.into()),
        "",
        event.outcome.rows_affected.map_or(0, number),
        number(event.outcome.last_insert_id),
        event.outcome.rows_sent.map_or(0, number),
        event.event.statement().unwrap_or(0),
        event.gtid.as_deref(),
        event.outcome.error,
        // The message is not kept; `stats_mysql_errors` has the newest one of each number.
        None::<String>,
    ])
}

/// The rows of the table in memory without texts of statements and errors.
pub(crate) fn without_literals(connection: &Connection) -> rusqlite::Result<Vec<Vec<Value>>> {
    let mut statement = connection.prepare_cached("SELECT * FROM stats.stats_mysql_query_events")?;
    let hidden = |name: &str| ["query", "error"].contains(&name);
    let columns: Vec<bool> = statement.column_names().map(hidden).collect();
    let rows = statement.query_map([], |row| {
        let cell = |(at, hidden): (usize, &bool)| if *hidden { Ok(Value::Null) } else { row.get(at) };
        columns.iter().enumerate().map(cell).collect()
    })?;
    rows.collect()
}

#[cfg(test)]
mod tests {
    use querylog::Logs;

    use super::*;
    use crate::store::Store;

    #[test]
    fn the_table_in_memory_keeps_the_newest_rows() {
        let store = Store::open(None).unwrap();
        let events: Vec<_> = ["a", "b", "c"]
            .map(|text| Record::of(text.as_bytes(), Logs { events: true, slow: false }))
            .to_vec();
        for _ in 0..2 {
            assert_eq!(write(store.connection(), events.iter(), Sink::Both, 4).unwrap(), 3);
        }
        let rows = |table: &str| -> String {
            let sql = format!("SELECT group_concat(query, '') FROM {table}");
            store.connection().query_row(&sql, [], |row| row.get(0)).unwrap()
        };
        assert_eq!(rows("stats.stats_mysql_query_events"), "cabc");
        assert_eq!(rows("stats_history.history_mysql_query_events"), "abcabc");
    }
}
