//! The segments of a client's reply on their way through the taps.
//!
//! What was read passes them in this order; [`reply`] has a file for each that is not
//! the session's own.
//!
//! 1. `Withhold`, in front of all others: a reply of a batch is kept until it is whole.
//! 2. Replies to setup commands are taken off.
//! 3. Segment by segment: `Observe` counts bytes, `Trackers` reads GTIDs, `Compare` counts rows,
//!    `State` notes definitions; at an end it notes statements.
//! 4. An end is counted by `Observe`, unless the command may be sent again: then no tap behind has
//!    seen it.
//! 5. `Rewrite`: trackers, news of the transaction, errors, columns, ids of sessions.

use std::borrow::Cow;
use std::task::Context;

use cache::NotStored;
use legs::entry::BookEntry;
use legs::flight::Flight;
use legs::hidden::Refused;
use legs::io::Io;
use legs::part::Part;
use legs::pipelined::{Pipelined, work_at};
use legs::state::settle::{RanAt, Settled};
use legs::state::{Past, SessionState};
use reply::errors::{INTERRUPTED, NO_OPEN_CURSOR, NO_SUCH_THREAD};
use reply::{Taps, errors};
use runtime::counted::answered;
use session::causal::untold;
use session::link::LinkState;
use session::state::trackers::Told;
use tokio::time::Instant;
use upstream::{Backend, Connection, Crossed, Owner, Progress, Segment};
use wire::command::Kind;
use wire::reply::{End, Event, Outcome, ReplyScanner};
use wire::{Capabilities, StatusFlags};

use crate::counts::Counter;
use crate::session::again::{may_be_hidden, refused};
use crate::session::facts::cache::forget_before;

/// Keeps a reply from being stored that has come over a connection whose server gives sessions
/// what no kept answer may have. If that is not known the session is to ask.
fn judge_defaults(entry: &BookEntry, backend: &Backend, taps: &mut Taps) {
    if !entry.worker.settings().judge_tables {
        return;
    }
    let refusal = match backend.connection().defaults.keep_answers(entry.worker.now()) {
        Some(true) => return,
        Some(false) => NotStored::Defaults,
        None => {
            let hostgroup = backend.server().hostgroup();
            entry.worker.cached.want(entry.control.id(), hostgroup, std::iter::empty());
            NotStored::UnknownDefaults
        }
    };
    taps.refuse_fill(refusal);
}

/// The connection that a reply comes over, and what it concerns of its session.
#[derive(Debug)]
pub(super) struct At<'a> {
    pub(super) backend: &'a mut Backend,
    pub(super) state: &'a mut SessionState,
    pub(super) flight: &'a mut Flight,
    pub(super) pipelined: &'a mut Pipelined,
}

/// Why a reply is not passed on.
#[derive(Debug)]
pub(super) enum Wrong {
    /// The server has refused a setup command.
    Setup,
    /// It is not the reply that was owed. The client is at this place in it.
    Nonsense(Crossed, Progress),
    /// The server asks for a file that it may not have, at this place.
    File(Progress),
    /// So many bytes are behind the last reply.
    TooMuch(usize),
    /// The client cannot be written to.
    ClientLeft,
}

