//! Nodes: a primary and its replicas.

use crate::read::fields::{Field, Fields};
use crate::read::imported::{Secret, Server, Source};
use crate::read::problem::Report;

/// Weight of a replica that says none.
const WEIGHT_DEFAULT: u32 = 1;

/// The servers of one node.
pub(super) fn source(item: &Field<'_>, hostgroup: u32, report: &mut Report<'_>) -> Option<Source> {
    let mut fields = Fields::of(item, report);
    let name = fields.need_text("name", report);
    let user = fields.text("user", report).unwrap_or_default().to_owned();
    let password = Secret::new(fields.text("password", report).unwrap_or_default());
    let max_connections = fields.take("max_conns_limit").and_then(|field| field.integer(report));
    fields.leave_out(&["down_after_noalive"], report);
    let master = fields.need("master", report);
    let slave = fields.take("slave");
    fields.finish(report);
    let master = master?;
    let mut servers = Vec::new();
    match server(master.text(report).unwrap_or_default(), None) {
        Some(server) => servers.push(server),
        None => report.refuse(master.node.line, &master.path, "must be `host:port`"),
    }
    let slaves = slave.as_ref().and_then(|field| field.text(report)).unwrap_or_default();
    for text in slaves.split(',').map(str::trim).filter(|text| !text.is_empty()) {
        let (address, weight) = text
            .split_once('@')
            .map_or((text, Some(WEIGHT_DEFAULT)), |(address, weight)| (address, weight.trim().parse().ok()));
        match (weight.and_then(|weight| server(address, Some(weight))), &slave) {
            (Some(server), _) => servers.push(server),
            (None, Some(slave)) => {
                report.refuse(slave.node.line, &slave.path, "must be `host:port@weight,...`");
            }
            (None, None) => {}
        }
    }
    let has_readers = servers.iter().any(|server| server.read_weight.is_some());
    let reader_hostgroup = has_readers.then_some(hostgroup.saturating_add(1));
    let name = name?.to_owned();
    Some(Source {
        place: report.place(item.node.line, &item.path),
        name,
        hostgroup,
        reader_hostgroup,
        schema: None,
        user,
        password,
        servers,
        max_connections,
        tls: false,
    })
}

fn server(address: &str, read_weight: Option<u32>) -> Option<Server> {
    let (host, port) = address.trim().rsplit_once(':')?;
    let port = port.parse().ok().filter(|port| *port > 0)?;
    (!host.is_empty()).then(|| Server { host: host.to_owned(), port, read_weight })
}
