//! Which statements are where: what has to be known for each command of a session, however many it
//! has prepared.

use std::collections::{HashMap, HashSet};

/// The connections of a session to hostgroups, as far as prepared statements are concerned. There
/// are few.
#[derive(Debug, Default)]
pub struct Sites(Vec<Site>);

/// One of them.
#[derive(Debug, Default)]
struct Site {
    hostgroup: u32,
    /// The statements that its server has, by the numbers that the client knows.
    placed: HashSet<u32>,
    /// Those of them that the server knows by another number: by that.
    renamed: HashMap<u32, u32>,
    /// How many statements live here that could not be prepared here again.
    bound: usize,
    /// How many of the others there are, by what texts meant when they were prepared. Mostly they
    /// have always meant the same.
    free: Vec<(u64, usize)>,
}

/// Whether a statement could be prepared again where it lives.
#[derive(Debug, Clone, Copy)]
pub enum Freedom {
    /// It could not.
    Never,
    /// While texts mean this.
    While(u64),
}

impl Sites {
    fn site(&self, hostgroup: u32) -> Option<&Site> {
        self.0.iter().find(|site| site.hostgroup == hostgroup)
    }

    fn site_mut(&mut self, hostgroup: u32) -> Option<&mut Site> {
        self.0.iter_mut().find(|site| site.hostgroup == hostgroup)
    }

    /// The same; one is made if there is none.
    fn site_of(&mut self, hostgroup: u32) -> Option<&mut Site> {
        if self.site(hostgroup).is_none() {
            self.0.push(Site { hostgroup, ..Site::default() });
        }
        self.site_mut(hostgroup)
    }

    /// A statement that the client knows as `id` is at this hostgroup, where it is known as
    /// `known_as`.
    pub fn place(&mut self, hostgroup: u32, id: u32, known_as: u32) {
        let Some(site) = self.site_of(hostgroup) else { return };
        site.placed.insert(id);
        if known_as != id {
            site.renamed.insert(known_as, id);
        }
    }

    /// It is there no more.
    pub fn leave(&mut self, hostgroup: u32, id: u32, known_as: u32) {
        let Some(site) = self.site_mut(hostgroup) else { return };
        site.placed.remove(&id);
        site.renamed.remove(&known_as);
    }

    /// Nothing is there any more. Returns what was.
    pub fn clear(&mut self, hostgroup: u32) -> HashSet<u32> {
        let Some(site) = self.site_mut(hostgroup) else { return HashSet::new() };
        site.renamed = HashMap::new();
        std::mem::take(&mut site.placed)
    }

    /// What the client calls a statement that the server of this hostgroup knows by another number.
    pub fn renamed(&self, hostgroup: u32, known_as: u32) -> Option<u32> {
        self.site(hostgroup)?.renamed.get(&known_as).copied()
    }

    /// A statement lives at this hostgroup.
    pub fn settle(&mut self, hostgroup: u32, freedom: Freedom) {
        let Some(site) = self.site_of(hostgroup) else { return };
        match freedom {
            Freedom::Never => site.bound += 1,
            Freedom::While(modes) => match site.free.iter_mut().find(|(these, _)| *these == modes) {
                Some((_, count)) => *count += 1,
                None => site.free.push((modes, 1)),
            },
        }
    }

    /// One that was like this does so no more, or not like this.
    pub fn unsettle(&mut self, hostgroup: u32, freedom: Freedom) {
        let Some(site) = self.site_mut(hostgroup) else { return };
        match freedom {
            Freedom::Never => site.bound = site.bound.saturating_sub(1),
            Freedom::While(modes) => {
                if let Some((_, count)) = site.free.iter_mut().find(|(these, _)| *these == modes) {
                    *count -= 1;
                }
                site.free.retain(|(_, count)| *count > 0);
            }
        }
    }

    /// Whether a statement lives at this hostgroup that could not be prepared there again, where
    /// texts mean what they do in `modes`.
    pub fn is_bound_to(&self, hostgroup: u32, modes: u64) -> bool {
        self.site(hostgroup)
            .is_some_and(|site| site.bound > 0 || site.free.iter().any(|(these, _)| *these != modes))
    }
}
