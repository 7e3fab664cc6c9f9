//! The thread that writes.

use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Instant;

use crate::limits::REST;
use crate::output::{Done, Output};
use crate::queue::{Books, Message, Order};
use crate::{Format, LogFile, Record, Settings, Zone, binary, json, slow};

/// What the thread has.
#[derive(Debug)]
pub(crate) struct Writer {
    events: Option<Output>,
    slow: Option<Output>,
    format: Format,
    zone: Zone,
    /// The bytes of one record.
    line: Vec<u8>,
}

impl Writer {
    pub(crate) const fn new(zone: Zone) -> Self {
        Self { events: None, slow: None, format: Format::Binary, zone, line: Vec::new() }
    }

    /// Writes what comes until there is nobody any more who could send something, or it shall end.
    pub(crate) fn run(mut self, messages: &Receiver<Message>, books: &Books) {
        while let Ok(message) = messages.recv() {
            if self.turn(message, messages, books) {
                return;
            }
            // What comes meanwhile is written together.
            std::thread::sleep(REST);
        }
    }

    /// Does what there is to do now. True if it shall end.
    fn turn(&mut self, first: Message, messages: &Receiver<Message>, books: &Books) -> bool {
        let mut next: Result<Message, TryRecvError> = Ok(first);
        let mut end = false;
        let mut done = Done::default();
        for (order, number) in books.overdue() {
            end |= self.obey(order);
            books.obeyed(number);
        }
        while let Ok(message) = next {
            match message {
                Message::Record(record) => {
                    books.taken(&record);
                    add(&mut done, self.record(&record));
                }
                Message::Order(order, number) => {
                    add(&mut done, self.flush());
                    books.count(std::mem::take(&mut done));
                    end |= self.obey(order);
                    books.obeyed(number);
                }
            }
            next = messages.try_recv();
        }
        add(&mut done, self.flush());
        books.count(done);
        end
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

    fn flush(&mut self) -> Done {
        let now = Instant::now();
        let mut done = Done::default();
        for output in [&mut self.events, &mut self.slow].into_iter().flatten() {
            add(&mut done, output.flush(now));
        }
        done
    }

    /// Carries out an order; all records before it are written. True if it is the last one.
    fn obey(&mut self, order: Order) -> bool {
        match order {
            Order::Configure(settings) => self.configure(settings),
            Order::Rotate => {
                for output in [&mut self.events, &mut self.slow].into_iter().flatten() {
                    output.rotate(Instant::now());
                }
            }
            Order::End => return true,
        }
        false
    }

    fn configure(&mut self, settings: Settings) {
        let Settings { events, format, slow } = settings;
        // A file has one format.
        if format != self.format {
            self.events = None;
            self.format = format;
        }
        replace(&mut self.events, "query log", events);
        replace(&mut self.slow, "slow log", slow);
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
