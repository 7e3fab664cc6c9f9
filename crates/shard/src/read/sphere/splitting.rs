//! Data sources of a primary and its replicas: `!READWRITE_SPLITTING` of 5.x, `masterSlaveRules` of
//! 4.x.

use super::rules::Rules;
use crate::read::fields::{Field, Fields};
use crate::read::imported::Source;
use crate::read::problem::Report;

/// Names of the keys, 5.x and 4.x.
const WRITE_KEYS: [&str; 2] = ["writeDataSourceName", "masterDataSourceName"];
const READ_KEYS: [&str; 2] = ["readDataSourceNames", "slaveDataSourceNames"];

/// Weight of a replica that has none.
const WEIGHT_DEFAULT: u32 = 1;

/// The data sources, with those of each rule put together under the name of the rule.
pub(super) fn apply(rules: &Rules<'_>, sources: Vec<Source>, report: &mut Report<'_>) -> Vec<Source> {
    let mut left = sources;
    let mut joined = Vec::new();
    for (name, field) in &rules.splitting {
        joined.extend(group(name, field, rules, &mut left, report));
    }
    joined.extend(left);
    joined.sort_by_key(|source| source.hostgroup);
    joined
}

/// One data source of several, which it takes out of `left`.
fn group(
    name: &str,
    field: &Field<'_>,
    rules: &Rules<'_>,
    left: &mut Vec<Source>,
    report: &mut Report<'_>,
) -> Option<Source> {
    let mut fields = Fields::of(field, report);
    fields.leave_out(&["transactionalReadQueryStrategy", "name", "loadBalanceAlgorithmType"], report);
    let balancer = fields.take("loadBalancerName");
    let nested = fields.take("staticStrategy");
    let mut of_names = match &nested {
        Some(nested) => Fields::of(nested, report),
        None => Fields::none(String::new(), 0),
    };
    let names = if nested.is_some() { &mut of_names } else { &mut fields };
    let write = WRITE_KEYS.iter().find_map(|key| names.take(key));
    let reads = READ_KEYS.iter().find_map(|key| names.take(key));
    of_names.finish(report);
    fields.finish(report);
    let (Some(write), Some(reads)) = (write, reads) else {
        report.refuse(field.node.line, &field.path, "must name the data sources for writing and for reading");
        return None;
    };
    let mut source = take(write.text(report)?, &write, left, report)?;
    name.clone_into(&mut source.name);
    let texts = reads.texts(report);
    for read in texts.iter().flat_map(|text| text.split(',')).map(str::trim) {
        let replica = take(read, &reads, left, report)?;
        let differs = replica.schema != source.schema
            || replica.user != source.user
            || replica.password != source.password
            || replica.tls != source.tls;
        if differs {
            let message = format!("{read} has another schema, user, password or encryption than its primary");
            report.refuse(reads.node.line, &reads.path, message);
        }
        let weight = weight(balancer.as_ref(), read, rules, report);
        source.servers.extend(replica.servers.into_iter().map(|mut server| {
            server.read_weight = Some(weight);
            server
        }));
        source.reader_hostgroup = Some(source.hostgroup.saturating_add(1));
    }
    Some(source)
}

/// Takes the data source `name` out of `left`.
fn take(name: &str, field: &Field<'_>, left: &mut Vec<Source>, report: &mut Report<'_>) -> Option<Source> {
    let found = left.iter().position(|source| source.name == name).map(|at| left.remove(at));
    if found.is_none() {
        let message = format!("there is no data source {name}, or another rule has it");
        report.refuse(field.node.line, &field.path, message);
    }
    found
}

/// Weight of a replica: that of a `WEIGHT` balancer, or the same for all.
fn weight(balancer: Option<&Field<'_>>, name: &str, rules: &Rules<'_>, report: &mut Report<'_>) -> u32 {
    let of_balancer = |report: &mut Report<'_>| {
        let named = balancer?.text(report)?;
        let (_, found) = rules.balancers.iter().find(|(known, _)| *known == named)?;
        let props = Fields::of(found, report).take("props")?;
        let weight = Fields::of(&props, report).take(name)?;
        weight.integer(report)
    };
    of_balancer(report).unwrap_or(WEIGHT_DEFAULT)
}
