//! An explanation as JSON.

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::{Explanation, Step};

impl Explanation {
    /// The members of its object: `destination`, `reason`, `hostgroup` (or null), `flagOUT`,
    /// `outputs` by column, and `steps` with the columns of [`rows`](Self::rows) as members.
    pub fn members<M: SerializeMap>(&self, object: &mut M) -> Result<(), M::Error> {
        let [_, result, why] = Step::Route(self.route.clone(), self.why).row();
        object.serialize_entry("destination", &result)?;
        object.serialize_entry("reason", &why)?;
        let hostgroup = self.route.target().map(|target| target.hostgroup);
        object.serialize_entry("hostgroup", &hostgroup)?;
        object.serialize_entry("flagOUT", &self.verdict.flag_out)?;
        object.serialize_entry("outputs", &Members(self.verdict.outputs()))?;
        let step = |row: [String; 3]| Members(Self::COLUMNS.into_iter().zip(row).collect());
        object.serialize_entry("steps", &self.rows().into_iter().map(step).collect::<Vec<_>>())
    }

    /// The object as text.
    pub fn json(&self) -> String {
        // Keys are texts, so that nothing can fail.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl Serialize for Explanation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        self.members(&mut object)?;
        object.end()
    }
}

/// An object of texts, its members in this order.
struct Members(Vec<(&'static str, String)>);

impl Serialize for Members {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}
