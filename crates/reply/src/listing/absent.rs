//! Rows for the sessions that have no thread at a server, behind those of its list of processes.
//!
//! The server's rows say which sessions have one, and whether the account sees those of others.

use std::collections::HashSet;

use wire::frame::put_message;
use wire::packet::{Cells, Eof, TextRow};
use wire::reply::End;
use wire::{Capabilities, StatusFlags};

use observe::rows::SessionStats;

/// Columns of the list: `Id`, `User`, `Host`, `db`, `Command`, `Time`, `State`, `Info`.
const COLUMNS: usize = 8;

/// The column that MariaDB's list has behind these, `Progress`, for what has none.
const PROGRESS: &[u8] = b"0.000";

/// Bytes of a row that have an id and a user: 20 digits and 80 characters, with their lengths.
pub(super) const HEAD_BYTES_MAX: usize = 21 + 3 + 80 * 4;

/// Bytes of a statement in a list that is not `FULL`.
const INFO_BYTES_MAX: usize = 100;

/// The sessions of the proxy, as they were when the list was asked for.
#[derive(Debug)]
pub struct Absent {
    sessions: Vec<SessionStats>,
    /// The session that asks.
    own: u32,
    own_user: String,
    is_full: bool,
    /// Sessions with a row of the server.
    seen: HashSet<u32>,
    /// The user of the first row.
    user: Option<Vec<u8>>,
    /// The account sees the threads of other users as well.
    sees_others: bool,
}

impl Absent {
    /// These sessions, for a list that the session `own` of `own_user` asks for.
    pub fn new(sessions: Vec<SessionStats>, own: u32, own_user: String, is_full: bool) -> Self {
        Self { sessions, own, own_user, is_full, seen: HashSet::new(), user: None, sees_others: false }
    }

    /// Takes note of a row of the server, of which this is the beginning.
    pub(super) fn see(&mut self, row: &[u8], translate: &impl Fn(u64) -> Option<u32>) {
        let mut cells = Cells::of(row);
        let id = cells.next().flatten().and_then(|id| std::str::from_utf8(id).ok()?.parse().ok());
        self.seen.extend(id.and_then(translate));
        let Some(Some(user)) = cells.next() else { return };
        match &self.user {
            None => self.user = Some(user.to_vec()),
            Some(first) => self.sees_others |= first != user,
        }
    }

    /// Puts the rows of sessions that the server has shown none of, in a list with so many columns,
    /// from this sequence id on. Returns the one of the next packet.
    ///
    /// There are none if the session that asks was not seen: then the rows are not understood,
    /// such as those in a character set that does not have ASCII.
    pub(super) fn put(&self, columns: usize, mut seq: u8, out: &mut Vec<u8>) -> u8 {
        let has_progress = columns == COLUMNS + 1;
        if !self.seen.contains(&self.own) || columns != COLUMNS && !has_progress {
            return seq;
        }
        let is_shown = |session: &&SessionStats| {
            !self.seen.contains(&session.id) && (self.sees_others || session.user == self.own_user)
        };
        let mut row = Vec::new();
        for session in self.sessions.iter().filter(is_shown) {
            row.clear();
            self.put_row(session, &mut row);
            if has_progress {
                TextRow::put(&mut row, [Some(PROGRESS)]);
            }
            seq = put_message(out, seq, &row);
        }
        seq
    }

    /// Puts the first columns of a session's row.
    fn put_row(&self, session: &SessionStats, out: &mut Vec<u8>) {
        let host = session.client.map_or_else(|| "localhost".to_owned(), |(ip, port)| format!("{ip}:{port}"));
        let (command, state) = match session.command {
            "Connect" => ("Query", "waiting for a connection"),
            "Delay" => ("Query", "delayed"),
            "Connecting client" => ("Connect", ""),
            command => (command, ""),
        };
        let (id, time) = (session.id.to_string(), session.time.as_secs().to_string());
        let schema = session.schema.as_deref().filter(|schema| !schema.is_empty());
        let info = session.statement.as_deref();
        let info = if self.is_full { info } else { info.map(beginning) };
        let name = |text| Some(str::as_bytes(text));
        let cells = [
            name(&id),
            name(&session.user),
            name(&host),
            schema.and_then(name),
            name(command),
            name(&time),
            name(state),
            info,
        ];
        TextRow::put(out, cells);
    }
}

