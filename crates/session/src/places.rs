//! The statements of a session that one connection has.

use wire::reply::Prepared;

/// How a statement has come to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Came {
    /// The session has prepared it, or has executed it since it got it.
    Prepared,
    /// The same, and it says what was known then: the next execution needs another one.
    ForOnce,
    /// Another session has left it, and has executed it last.
    Reused,
}

/// A statement at one server.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// What the server has answered when it was prepared; columns are those of the last execution.
    pub statement: Prepared,
    /// How it has come.
    pub came: Came,
    /// Which types of its parameters the server has, as its session numbers them.
    pub types: u64,
}

impl Place {
    /// The session is the one that has executed it last.
    pub fn note_own(&mut self) {
        if self.came == Came::Reused {
            self.came = Came::Prepared;
        }
    }
}

/// Those of one connection. A statement has a serial number in its session, which no later one
/// gets: a closed one is not taken for another.
#[derive(Debug, Default)]
pub struct Places {
    /// By serial number, in order: the last one comes last.
    placed: Vec<(u64, Place)>,
    /// What the client calls those that the server calls otherwise, by the server's number.
    renamed: Vec<(u32, u32)>,
}

impl Places {
    fn find(&self, serial: u64) -> Result<usize, usize> {
        self.placed.binary_search_by_key(&serial, |(serial, _)| *serial)
    }

    fn find_renamed(&self, known_as: u32) -> Result<usize, usize> {
        self.renamed.binary_search_by_key(&known_as, |(known_as, _)| *known_as)
    }

    /// The place of a statement.
    pub fn get(&self, serial: u64) -> Option<&Place> {
        self.placed.get(self.find(serial).ok()?).map(|(_, place)| place)
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, serial: u64) -> Option<&mut Place> {
        let at = self.find(serial).ok()?;
        self.placed.get_mut(at).map(|(_, place)| place)
    }

    /// A statement that the client knows as `id` has come.
    pub fn add(&mut self, serial: u64, id: u32, statement: Prepared, came: Came) {
        self.leave(serial);
        let place = Place { statement, came, types: 0 };
        let at = self.find(serial).unwrap_or_else(|at| at);
        self.placed.insert(at, (serial, place));
        let known_as = statement.id;
        // The server gives a number again when the statement that had it is closed.
        self.forget_name(known_as);
        if known_as != id {
            let at = self.find_renamed(known_as).unwrap_or_else(|at| at);
            self.renamed.insert(at, (known_as, id));
        }
    }

    /// It is there no more. Returns its number there.
    pub fn leave(&mut self, serial: u64) -> Option<u32> {
        let at = self.find(serial).ok()?;
        let (_, place) = self.placed.remove(at);
        self.forget_name(place.statement.id);
        Some(place.statement.id)
    }

    fn forget_name(&mut self, known_as: u32) {
        if let Ok(at) = self.find_renamed(known_as) {
            self.renamed.remove(at);
        }
    }

    /// What the client calls a statement that the server knows by this other number.
    pub fn renamed(&self, known_as: u32) -> Option<u32> {
        self.renamed.get(self.find_renamed(known_as).ok()?).map(|(_, id)| *id)
    }

    /// None is there any more.
    pub fn clear(&mut self) {
        self.placed.clear();
        self.renamed.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn statement(id: u32) -> Prepared {
        Prepared { id, params: 0, columns: 1, warnings: 0 }
    }

    #[test]
    fn statements_are_found_by_their_serial_numbers() {
        let mut places = Places::default();
        for (serial, id) in [(3, 3), (1, 1), (2, 2)] {
            places.add(serial, 10, statement(id), Came::Prepared);
        }
        let id = |places: &Places, serial| places.get(serial).map(|place| place.statement.id);
        assert_eq!(
            [0, 1, 2, 3, 4].map(|serial| id(&places, serial)),
            [None, Some(1), Some(2), Some(3), None]
        );
        assert_eq!((places.leave(2), places.leave(2)), (Some(2), None));
        assert_eq!([1, 2, 3].map(|serial| id(&places, serial)), [Some(1), None, Some(3)]);
        places.clear();
        assert!(places.get(1).is_none() && places.renamed(1).is_none());
    }

    #[test]
    fn other_names_end_with_their_statements() {
        let mut places = Places::default();
        places.add(1, 7, statement(7), Came::Prepared);
        places.add(2, 8, statement(1), Came::Reused);
        assert_eq!((places.renamed(7), places.renamed(1)), (None, Some(8)));
        places.add(2, 8, statement(2), Came::Reused);
        assert_eq!((places.renamed(1), places.renamed(2)), (None, Some(8)));
        places.leave(2);
        assert_eq!(places.renamed(2), None);
        places.add(3, 9, statement(5), Came::Prepared);
        places.add(4, 5, statement(5), Came::Prepared);
        assert_eq!(places.renamed(5), None, "the server has given the number again");
    }
}
