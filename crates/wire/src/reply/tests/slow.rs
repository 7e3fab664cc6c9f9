//! A second implementation, slow and obvious: assembles all messages, decodes them whole, and reads
//! them one after the other.

use super::*;
use crate::Codec as _;
use crate::frame::MessageReader;
use crate::packet::{Eof, Err, Ok, PrepareOk};

/// The messages of one answer, and how many bytes they had.
struct Messages {
    reader: MessageReader,
    total: usize,
}

impl Messages {
    fn next(&mut self) -> Option<Vec<u8>> {
        self.reader.message().unwrap()
    }

    fn taken(&self) -> usize {
        self.total - self.reader.unread().len()
    }
}

/// Where the answer at the start of `bytes` ends, and how.
pub(super) fn slow_scan(answer: Answer, caps: Capabilities, bytes: &[u8]) -> (usize, Event) {
    let mut reader = MessageReader::new(usize::MAX);
    reader.expect(1);
    reader.feed(bytes);
    let mut messages = Messages { reader, total: bytes.len() };
    let mut rows = Rows::default();
    let end = match answer {
        Answer::None => Some(End::Other),
        Answer::Result | Answer::Cursor => loop {
            match result(&mut messages, caps, answer == Answer::Cursor, &mut rows) {
                Some(Ending::More) => {}
                Some(Ending::File) => return (messages.taken(), Event::LocalInfile),
                Some(Ending::Last(end)) => break Some(end),
                None => break None,
            }
        },
        Answer::Fetch => rows_of(&mut messages, caps, &mut rows).map(only),
        Answer::Prepare => prepare(&mut messages, caps),
        Answer::FieldList => {
            let mut fields = Rows::default();
            let end = rows_of(&mut messages, caps, &mut fields).map(only);
            rows.are_last = fields.are_last;
            end
        }
        Answer::Statistics => messages.next().map(|message| last(&message, caps).unwrap_or(End::Other)),
        Answer::Single => messages.next().and_then(|message| last(&message, caps)),
        Answer::Auth | Answer::Endless => unreachable!("not generated"),
    };
    match end {
        Some(end) => {
            (messages.taken(), Event::Done(Outcome { end, rows: rows.count, ends_rows: rows.are_last }))
        }
        None => (bytes.len(), Event::More),
    }
}

#[derive(Debug, Clone, Copy)]
enum Ending {
    More,
    File,
    Last(End),
}

/// The rows of an answer, and whether it ends with the end of some.
#[derive(Debug, Default)]
struct Rows {
    count: u64,
    are_last: bool,
}

/// The end of an answer that has one result.
fn only(ending: Ending) -> End {
    let Ending::Last(end) = ending else { panic!("{ending:?}: no generated answer of this kind has more") };
    end
}

fn ending(end: End) -> Ending {
    let status = Outcome { end, rows: 0, ends_rows: false }.status().unwrap_or_default();
    if status.contains(StatusFlags::MORE_RESULTS) { Ending::More } else { Ending::Last(end) }
}

/// An OK, ERR or terminating packet.
fn last(message: &[u8], caps: Capabilities) -> Option<End> {
    let deprecate = caps.contains(Capabilities::DEPRECATE_EOF);
    match message[0] {
        0xff => Some(End::Err { code: Err::decode(message, caps).unwrap().code }),
        0x00 => Some(whole_ok(message, caps)),
        0xfe if deprecate && message.len() < 0xff_ffff => Some(whole_ok(message, caps)),
        0xfe if !deprecate && message.len() < 9 => {
            let Eof { warnings, status } = Eof::decode(message, caps).unwrap();
            Some(End::Eof { status, warnings })
        }
        _ => None,
    }
}

fn whole_ok(message: &[u8], caps: Capabilities) -> End {
    let Ok { affected_rows, last_insert_id, status, warnings, .. } = Ok::decode(message, caps).unwrap();
    End::Ok { affected_rows, last_insert_id, status, warnings }
}

fn result(messages: &mut Messages, caps: Capabilities, cursor: bool, rows: &mut Rows) -> Option<Ending> {
    rows.are_last = false;
    let first = messages.next()?;
    if first[0] == 0xfb {
        return Some(Ending::File);
    }
    if let Some(end) = last(&first, caps) {
        return Some(ending(end));
    }
    let mut reader = crate::codec::Reader::new(&first);
    let columns = reader.lenenc("columns").unwrap();
    let follow = reader.is_empty() || reader.u8("follow").unwrap() == 1;
    for _ in 0..if follow { columns } else { 0 } {
        messages.next()?;
    }
    if !caps.contains(Capabilities::DEPRECATE_EOF) {
        let end = last(&messages.next()?, caps).unwrap();
        let status = Outcome { end, rows: 0, ends_rows: false }.status();
        if status.is_none_or(|status| cursor && status.contains(StatusFlags::CURSOR_EXISTS)) {
            return Some(ending(end));
        }
    }
    rows_of(messages, caps, rows)
}

fn rows_of(messages: &mut Messages, caps: Capabilities, rows: &mut Rows) -> Option<Ending> {
    loop {
        let message = messages.next()?;
        match message[0] {
            0xfe | 0xff => {
                rows.are_last = message[0] == 0xfe;
                return Some(ending(last(&message, caps)?));
            }
            _ => rows.count += 1,
        }
    }
}

fn prepare(messages: &mut Messages, caps: Capabilities) -> Option<End> {
    let first = messages.next()?;
    if first[0] == 0xff {
        return last(&first, caps);
    }
    let packet = PrepareOk::decode(&first, caps).unwrap();
    let mut end = End::Other;
    for count in [packet.params, packet.columns].into_iter().filter(|&count| count > 0) {
        for _ in 0..if packet.metadata_follows == Some(false) { 0 } else { count } {
            messages.next()?;
        }
        if !caps.contains(Capabilities::DEPRECATE_EOF) {
            end = last(&messages.next()?, caps)?;
        }
    }
    Some(end)
}
