//! Collectors of spans.

use super::report;
use crate::bind::tables::Tables;
use crate::model::Address;
use crate::problem::Problem;
use crate::schema::POINTSMAN_VARIABLES;

/// Collectors are reached over TCP, by address or by name.
pub(super) fn addresses(tables: &Tables, problems: &mut Vec<Problem>) {
    const NAME: &str = "otlp_address";
    let Some(row) = tables.of(&POINTSMAN_VARIABLES).first().filter(|row| row.sound) else { return };
    let all: Vec<Address> = row.row.get(NAME);
    // Of a Unix socket there is no port.
    if let Some(other) = all.iter().find(|address| address.port().is_none_or(|port| port == 0)) {
        let message = format!("`pointsman_variables.{NAME}` must be addresses with ports, not {other}");
        report(problems, row.place(NAME), message);
    }
}

#[cfg(test)]
mod tests {
    use crate::bind::tests::{config, problems};

    #[test]
    fn a_collector_has_a_port() {
        let variable = |list: &str| format!("pointsman_variables = {{ otlp_address=\"{list}\" }}");
        assert_eq!(config(&variable("127.0.0.1:4318;agent:4318")).pointsman.otlp_address.len(), 2);
        for (list, wrong) in [
            ("127.0.0.1:4318;/run/otel.sock", "/run/otel.sock"),
            ("127.0.0.1:0", "127.0.0.1:0"),
            ("agent:0", "agent:0"),
        ] {
            let expected =
                format!("f:1: `pointsman_variables.otlp_address` must be addresses with ports, not {wrong}");
            assert_eq!(problems(&variable(list)), expected);
        }
    }
}
