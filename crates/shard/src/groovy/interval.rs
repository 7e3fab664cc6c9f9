//! Names of intervals: `<INTERVAL>P=t_;SP=yyyyMM;DIA=1;DIU=Months;DL=202311;DU=202402`.

use super::Refused;
use crate::limits::SHARDS_MAX;
use crate::pattern::Pattern;
use crate::placement::{Intervals, Step, StepUnit};

/// The names from the lower to the upper time: the prefix with each time in the suffix pattern.
/// `column` is that of the first character.
pub(super) fn names(text: &str, column: usize) -> Result<Vec<String>, Refused> {
    let refused = |message: String| Refused::new(column, message);
    let field = |key: &str| {
        let found = text.split(';').filter_map(|setting| setting.trim().split_once('='));
        let mut values = found.filter(|(name, _)| *name == key).map(|(_, value)| value);
        values.next().ok_or_else(|| refused(format!("`{key}` is missing")))
    };
    if let Ok(chronology) = field("C") {
        return Err(refused(format!("the calendar {chronology} is not supported")));
    }
    let pattern = Pattern::parse(field("SP")?)
        .map_err(|letters| refused(format!("`{letters}` is not supported in `SP`")))?;
    let time = |key: &str| {
        pattern
            .read(field(key)?)
            .ok_or_else(|| refused(format!("`{key}` must be a time in `SP`, with a year")))
    };
    let amount = field("DIA")?.parse().map_err(|_| refused("`DIA` must be an integer".to_owned()))?;
    // ShardingSphere minds the case here.
    let unit = match field("DIU")? {
        "Seconds" => StepUnit::Seconds,
        "Minutes" => StepUnit::Minutes,
        "Hours" => StepUnit::Hours,
        "Days" => StepUnit::Days,
        "Weeks" => StepUnit::Weeks,
        "Months" => StepUnit::Months,
        "Years" => StepUnit::Years,
        unit => return Err(refused(format!("`DIU={unit}` is not supported"))),
    };
    let beginnings = Intervals::beginnings(time("DL")?, time("DU")?, Step { amount, unit });
    let beginnings = beginnings.filter(|found| found.len() <= SHARDS_MAX);
    let beginnings = beginnings.ok_or_else(|| refused(format!("more than {SHARDS_MAX} names")))?;
    let prefix = field("P")?;
    Ok(beginnings.into_iter().map(|time| format!("{prefix}{}", pattern.format(time))).collect())
}
