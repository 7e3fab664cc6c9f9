//! One prepared statement: what it is, and what is known of it at each server.

use std::rc::Rc;

use command::Command;
use session::definitions::Definitions;
use session::homes::Freedom;
use session::link::LinkState;
use session::places::Place;
use upstream::Origin;
use upstream::ledger::{Entry, Opened};
use wire::command::{ExecuteParams, Kind};
use wire::{Capabilities, reply};

use super::Preparing;
use crate::state::typed::{Type, Typed};

/// A prepared statement.
#[derive(Debug)]
pub struct Prepared {
    /// What was prepared.
    pub what: Preparing,
    /// Its number among all that the session has prepared.
    pub serial: u64,
    /// The hostgroup where it was prepared first; it has everything that was sent for the
    /// statement.
    pub home: u32,
    /// How many values an execution needs.
    params: u16,
    /// How many columns the client knows of.
    columns: u16,
    /// What it was told of parameters and columns, if it keeps that.
    told: Option<u64>,
    /// What executions have told it of columns since.
    told_since: Told,
    /// It is counted among those that clients have.
    opened: Option<Opened>,
    /// The types of its parameters, as they were sent last, and how often they were.
    types: Option<Box<[u8]>>,
    types_version: u64,
    /// The version that the session's settings had then.
    typed_at: u64,
    /// The values that it was executed with, as far as servers remember them.
    typed: Typed,
    /// A part of a value was sent, or a cursor is open: the next commands belong to its home.
    is_at_home: bool,
    /// Parts of values were sent since the last execution.
    has_parts: bool,
    /// Parts that its server has not got: it refuses to prepare the statement now. Packets with
    /// headers.
    pub unsent: Vec<u8>,
    /// The last execution had values that were sent in parts: it cannot be sent again.
    ran_with_parts: bool,
}

/// What executions have told the client of columns since the statement was prepared.
#[derive(Debug, Clone, Copy)]
enum Told {
    /// None was answered.
    Unheard,
    /// The client knows what it was told then.
    Nothing,
    /// Those with this hash.
    Columns(u64),
    /// Others, and the answer was not looked at.
    Unknown,
}

impl Prepared {
    /// A statement that was prepared at this hostgroup with this answer; the client was told so of
    /// its parameters and columns, if it keeps that.
    pub fn new(
        mut what: Preparing,
        serial: u64,
        home: u32,
        statement: reply::Prepared,
        told: Option<u64>,
    ) -> Self {
        Self {
            opened: what.entry.take().map(Opened::new),
            what,
            serial,
            home,
            params: statement.params,
            columns: statement.columns,
            told,
            told_since: Told::Unheard,
            types: None,
            types_version: 0,
            typed_at: 0,
            typed: Typed::default(),
            is_at_home: false,
            has_parts: false,
            unsent: Vec::new(),
            ran_with_parts: false,
        }
    }

    /// Whether the next commands for it belong to where it lives.
    pub const fn is_at_home(&self) -> bool {
        self.is_at_home
    }

    /// Whether the next commands for it belong to this hostgroup, where it lives then.
    pub const fn keep_home(&mut self, hostgroup: u32, is_at_home: bool) {
        self.is_at_home = is_at_home;
        if is_at_home {
            self.home = hostgroup;
        }
    }

    /// Whether a command of this kind is about what was sent for it before, and that is not at this
    /// hostgroup. A cursor ends with the next execution.
    pub fn lacks_at(&self, hostgroup: u32, kind: Kind) -> bool {
        self.is_at_home && self.home != hostgroup && (kind != Kind::StmtExecute || self.has_parts())
    }

    /// Parts of a value are sent for it, or they are forgotten.
    pub const fn note_parts(&mut self, has_parts: bool) {
        self.has_parts = has_parts;
    }

    /// Whether a server that has answered so has prepared what the client may execute: it needs as
    /// many values, returns rows if it did, and tells of parameters and columns what the client was
    /// told, if it keeps that.
    pub fn is_same(&self, statement: reply::Prepared, answer: &[u8]) -> bool {
        self.params == statement.params
            && (self.columns == 0) == (statement.columns == 0)
            && self.told.is_none_or(|told| Some(told) == Definitions::of(answer))
    }

    /// It is executed.
    pub const fn note_executed(&mut self) {
        self.ran_with_parts = self.has_parts;
        self.has_parts = false;
    }

    /// Whether parts of values were sent for the next execution.
    pub fn has_parts(&self) -> bool {
        self.has_parts || !self.unsent.is_empty()
    }

    /// Whether its last execution had values that were sent before it.
    pub const fn ran_with_parts(&self) -> bool {
        self.ran_with_parts
    }

    /// Whether it could be prepared again where it lives.
    pub fn freedom(&self) -> Freedom {
        if self.is_at_home || self.what.text.is_none() {
            Freedom::Never
        } else {
            Freedom::While(self.what.modes)
        }
    }

