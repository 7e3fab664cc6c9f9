//! Events out of bytes that come in any pieces.

mod body;

use crate::checksum::Checksum;
use crate::error::Broken;
use crate::event::{Event, Logged, format, read};
use crate::events::body::{Body, Content};
use crate::header::{HEADER_LEN, Header};
use crate::kind;

/// Where events go.
pub(crate) type Out<'o> = dyn FnMut(Logged<'_>) + 'o;

/// Follows events, one behind the other, and keeps no more of each than is looked at.
#[derive(Debug)]
pub(crate) struct Events {
    /// How events end, but for format descriptions.
    checksum: Checksum,
    /// Whether these are events of a compressed transaction.
    is_nested: bool,
    state: State,
    /// The first bytes of the current event's body.
    kept: Vec<u8>,
    /// The text of a compressed statement.
    text: Vec<u8>,
}

#[derive(Debug)]
enum State {
    /// In a header, of which so many bytes were seen.
    Header([u8; HEADER_LEN], u8),
    /// Behind a header.
    Body(Body),
}

const START: State = State::Header([0; HEADER_LEN], 0);

impl Events {
    /// A log whose first events end like this.
    pub(crate) const fn new(checksum: Checksum) -> Self {
        Self { checksum, is_nested: false, state: START, kept: Vec::new(), text: Vec::new() }
    }

    /// The events of a compressed transaction.
    pub(crate) const fn nested() -> Self {
        let mut events = Self::new(Checksum::None);
        events.is_nested = true;
        events
    }

    /// Whether no event has begun that has not ended.
    pub(crate) const fn is_between(&self) -> bool {
        matches!(self.state, State::Header(_, 0))
    }

    /// The type's number of the event that has begun.
    pub(crate) const fn current(&self) -> u8 {
        match &self.state {
            State::Header([_, _, _, _, kind, ..], _) => *kind,
            State::Body(body) => body.header().kind,
        }
    }

    /// Goes on with `input`. Events that end there go to `out`, in their order.
    pub(crate) fn feed(&mut self, mut input: &[u8], out: &mut Out<'_>) -> Result<(), Broken> {
        while let Some((byte, rest)) = input.split_first() {
            match &mut self.state {
                State::Header(bytes, filled) => {
                    input = rest;
                    if let Some(slot) = bytes.get_mut(usize::from(*filled)) {
                        *slot = *byte;
                    }
                    *filled += 1;
                    if usize::from(*filled) == HEADER_LEN {
                        let bytes = *bytes;
                        self.begin(bytes, out)?;
                    }
                }
                State::Body(body) => input = body.take(input, &mut self.kept, out),
            }
            if let State::Body(body) = &self.state
                && body.is_complete()
            {
                self.end(out)?;
            }
        }
        Ok(())
    }

    /// An event begins with this header.
    fn begin(&mut self, bytes: [u8; HEADER_LEN], out: &mut Out<'_>) -> Result<(), Broken> {
        // The format description itself says how events end: it has all of its end in its body.
        let is_format = Header::parse(bytes).kind == kind::FORMAT_DESCRIPTION;
        let checksum = if is_format { Checksum::None } else { self.checksum };
        let body = Body::new(bytes, checksum, self.is_nested)?;
        if body.is_expanded() {
            out(Logged { next_position: 0, event: Event::Compressed });
        }
        self.kept.clear();
        self.state = State::Body(body);
        Ok(())
    }

    /// The current event ends.
    fn end(&mut self, out: &mut Out<'_>) -> Result<(), Broken> {
        let State::Body(body) = std::mem::replace(&mut self.state, START) else { return Ok(()) };
        let (header, content) = body.checked()?;
        let event = match content {
            Content::Skip => return Ok(()),
            Content::Unknown => Event::Unknown { kind: header.kind },
            Content::Expand(payload) => Event::Expanded { whole: payload.is_whole() },
            Content::Format(bytes) => {
                let format = format::read(&bytes, &self.kept)?;
                self.checksum = format.checksum;
                Event::Format { version: format.version }
            }
            Content::Keep { is_cut, .. } => read(header, &self.kept, is_cut, &mut self.text)
                .map_err(|error| Broken::Event { kind: header.kind, error })?,
        };
        out(Logged { next_position: header.next_position, event });
        Ok(())
    }
}
