//! The thread that writes.

use std::sync::mpsc::Receiver;
use std::time::Instant;

use crate::limits::{QUEUE_RECORDS_MAX, REST};
use crate::output::{Done, Output};
use crate::queue::{Books, Message, Order};
use crate::{AuditRecord, Format, LogFile, Record, Settings, Zone, binary, json, slow};

/// What the thread has.
#[derive(Debug)]
pub(crate) struct Writer {
    events: Option<Output>,
    slow: Option<Output>,
    audit: Option<Output>,
    format: Format,
    zone: Zone,
    /// The bytes of one record.
    line: Vec<u8>,
}

/// What comes after a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    /// Nothing is left to do for the moment.
    Rest,
    /// The next one: there was more than one takes.
    Turn,
    /// The end of the thread.
    End,
}

impl Writer {
    pub(crate) const fn new(zone: Zone) -> Self {
        Self { events: None, slow: None, audit: None, format: Format::Binary, zone, line: Vec::new() }
    }

    /// Writes what comes until all senders are gone, or an order ends it.
    pub(crate) fn run(mut self, messages: &Receiver<Message>, books: &Books) {
        while let Ok(message) = messages.recv() {
            let mut after = self.turn(Some(message), messages, books);
            while after == After::Turn {
                after = self.turn(None, messages, books);
            }
            if after == After::End {
                return;
            }
            // What comes meanwhile is written together.
            std::thread::sleep(REST);
        }
    }

    /// Does what there is to do now: what is in the queue, which may go on filling up, and then the
    /// orders that had no place in it.
    fn turn(&mut self, first: Option<Message>, messages: &Receiver<Message>, books: &Books) -> After {
        // Those that are postponed from now on may stand behind more records than are taken here.
        let last_overdue = books.last_overdue();
        // As many as the queue holds, and the one that has left it: what comes meanwhile may never
        // end.
        let mut left = 1 + QUEUE_RECORDS_MAX;
        let mut done = Done::default();
        let mut end = false;
        for message in first.into_iter().chain(messages.try_iter()).take(left) {
            left -= 1;
            match message {
                Message::Record(record) => {
                    books.taken(record.weight());
                    add(&mut done, self.record(&record));
                }
                Message::Audit(record) => {
                    books.taken(record.weight());
                    add(&mut done, self.audit(&record));
                }
                Message::Order(order, number) => {
                    add(&mut done, self.flush());
                    books.count(std::mem::take(&mut done));
                    end |= self.obey(order);
                    books.obeyed(number);
                }
            }
        }
        add(&mut done, self.flush());
        books.count(done);
        for (order, number) in books.take_overdue(last_overdue) {
            end |= self.obey(order);
            books.obeyed(number);
        }
        if end {
            After::End
        } else if left == 0 || books.last_overdue() > 0 {
            After::Turn
        } else {
            After::Rest
        }
    }

    fn record(&mut self, record: &Record) -> Done {
        let now = Instant::now();
        let mut done = Done::default();
        if let Some(output) = self.events.as_mut().filter(|_| record.logs.events) {
            self.line.clear();
            match self.format {
                Format::Binary => binary::write(record, &mut self.line),
                Format::Json => json::write(record, &self.zone, &mut self.line),
            }
            add(&mut done, output.add(&self.line, now));
        }
        if let Some(output) = self.slow.as_mut().filter(|_| record.logs.slow) {
            self.line.clear();
            slow::write(record, &mut self.line);
            add(&mut done, output.add(&self.line, now));
        }
        done
    }

    fn audit(&mut self, record: &AuditRecord) -> Done {
        let Some(output) = &mut self.audit else { return Done::default() };
        self.line.clear();
        record.write(&self.zone, &mut self.line);
        output.add(&self.line, Instant::now())
    }

    /// All logs that there are.
    fn outputs(&mut self) -> impl Iterator<Item = &mut Output> {
        [&mut self.events, &mut self.slow, &mut self.audit].into_iter().flatten()
    }

    fn flush(&mut self) -> Done {
        let now = Instant::now();
        let mut done = Done::default();
        for output in self.outputs() {
            add(&mut done, output.flush(now));
        }
        done
    }

    /// Carries out an order; all records before it are written. True if it is the last one.
    fn obey(&mut self, order: Order) -> bool {
        match order {
            Order::Configure(settings) => self.configure(settings),
            Order::Rotate => {
                for output in self.outputs() {
                    output.rotate(Instant::now());
                }
            }
            Order::End => return true,
        }
        false
    }

    fn configure(&mut self, settings: Settings) {
        let Settings { events, format, slow, audit } = settings;
        // A file has one format.
        if format != self.format {
            self.events = None;
            self.format = format;
        }
        replace(&mut self.events, "query log", events);
        replace(&mut self.slow, "slow log", slow);
        replace(&mut self.audit, "audit log", audit);
    }
}

/// Uses other files from now on, unless they are the same.
fn replace(output: &mut Option<Output>, name: &'static str, settings: Option<LogFile>) {
    match (settings, output.as_mut()) {
        (None, _) => *output = None,
        (Some(new), Some(output)) if output.settings().base == new.base => output.set_size_max(new.size_max),
        (Some(new), _) => output.insert(Output::new(name, new)).prepare(Instant::now()),
    }
}

fn add(sum: &mut Done, more: Done) {
    sum.written += more.written;
    sum.failed += more.failed;
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;
    use crate::queue::tests::record;

    #[test]
    fn a_turn_has_an_end_however_much_there_is() {
        let (sender, messages) = sync_channel(2 * QUEUE_RECORDS_MAX);
        for _ in 0..2 * QUEUE_RECORDS_MAX {
            sender.try_send(Message::Record(record("x"))).unwrap();
        }
        let (mut writer, books) = (Writer::new(Zone::utc()), Books::default());
        assert_eq!(writer.turn(None, &messages, &books), After::Turn);
        assert_eq!(messages.try_iter().count(), QUEUE_RECORDS_MAX - 1);
        sender.try_send(Message::Record(record("x"))).unwrap();
        assert_eq!(writer.turn(None, &messages, &books), After::Rest);
        sender.try_send(Message::Order(Order::End, 1)).unwrap();
        assert_eq!(writer.turn(None, &messages, &books), After::End);
    }
}
