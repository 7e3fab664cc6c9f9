//! Report of a difference, for the developer who has to find its cause.

use std::fmt::{self, Write as _};

use wire::{Capabilities, Codec as _, packet};

use crate::play::Difference;
use crate::side::{Answer, Frame};
use crate::step::Step;

/// Packets of one answer that are shown.
const FRAMES_MAX: usize = 12;
/// How many of them are in front of the first that is not the same.
const FRAMES_BEFORE: usize = 3;
/// Bytes of one packet that are shown.
const BYTES_MAX: usize = 180;

/// A difference and where it was found.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The run's seed.
    pub(crate) seed: u64,
    /// Commands of the whole run.
    pub(crate) commands: usize,
    /// The client.
    pub(crate) client: usize,
    /// Its schema.
    pub(crate) schema: String,
    /// All that it does.
    pub(crate) script: Vec<Step>,
    /// What was not the same.
    pub(crate) difference: Box<Difference>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, commands, client, schema, difference, .. } = self;
        writeln!(
            f,
            "seed {seed}, client {client} (schema {schema}), step {} (command {} of the client): not the same as directly",
            difference.at, difference.commands
        )?;
        writeln!(f, "again: POINTSMAN_MODEL_SEED={seed} POINTSMAN_MODEL_STATEMENTS={commands}")?;
        for (step, answer) in &difference.history {
            let first = answer.frames.first().map_or_else(|| "-".to_owned(), shown);
            writeln!(f, "  {step:?}\n      => {first}{}", if answer.ended { " END" } else { "" })?;
        }
        write!(f, "{difference}")
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "* {}\n* {}", self.command, self.why)?;
        let frames = self.expected.frames.iter().zip(&self.got.frames);
        let same = frames.take_while(|(expected, got)| expected == got).count();
        let from = same.saturating_sub(FRAMES_BEFORE);
        let (expected, got) = (listed(&self.expected, from), listed(&self.got, from));
        write!(f, "directly:\n{expected}through the proxy:\n{got}")
    }
}

/// Packets, a line each, from this one on.
fn listed(answer: &Answer, from: usize) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    if from > 0 {
        let _ = writeln!(out, "    ({from} in front)");
    }
    for frame in answer.frames.iter().skip(from).take(FRAMES_MAX) {
        let _ = writeln!(out, "    {}", shown(frame));
    }
    if let Some(more) = answer.frames.len().checked_sub(from + FRAMES_MAX).filter(|more| *more > 0) {
        let _ = writeln!(out, "    ({more} more)");
    }
    if answer.ended {
        out.push_str("    END\n");
    }
    out
}

/// A packet in one line.
fn shown(frame: &Frame) -> String {
    let Frame { seq, payload } = frame;
    let bytes = payload.get(..BYTES_MAX).unwrap_or(payload).escape_ascii();
    let plain = Capabilities::PROTOCOL_41;
    let meaning = match payload.first() {
        Some(&packet::Err::HEADER) => packet::Err::decode(payload, plain).map_or_else(
            |_| String::new(),
            |error| format!("error {}: {}", error.code, String::from_utf8_lossy(error.message)),
        ),
        // The end of a result looks like it as well.
        Some(0 | 0xfe) if payload.len() >= 7 => packet::Ok::decode(payload, plain).map_or_else(
            |_| String::new(),
            |ok| {
                format!(
                    "OK? {} rows, id {}, {:?}, {} warnings",
                    ok.affected_rows, ok.last_insert_id, ok.status, ok.warnings
                )
            },
        ),
        _ => String::new(),
    };
    format!("{seq}:{}:{bytes} {meaning}", payload.len())
}