impl At<'_> {
    /// Passes on to the client what was `read`. The event behind it, if more is to be done then
    /// than to read on.
    pub(super) fn pass(
        &mut self,
        (entry, io): (&BookEntry, &mut Io),
        cx: &mut Context<'_>,
        read: &[u8],
    ) -> Result<Option<Event>, Wrong> {
        let input = self.behind_setup(entry, read).ok_or(Wrong::Setup)?;
        if input.is_empty() {
            return Ok(None);
        }
        // Where the client is, before it gets anything of this.
        let before = self.backend.connection().pipeline.progress();
        let part = self.listen(entry, before, input).map_err(|error| Wrong::Nonsense(error, before))?;
        if let Some(rate) = entry.worker.front.rate_to_client() {
            io.throttle.get_or_insert_default().note(Instant::now(), part.bytes.len(), rate);
        }
        if part.event == Event::LocalInfile && !self.may_ask_for_file() {
            return Err(Wrong::File(before));
        }
        let is_all = self.keeps_behind(&part, input);
        if let Some(refused) = self.marred(&part).or_else(|| self.refused(entry, &part)) {
            self.flight.begin().refused = Some(refused);
            return Ok(Some(part.event));
        }
        if let Some((outcome, bytes)) = part.untold {
            // Those who count have not been told of it before.
            answered(&entry.worker, &entry.control, outcome, bytes);
        }
        let output = self.rewrite(entry, &part, before.is_between_packets);
        if let Event::Done(Outcome { end: End::Err { .. }, .. }) = part.event {
            self.state.note_failed(part.is_whole.then_some(&*output));
        }
        if self.state.past.contains(Past::UNWATCHED) {
            self.end_unwatched(entry, part.event);
        }
        if !self.withholds_end(&part, &output) {
            io.send(cx, &output).map_err(|_| Wrong::ClientLeft)?;
        }
        match part.event {
            Event::More | Event::Changed => Ok(None),
            _ if !is_all => Err(Wrong::TooMuch(input.len() - part.bytes.len())),
            event => Ok(Some(event)),
        }
    }

    /// Keeps the end of the last reply that was sent for if it hides a transaction.
    #[inline]
    fn withholds_end(&mut self, part: &Part<'_>, output: &[u8]) -> bool {
        let untold = self.state.gtids.as_mut().and_then(|gtids| gtids.untold.as_mut());
        let Some(held) = untold.filter(|_| matches!(part.event, Event::Done(_)) && self.pipelined.is_empty())
        else {
            return false;
        };
        held.extend_from_slice(output);
        true
    }

    /// Whether a segment passes no tap but those that see only ends.
    #[inline]
    fn is_plain(&self) -> bool {
        self.flight.taps.is_empty() && self.state.gtids.is_none()
    }

    /// Shows a segment to the taps that few replies have; `read` ends with it.
    fn show(&mut self, entry: &BookEntry, segment: &Segment<'_>, read: &[u8]) {
        self.collect(entry, segment.event, read);
        if let Some(flight) = self.flight.as_mut() {
            if matches!(segment.event, Event::Done(_)) && flight.taps.fill().is_some() {
                judge_defaults(entry, self.backend, &mut flight.taps);
            }
            let server = &self.backend.server().endpoint().endpoint;
            flight.taps.look(&*entry.worker, segment, server);
        }
        if self.flight.taps.keeps_definitions()
            && let Some(registry) = &mut self.state.prepared
        {
            registry.hear(entry.control.running.kind(), segment.bytes);
        }
    }

    /// The bytes of a part as the client gets them.
    #[inline]
    fn rewrite<'a>(&mut self, entry: &BookEntry, part: &Part<'a>, between_packets: bool) -> Cow<'a, [u8]> {
        let is_end = matches!(part.event, Event::Done(_));
        if self.is_plain() && !is_end {
            return part.bytes.into();
        }
        let mut told = self.without_trackers(part);
        if let Event::Done(outcome) = part.event {
            told = self.rewrite_end(entry, outcome, told, between_packets);
        }
        let Some(flight) = self.flight.as_mut().filter(|flight| !flight.taps.is_empty()) else { return told };
        let server = &self.backend.server().endpoint().endpoint;
        let rewritten = flight.taps.rewrite(&told, &*entry.worker, server);
        rewritten.map_or(told, Cow::from)
    }

    /// The part without what the server was asked to tell for the proxy alone.
    #[inline]
    fn without_trackers<'a>(&mut self, part: &Part<'a>) -> Cow<'a, [u8]> {
        let Some(gtids) = &mut self.state.gtids else { return part.bytes.into() };
        let cut = self.backend.connection().pipeline.last_reply().filter(|_| part.event == Event::More);
        let cut = cut.map_or(0, ReplyScanner::cut_len);
        gtids.trackers.pass(part.bytes, cut).map_or(part.bytes.into(), Cow::from)
    }

    /// The end of a reply as the client gets it.
    #[inline]
    fn rewrite_end<'a>(
        &mut self,
        entry: &BookEntry,
        outcome: Outcome,
        told: Cow<'a, [u8]>,
        between_packets: bool,
    ) -> Cow<'a, [u8]> {
        match outcome.end {
            End::Ok { .. } if self.state.transaction.tracked.is_some() => self.with_transaction(told),
            End::Err { code } => {
                self.in_other_words(entry, code, &told, between_packets).map_or(told, Cow::from)
            }
            _ => told,
        }
    }

    /// The part with what the client is still to be told of its transaction, if the packet that it
    /// ends with is whole.
    #[cold]
    fn with_transaction<'a>(&mut self, told: Cow<'a, [u8]>) -> Cow<'a, [u8]> {
        // Where something was taken out, the length of the last packet is not known any more.
        let len = self.backend.connection().pipeline.last_reply().and_then(ReplyScanner::last_len);
        let len = len.filter(|_| matches!(told, Cow::Borrowed(_)));
        let caps = self.state.identity.capabilities;
        let with = len
            .zip(self.state.transaction.tracked.as_ref())
            .and_then(|(len, one)| one.told_in(&told, len, caps));
        let Some(with) = with else { return told };
        self.state.transaction.tracked = None;
        with.into()
    }

    /// Packets that end with an error of this number, if the client gets it in other words.
    #[cold]
    fn in_other_words(
        &mut self,
        entry: &BookEntry,
        code: u16,
        packets: &[u8],
        between_packets: bool,
    ) -> Option<Vec<u8>> {
        match code {
            NO_SUCH_THREAD => errors::of_unknown_session(packets),
            NO_OPEN_CURSOR => {
                let (registry, link) = (self.state.prepared.as_ref(), self.backend.connection().state());
                let told = errors::of_own_statement(packets, |id| registry?.client_id_of(id, Some(link)));
                // Commands behind it may have asked about it already.
                self.state.set_retold(told.is_some() && self.pipelined.is_empty());
                told
            }
            INTERRUPTED if entry.control.overdue.get() && between_packets => {
                errors::timed_out(packets, self.state.identity.capabilities)
            }
            _ => None,
        }
    }

    /// Strips the replies to setup commands off `input`; nothing if the server has refused one.
    pub(super) fn behind_setup<'i>(&mut self, entry: &BookEntry, input: &'i [u8]) -> Option<&'i [u8]> {
        match self.backend.connection_mut().read_setup(input) {
            Ok((read, told)) => {
                if let Some(status) = told {
                    self.state.set_status(status);
                    self.backend.connection_mut().state_mut().status = status;
                }
                input.get(read..)
            }
            Err(refused) => {
                entry.worker.upstream.accepted.clear();
                self.flight.begin().refusal = Some(refused);
                None
            }
        }
    }

    /// Reads replies up to the end of the last one, or of the input, or to where the client has to
    /// send a file. `before` is how far the first one has come.
    #[inline]
    pub(super) fn listen<'i>(
        &mut self,
        entry: &BookEntry,
        before: Progress,
        input: &'i [u8],
    ) -> Result<Part<'i>, Crossed> {
        let mut begins_with_packet = before.is_between_packets;
        let begins_answer = begins_with_packet && before.next_seq == 1;
        let runs = (entry.control.running.kind(), entry.control.running.bytes());
        // Alone: nothing in front of it belongs to another command.
        let (mut read, mut is_alone, mut untold) = (0, true, None);
        let event = loop {
            let rest = input.get(read..).unwrap_or_default();
            let segment = self.backend.connection_mut().pipeline.cut(rest)?;
            let Segment { owner, bytes: scanned, event } = segment;
            debug_assert_eq!(owner, Owner::Client, "another owner's reply");
            read += scanned.len();
            entry.control.running.add_answered(scanned.len());
            if !self.is_plain() {
                self.show(entry, &segment, input.get(..read).unwrap_or(input));
            }
            match event {
                Event::Done(outcome) => {
                    self.note_statements(entry, outcome);
                    let end = (outcome, begins_with_packet.then_some(scanned));
                    if self.pipelined.is_empty()
                        && (may_be_hidden(outcome, runs.0) || self.is_untold(outcome))
                    {
                        untold = Some(end);
                    } else {
                        answered(&entry.worker, &entry.control, outcome, end.1);
                    }
                    if read == input.len() || !self.go_on(entry, outcome) {
                        break event;
                    }
                    (begins_with_packet, is_alone) = (true, false);
                }
                Event::Changed => {}
                Event::More | Event::LocalInfile => break event,
            }
        };
        let is_whole = begins_answer && is_alone && self.pipelined.is_empty() && self.is_last(read, input);
        Ok(Part { event, bytes: input.get(..read).unwrap_or(input), is_whole, runs, untold })
    }

    /// Whether nothing follows in `input` behind so many bytes but answers to other sessions.
    fn is_last(&self, read: usize, input: &[u8]) -> bool {
        read == input.len() || self.backend.connection().is_promised()
    }

    /// Keeps what follows behind `part` in `input` for those who have sent their statements with
    /// this one. Whether there is anything else.
    pub(super) fn keeps_behind(&mut self, part: &Part<'_>, input: &[u8]) -> bool {
        let behind = input.get(part.bytes.len()..).unwrap_or_default();
        if behind.is_empty() {
            return true;
        }
        matches!(part.event, Event::Done(_)) && self.backend.connection_mut().read_ahead(behind)
    }

    /// Whether the server may ask for a file of the client.
    pub(super) fn may_ask_for_file(&self) -> bool {
        let takes_files = self.state.identity.capabilities.contains(Capabilities::LOCAL_FILES);
        self.flight.may_ask_for_file && takes_files && self.pipelined.is_empty()
    }

    /// What is to be done if the server has refused the statement, and it may be said again.
    #[inline]
    pub(super) fn refused(&self, entry: &BookEntry, part: &Part<'_>) -> Option<Box<Refused>> {
        let caps = self.state.identity.capabilities;
        let may_be = part.is_whole && !self.flight.taps.compares();
        may_be.then(|| refused(self.state, &entry.control, caps, part)).flatten()
    }

    /// The server works at the next command that was sent, if there is one.
    fn go_on(&mut self, entry: &BookEntry, outcome: Outcome) -> bool {
        let Some(next) = self.pipelined.pop() else { return false };
        let link = self.backend.connection_mut();
        settle(self.state, self.flight, outcome, Some(link));
        work_at(&entry.control, self.state, &next);
        true
    }

    /// Takes note of what a server has said of a statement, if that is what it was asked for, or
    /// has changed of one.
    fn note_statements(&mut self, entry: &BookEntry, outcome: Outcome) {
        let has_changed =
            outcome.status().is_some_and(|status| status.contains(StatusFlags::METADATA_CHANGED));
        if has_changed {
            self.backend.connection_mut().statements_mut().bind_all();
        }
        let looked_at = has_changed || self.flight.taps.has_columns();
        if looked_at || self.state.identity.keeps_definitions() {
            self.note_columns(entry, looked_at, !self.is_untold(outcome));
        }
        if entry.control.running.kind() == Some(Kind::StmtPrepare)
            && let Some(registry) = &mut self.state.prepared
        {
            let prepared = self.backend.connection().pipeline.last_reply().and_then(ReplyScanner::prepared);
            if let Some(prepared) = &prepared {
                entry.control.running.statement.set(prepared.id);
            }
            let link = self.backend.connection_mut();
            let known = registry.answered(self.state.here, link.state_mut(), prepared);
            if let Some(prepared) = prepared {
                link.statements_mut().note(prepared, known.unwrap_or_default());
            }
        }
    }

    /// Takes note of the columns of the execution that was answered. Where they are `looked_at`
    /// they may be others than before. The client knows them now, if it `is_told`: a connection
    /// where the statement has the ones that it does not know has it told of them.
    fn note_columns(&mut self, entry: &BookEntry, looked_at: bool, is_told: bool) {
        let running = &entry.control.running;
        let Some(registry) = &mut self.state.prepared else { return };
        if running.kind() != Some(Kind::StmtExecute) {
            return;
        }
        let columns = self.backend.connection().pipeline.last_reply().and_then(ReplyScanner::columns);
        let is_kept = self.state.identity.keeps_definitions()
            && (columns.is_some() || self.flight.taps.keeps_definitions());
        let told = if is_kept { registry.take_told() } else { None };
        let link = self.backend.connection_mut().state_mut();
        let Some(prepared) = registry.get_mut(running.statement.get()) else { return };
        if let Some(columns) = columns.filter(|_| looked_at) {
            prepared.note_columns(link, columns, is_told);
        }
        if is_kept {
            prepared.note_told(columns.is_some(), told);
        }
    }

    /// The client is about to get a part of a reply, with `event` behind it. The command may have
    /// been a write, and the cache was not told of it.
    #[cold]
    pub(super) fn end_unwatched(&mut self, entry: &BookEntry, event: Event) {
        let is_over = matches!(event, Event::Done(_)) && self.pipelined.is_empty();
        self.state.past.set(Past::UNWATCHED, !is_over);
        forget_before(&entry.worker.shared.cache);
    }

    /// Takes note of the transaction that a packet tells, if anybody wants to know: one behind
    /// which a scan of `read` has stopped.
    fn collect(&mut self, entry: &BookEntry, event: Event, read: &[u8]) {
        let Some(gtids) = &mut self.state.gtids else { return };
        let is_told = match event {
            Event::Changed => true,
            Event::Done(outcome) => {
                outcome.status().is_some_and(|status| status.contains(StatusFlags::SESSION_STATE_CHANGED))
            }
            Event::More | Event::LocalInfile => false,
        };
        let link = self.backend.connection();
        let len = link.pipeline.last_reply().and_then(ReplyScanner::last_len).filter(|_| is_told);
        let may_hide = |outcome: Outcome| {
            let effects = self.state.last.ran.sent.effects;
            !link.is_mariadb() && untold::may_hide(effects, outcome, self.state.identity.capabilities)
        };
        let is_untold = len.is_some_and(untold::has_no_room)
            || matches!(event, Event::Done(outcome) if may_hide(outcome))
                && entry.worker.settings().is_writer(self.state.here);
        if is_untold && self.state.identity.tracking().by_default {
            gtids.untold.get_or_insert_default();
        }
        let told = len.and_then(|len| Some((gtids.trackers.look(read, len)?, len)));
        if let Some((Told { age: Some(age), .. }, len)) = told
            && let Some(flight) = self.flight.as_mut()
        {
            flight.taps.note_age(age, len);
        }
        if let Some(gtid) = told.and_then(|(told, _)| told.gtid) {
            let hostgroup = self.state.here;
            gtids.note(hostgroup, entry.worker.cluster_of(hostgroup), gtid);
            entry.worker.counts.note(Counter::GtidCollected);
            if entry.worker.settings().logs.policy.is_any() {
                entry.control.running.set_gtid(&gtid);
            }
        }
    }
}

/// The command that ran has ended over this connection: takes note of what that changes, and says
/// what follows from it.
pub(super) fn settle(
    state: &mut SessionState,
    flight: &mut Flight,
    outcome: Outcome,
    link: Option<&mut Connection>,
) -> Settled {
    let proposed = flight.as_mut().and_then(|flight| flight.proposed.take());
    let Some(link) = link else {
        return state.settle(proposed, outcome, (&mut LinkState::default(), RanAt::default()));
    };
    let place = RanAt { dialect: link.dialect(), has_own_warnings: link.own_warnings, warned: link.warned() };
    state.settle(proposed, outcome, (link.state_mut(), place))
}
