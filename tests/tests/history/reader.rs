//! A client that reads versions, as text and with prepared statements.

use e2e::dice::Dice;
use e2e::history::{Read, Span};
use testkit::client::{Client, Options, QueryResult, Statement};

use crate::load::Load;
use crate::writer::Clock;

/// `ER_TABLE_DEF_CHANGED`: the table was changed while the read began.
const ER_TABLE_DEF_CHANGED: u16 = 1412;
/// Reads of a hundred that are executions of prepared statements.
const PREPARED_PCT: usize = 25;

/// A text of a load, and the statement that was prepared of it.
#[derive(Debug)]
struct Known {
    load: Load,
    text: &'static str,
    prepared: Option<Statement>,
}

/// A reader.
#[derive(Debug)]
pub(crate) struct Reader {
    client: Client,
    clock: Clock,
    dice: Dice,
    texts: Vec<Known>,
    /// What it has seen so far.
    pub(crate) seen: Vec<Read>,
}

/// All texts with their loads.
pub(crate) fn all_texts() -> impl Iterator<Item = (Load, &'static str)> {
    Load::ALL.into_iter().flat_map(|load| load.texts().iter().map(move |text| (load, *text)))
}

impl Reader {
    /// Connects.
    pub(crate) async fn new(options: &Options, clock: Clock, dice: Dice) -> Self {
        let client = Client::connect(options).await.unwrap();
        let texts = all_texts().map(|(load, text)| Known { load, text, prepared: None }).collect();
        Self { client, clock, dice, texts, seen: Vec::new() }
    }

    /// Reads one of the texts.
    pub(crate) async fn read(&mut self) {
        let place = self.dice.below(self.texts.len());
        let is_prepared = self.dice.chance(PREPARED_PCT);
        self.read_text(place, is_prepared).await;
    }

    /// Reads all texts, in both ways.
    pub(crate) async fn read_all(&mut self) {
        for place in 0..self.texts.len() {
            for is_prepared in [false, true] {
                self.read_text(place, is_prepared).await;
            }
        }
    }

    async fn read_text(&mut self, place: usize, is_prepared: bool) {
        let Known { load, text, prepared } = &mut self.texts[place];
        if is_prepared && prepared.is_none() {
            *prepared = Some(self.client.prepare(text).await.unwrap());
        }
        let sent = self.clock.now();
        let result = match prepared {
            Some(prepared) if is_prepared => self.client.execute(prepared, &[]).await,
            _ => self.client.query(text).await,
        };
        let span = Span { sent, done: self.clock.now() };
        match result {
            Ok(result) => self.seen.push(Read { key: load.key(), seen: version(&result, is_prepared), span }),
            Err(error) => assert_eq!(error.code(), Some(ER_TABLE_DEF_CHANGED), "{text}: {error}"),
        }
    }
}

/// The version in a result.
fn version(result: &QueryResult, is_binary: bool) -> Option<u64> {
    let row = result.rows.first()?;
    Some(if is_binary {
        // A header and a bit for NULL, and the value.
        u64::from_le_bytes(row[2..].try_into().unwrap())
    } else {
        result.first().unwrap().parse().unwrap()
    })
}