    /// Whether it can be prepared anew where texts mean what they do in `modes`.
    pub fn is_preparable_in(&self, modes: u64) -> bool {
        self.what.text.is_some() && self.what.modes == modes
    }

    /// Its place at a connection, if it is there.
    pub fn at<'a>(&self, link: Option<&'a LinkState>) -> Option<&'a Place> {
        link?.places.get(self.serial)
    }

    /// The number that the server of a connection knows it by.
    pub fn id_at(&self, link: Option<&LinkState>) -> Option<u32> {
        self.at(link).map(|place| place.statement.id)
    }

    /// The types of its parameters, as they were sent last, and the version that the session's
    /// settings had then.
    pub fn types(&self) -> Option<(&[u8], u64)> {
        self.types.as_deref().map(|types| (types, self.typed_at))
    }

    /// Whether the server where it has this place knows the types of its parameters.
    pub const fn has_types_at(&self, place: &Place) -> bool {
        place.types == self.types_version
    }

    /// Whether it has other columns there than the client knows: a table has changed.
    pub const fn has_other_columns_at(&self, place: &Place) -> bool {
        place.statement.columns != self.columns
    }

    /// An execution has had so many columns: that is what its server has prepared now, and what the
    /// client knows, if it `is_told`.
    pub fn note_columns(&mut self, link: &mut LinkState, columns: u16, is_told: bool) {
        if is_told {
            self.columns = columns;
        }
        if let Some(place) = link.places.get_mut(self.serial) {
            place.statement.columns = columns;
        }
    }

    /// Whether nothing is known of the answers to executions.
    pub const fn is_unheard(&self) -> bool {
        matches!(self.told_since, Told::Unheard)
    }

    /// An execution was answered. The client, which keeps columns, `is_told` some with it; their
    /// hash is `columns`, if that is known.
    pub const fn note_told(&mut self, is_told: bool, columns: Option<u64>) {
        self.told_since = match (is_told, columns) {
            (true, Some(columns)) => Told::Columns(columns),
            (true, None) => Told::Unknown,
            (false, _) if self.is_unheard() => Told::Nothing,
            (false, _) => return,
        };
    }

    /// The hash of what the client, which keeps that, knows of columns; nothing if that is not
    /// known.
    pub const fn definitions(&self) -> Option<u64> {
        match self.told_since {
            Told::Unheard | Told::Nothing => self.told,
            Told::Columns(columns) => Some(columns),
            Told::Unknown => None,
        }
    }

    /// What it is made of; nothing if it must not outlive its session.
    pub fn origin(&self) -> Option<Origin> {
        self.what.origin(self.told)
    }

    /// Who else has it; nothing if its text is not kept.
    pub fn entry(&self) -> Option<&Rc<Entry>> {
        self.opened.as_ref().map(Opened::entry)
    }

    /// How many columns the client knows of.
    pub const fn columns(&self) -> u16 {
        self.columns
    }

    /// How many values an execution needs.
    pub const fn params(&self) -> u16 {
        self.params
    }

    /// The values that it was executed with, as far as servers remember them.
    pub const fn typed(&self) -> &Typed {
        &self.typed
    }

    /// It is executed with these parameters at a server that remembers their types.
    pub fn note_typed(&mut self, params: &ExecuteParams<'_>, caps: Capabilities) {
        let mut typed = std::mem::take(&mut self.typed);
        typed.note(self.types_of(params, caps));
        self.typed = typed;
    }

    /// The values with which a command executes it.
    pub fn typed_by(&self, command: Command<'_>) -> Typed {
        let params = command.params(self.params);
        params.map(|params| Typed::of(self.types_of(&params, command.caps))).unwrap_or_default()
    }

    /// The types of the values of an execution with these parameters; nothing is known of them if
    /// they were not sent to anybody.
    pub fn types_of<'a>(
        &'a self,
        params: &ExecuteParams<'a>,
        caps: Capabilities,
    ) -> impl Iterator<Item = Type> + Clone + use<'a> {
        let own = params.types_without_attributes(self.params, caps);
        Type::of(params, own.or(self.types.as_deref()).unwrap_or_default(), self.params, caps)
    }

    /// An execution has these types, with this version of the session's settings.
    pub fn keep_types(&mut self, types: &[u8], settings: u64) {
        self.typed_at = settings;
        if self.types.as_deref() != Some(types) {
            self.types_version += 1;
            self.types = Some(types.into());
        }
    }

    /// An execution with these types goes to this place, with this version of the session's
    /// settings; without types, those of the one before hold.
    pub fn note_types(&mut self, place: &mut Place, types: Option<&[u8]>, settings: u64) {
        if let Some(types) = types {
            self.keep_types(types, settings);
        }
        place.types = self.types_version;
    }
}
