//! The header line: the verdict in one sentence, and the numbers that all views show.

use serde_json::{Value, json};

use super::scene::Scene;
use crate::reading::address;

/// Reasons that are shown.
const REASONS_MAX: usize = 10;

/// The header line.
pub(crate) fn head(scene: &Scene<'_>) -> Value {
    let (reading, known) = (scene.reading, scene.known);
    let newest = known.versions.first();
    let sum = |of: fn(&crate::facts::ModuleState) -> usize| known.modules.iter().map(of).sum::<usize>();
    json!({
        "verdict": verdict(scene),
        "clients": reading.global("Client_Connections_connected"),
        "clients_max": known.config.variables.max_connections,
        "qps": scene.rates.qps,
        "p95_us": scene.rates.percentile(0.95),
        "waiting": reading.waiting(),
        "errors": scene.rates.errors,
        "accepts": reading.accepts,
        "config": {
            "version": newest.map(|version| version.number),
            "by": newest.map(|version| &version.by),
            "applied_ms": newest.map(|version| version.applied_ms),
            "not_loaded": sum(|module| module.not_loaded),
            "not_saved": sum(|module| module.not_saved),
            "problems": known.check.iter().filter(|[level, _]| level == "error").count(),
        },
    })
}

/// Whether all is well, in one sentence, with the reasons.
fn verdict(scene: &Scene<'_>) -> Value {
    let reading = scene.reading;
    let mut out = Vec::new();
    let (mut servers, mut empty) = (0_usize, Vec::new());
    for group in &reading.hostgroups {
        servers += group.servers.len();
        let unusable = group.servers.iter().filter_map(|server| Some((server, server.reason.as_ref()?)));
        let before = out.len();
        out.extend(unusable.map(|(server, reason)| {
            let key = (group.hostgroup, server.host.clone(), server.port);
            (group.hostgroup, scene.name(&key), address(&server.host, server.port), reason)
        }));
        if !group.servers.is_empty() && out.len() - before == group.servers.len() {
            empty.push(group.hostgroup);
        }
    }
    let unwatched = scene.unwatched.iter().map(|(server, error)| format!("{server}: {error}"));
    let reasons: Vec<String> = out
        .iter()
        .map(|(hostgroup, _, server, reason)| format!("hostgroup {hostgroup}: {server}: {reason}"))
        .chain(unwatched)
        .take(REASONS_MAX)
        .collect();
    let waiting = reading.waiting();
    let (level, text) = if !reading.accepts {
        ("bad", "no new clients are accepted: PROXYSQL PAUSE".to_owned())
    } else if let Some((_, name, server, reason)) = out.first() {
        let named = if name.is_empty() { server.clone() } else { format!("{name} ({server})") };
        let level = if empty.is_empty() { "warn" } else { "bad" };
        let gone: Vec<String> = empty.iter().map(ToString::to_string).collect();
        let gone =
            if gone.is_empty() { String::new() } else { format!("; hostgroup {} has none", gone.join(", ")) };
        (level, format!("{} of {servers} servers out: {named}: {reason}{gone}", out.len()))
    } else if servers == 0 {
        ("warn", "no servers are configured".to_owned())
    } else if let Some((server, error)) = scene.unwatched.first() {
        let unwatched = scene.unwatched.len();
        ("warn", format!("the monitor cannot check {unwatched} of {servers} servers: {server}: {error}"))
    } else if waiting > 0 {
        ("warn", format!("{waiting} sessions wait for a connection; {}", all_work(servers)))
    } else {
        ("ok", all_work(servers))
    };
    json!({ "level": level, "text": text, "reasons": reasons })
}

fn all_work(servers: usize) -> String {
    if servers == 1 { "the server works".to_owned() } else { format!("all {servers} servers work") }
}
