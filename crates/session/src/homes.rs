//! Where the statements of a session live: what has to be known for each command, however many it
//! has prepared.

/// How many statements live at a hostgroup, by how free they are there. There are few such entries:
/// mostly texts have always meant the same.
#[derive(Debug, Default)]
pub struct Homes(Vec<(u32, Freedom, usize)>);

/// Whether a statement could be prepared again where it lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freedom {
    /// It could not.
    Never,
    /// While texts mean this.
    While(u64),
}

impl Homes {
    fn count(&mut self, hostgroup: u32, freedom: Freedom) -> Option<&mut usize> {
        let mut all = self.0.iter_mut();
        all.find(|(at, these, _)| (*at, *these) == (hostgroup, freedom)).map(|(.., count)| count)
    }

    /// A statement lives at this hostgroup.
    pub fn settle(&mut self, hostgroup: u32, freedom: Freedom) {
        match self.count(hostgroup, freedom) {
            Some(count) => *count += 1,
            None => self.0.push((hostgroup, freedom, 1)),
        }
    }

    /// One that was like this does so no more, or not like this.
    pub fn unsettle(&mut self, hostgroup: u32, freedom: Freedom) {
        if let Some(count) = self.count(hostgroup, freedom) {
            *count -= 1;
        }
        self.0.retain(|(.., count)| *count > 0);
    }

    /// Whether a statement lives at this hostgroup that could not be prepared there again, where
    /// texts mean what they do in `modes`.
    pub fn is_bound_to(&self, hostgroup: u32, modes: u64) -> bool {
        self.0.iter().any(|(at, freedom, _)| *at == hostgroup && *freedom != Freedom::While(modes))
    }
}