/// The beginning of a statement, up to the end of a character.
fn beginning(text: &[u8]) -> &[u8] {
    let is_boundary = |at: &usize| text.get(*at).is_none_or(|byte| byte & 0xc0 != 0x80);
    let len = text.len().min(INFO_BYTES_MAX);
    let len = (0..=len).rev().find(is_boundary).unwrap_or(len);
    text.get(..len).unwrap_or(text)
}

/// Whether a packet behind the rows is the end of the last result. It may be its beginning only.
pub(super) fn is_last_end(payload: &[u8], capabilities: Capabilities) -> bool {
    payload.first() == Some(&Eof::HEADER)
        && End::of_rows(payload, payload.len(), capabilities)
            .is_ok_and(|end| !end.status().contains(StatusFlags::MORE_RESULTS))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use wire::Codec as _;
    use wire::packet::{Column, Ok};

    use super::super::Listing;
    use super::*;
    use session::state::ids::Ids;

    const CLASSIC: Capabilities = Capabilities::PROTOCOL_41;
    const MODERN: Capabilities = CLASSIC.union(Capabilities::DEPRECATE_EOF);
    const FIRST: u32 = 1 << 30;

    /// Session n has thread n, if that is 7 or more.
    fn translate(id: u64) -> Option<u32> {
        (7..20).contains(&id).then(|| FIRST + u32::try_from(id).unwrap())
    }

    fn session(id: u32, user: &str, command: &'static str, statement: Option<&[u8]>) -> SessionStats {
        SessionStats {
            worker: 0,
            id: FIRST + id,
            user: user.to_owned(),
            schema: (id != 8).then(|| "shop".to_owned()),
            client: (id != 8).then(|| ([10, 0, 0, 1].into(), 4711)),
            hostgroup: 0,
            local: None,
            server: None,
            command,
            time: Duration::from_millis(2900),
            statement: statement.map(<[u8]>::to_vec),
            pin: None,
            transaction: None,
            extended: None,
        }
    }

    fn absent(is_full: bool) -> Absent {
        let long = "\u{e9}".repeat(60);
        let sessions = vec![
            session(7, "app", "Query", Some(b"SHOW PROCESSLIST")),
            session(8, "app", "Sleep", None),
            session(9, "other", "Connect", Some(long.as_bytes())),
        ];
        Absent::new(sessions, FIRST + 7, "app".to_owned(), is_full)
    }

    /// A result with these rows, of 8 or 9 columns, and what is behind it.
    fn result(caps: Capabilities, columns: u8, rows: &[Vec<u8>], end: &[u8]) -> Vec<u8> {
        let mut payloads = vec![vec![columns]];
        payloads.extend((0..columns).map(|_| Column::text(b"a", 63).encode(CLASSIC)));
        if caps == CLASSIC {
            payloads.push(vec![0xfe, 0, 0, 2, 0]);
        }
        payloads.extend_from_slice(rows);
        payloads.push(end.to_vec());
        let mut bytes = Vec::new();
        payloads.iter().fold(1, |seq, payload| put_message(&mut bytes, seq, payload));
        bytes
    }

    fn end(caps: Capabilities, status: StatusFlags) -> Vec<u8> {
        if caps == CLASSIC {
            return Eof { warnings: 0, status }.encode(caps);
        }
        let mut end = Ok { info: &[b'x'; 500], ..Ok::plain(status) }.encode(caps);
        end[0] = Eof::HEADER;
        end
    }

    fn row(cells: &[Option<&str>], columns: u8) -> Vec<u8> {
        let mut row = Vec::new();
        TextRow::put(&mut row, cells.iter().copied());
        TextRow::put(&mut row, (columns == 9).then_some(Some("0.000")));
        row
    }

    /// A row of the server.
    fn thread(id: &str, user: &str, columns: u8) -> Vec<u8> {
        let info = "x".repeat(1000);
        let rest = [Some("h:1"), None, Some("Query"), Some("0"), Some(""), Some(&info)];
        row(&[&[Some(id), Some(user)][..], &rest].concat(), columns)
    }

    fn idle(columns: u8) -> Vec<u8> {
        let cells = ["1073741832", "app", "localhost", "", "Sleep", "2", "", ""].map(Some);
        let mut cells = cells.to_vec();
        (cells[3], cells[7]) = (None, None);
        row(&cells, columns)
    }

    fn waiting(columns: u8, len: usize) -> Vec<u8> {
        let info = "\u{e9}".repeat(len);
        let state = "waiting for a connection";
        let cells = ["1073741833", "other", "10.0.0.1:4711", "shop", "Query", "2", state, &info];
        row(&cells.map(Some), columns)
    }

    /// What becomes of an answer that comes in two pieces, at whatever place it is cut.
    fn expect(caps: Capabilities, is_full: bool, before: &[u8], after: &[u8]) {
        for cut in 0..before.len() {
            let listing = Listing::new(caps, Ids::FIRST, false).with(absent(is_full));
            let mut listing = listing;
            let (now, later) = before.split_at(cut);
            let told = [listing.rewrite(now, translate), listing.rewrite(later, translate)].concat();
            assert!(told == after, "{cut}: {}", told.escape_ascii());
        }
    }

    #[test]
    fn sessions_without_a_thread_come_behind_the_rows() {
        for (caps, columns) in [(CLASSIC, 8), (MODERN, 8), (CLASSIC, 9), (MODERN, 9)] {
            let end = end(caps, StatusFlags::AUTOCOMMIT);
            let before = [thread("3", "app", columns), thread("7", "app", columns)];
            let after = [thread("3", "app", columns), thread("1073741831", "app", columns), idle(columns)];
            let [before, after] = [&before[..], &after].map(|rows| result(caps, columns, rows, &end));
            expect(caps, false, &before, &after);
        }
    }

    #[test]
    fn sessions_of_other_users_are_shown_if_their_threads_are() {
        for (is_full, len) in [(false, 50), (true, 60)] {
            let end = end(MODERN, StatusFlags::AUTOCOMMIT);
            let before = [thread("7", "app", 8), thread("4", "event_scheduler", 8)];
            let after =
                [thread("1073741831", "app", 8), thread("4", "event_scheduler", 8), idle(8), waiting(8, len)];
            let [before, after] = [&before[..], &after].map(|rows| result(MODERN, 8, rows, &end));
            expect(MODERN, is_full, &before, &after);
        }
    }

    #[test]
    fn what_is_not_understood_gets_no_rows() {
        let (done, more) = (StatusFlags::AUTOCOMMIT, StatusFlags::MORE_RESULTS);
        let error = b"\xff\x15\x04#28000no".to_vec();
        for (columns, end) in [(7, end(MODERN, done)), (8, end(MODERN, more)), (8, error)] {
            let [before, after] = ["7", "1073741831"].map(|id| thread(id, "app", columns));
            let [before, after] = [before, after].map(|row| result(MODERN, columns, &[row], &end));
            expect(MODERN, false, &before, &after);
        }
        // The session that asks is not there.
        let all = result(MODERN, 8, &[thread("3", "app", 8)], &end(MODERN, done));
        expect(MODERN, false, &all, &all);
    }

    #[test]
    fn sequence_ids_go_on_behind_255() {
        let end = end(CLASSIC, StatusFlags::AUTOCOMMIT);
        let before = vec![thread("7", "app", 8); 300];
        let mut after = vec![thread("1073741831", "app", 8); 300];
        after.push(idle(8));
        let [before, after] = [before, after].map(|rows| result(CLASSIC, 8, &rows, &end));
        let mut listing = Listing::new(CLASSIC, Ids::FIRST, false).with(absent(false));
        assert!(listing.rewrite(&before, translate) == after);
    }
}
