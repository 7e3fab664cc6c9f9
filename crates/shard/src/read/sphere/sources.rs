//! Data sources: a server each, by its JDBC URL.

use crate::read::fields::{Field, Fields};
use crate::read::imported::{Secret, Server, Source};
use crate::read::problem::Report;

/// Port of a URL that says none.
const PORT_DEFAULT: u16 = 3_306;

/// Keys of the connection pool, which has settings of its own here.
const LEFT_OUT: &[&str] = &[
    "connectionTimeoutMilliseconds",
    "idleTimeoutMilliseconds",
    "maxLifetimeMilliseconds",
    "maintenanceIntervalMilliseconds",
    "minPoolSize",
    "minimumIdle",
    "readOnly",
    "dataSourceClassName",
    "driverClassName",
    "customPoolProps",
];

/// What a JDBC URL says.
struct Url {
    host: String,
    port: u16,
    schema: String,
    tls: bool,
}

/// What a data source says besides its URL, or `dataSourceCommon` for all that do not.
#[derive(Default)]
pub(super) struct Login {
    user: Option<String>,
    password: Option<Secret>,
    max_connections: Option<u32>,
}

/// Takes it out of `fields`, in which nothing else may be.
pub(super) fn login(mut fields: Fields<'_>, report: &mut Report<'_>) -> Login {
    let user = fields.text("username", report).map(str::to_owned);
    let password = fields.text("password", report).map(Secret::new);
    let most = fields.take("maxPoolSize").or_else(|| fields.take("maximumPoolSize"));
    let max_connections = most.and_then(|field| field.integer(report));
    fields.leave_out(LEFT_OUT, report);
    fields.finish(report);
    Login { user, password, max_connections }
}

/// The server of one data source.
pub(super) fn source(
    name: &str,
    field: &Field<'_>,
    common: &Login,
    hostgroup: u32,
    report: &mut Report<'_>,
) -> Option<Source> {
    let mut fields = Fields::of(field, report);
    let url = ["url", "jdbcUrl", "standardJdbcUrl"].iter().find_map(|key| fields.take(key));
    let own = login(fields, report);
    let user = own.user.or_else(|| common.user.clone()).unwrap_or_default();
    let password = own.password.or_else(|| common.password.clone()).unwrap_or_else(|| Secret::new(""));
    let max_connections = own.max_connections.or(common.max_connections);
    let Some(url) = url else {
        report.refuse(field.node.line, &format!("{}.url", field.path), "is missing");
        return None;
    };
    let Some(parsed) = parse(url.text(report).unwrap_or_default()) else {
        report.refuse(url.node.line, &url.path, "must be `jdbc:mysql://host:port/schema`");
        return None;
    };
    let Url { host, port, schema, tls } = parsed;
    Some(Source {
        place: report.place(url.node.line, &field.path),
        name: name.to_owned(),
        hostgroup,
        reader_hostgroup: None,
        schema: Some(schema),
        user,
        password,
        servers: vec![Server { host, port, read_weight: None }],
        max_connections,
        tls,
    })
}

/// Reads `jdbc:mysql://host:port/schema?settings`; several hosts are not one server.
fn parse(url: &str) -> Option<Url> {
    let rest = url.strip_prefix("jdbc:mysql://").or_else(|| url.strip_prefix("jdbc:mariadb://"))?;
    let (address, path) = rest.split_once('/')?;
    let (schema, settings) = path.split_once('?').unwrap_or((path, ""));
    let (host, port) = match address.strip_prefix('[') {
        Some(v6) => {
            let (host, behind) = v6.split_once(']')?;
            (host, behind.strip_prefix(':'))
        }
        None => address.split_once(':').map_or((address, None), |(host, port)| (host, Some(port))),
    };
    let port = port.map_or(Some(PORT_DEFAULT), |port| port.parse().ok())?;
    if host.is_empty() || host.contains(',') || schema.is_empty() || port == 0 {
        return None;
    }
    let tls = settings.split('&').any(|setting| {
        matches!(setting.split_once('='), Some(("useSSL" | "requireSSL", "true")))
            || matches!(setting.split_once('='), Some(("sslMode", mode)) if mode.starts_with("REQUIRED") || mode.starts_with("VERIFY"))
    });
    Some(Url { host: host.to_owned(), port, schema: schema.to_owned(), tls })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_one_server_and_a_schema() {
        let parsed = |url: &str| parse(url).map(|url| (url.host, url.port, url.schema, url.tls));
        let plain = ("db".to_owned(), 3306, "shop".to_owned(), false);
        assert_eq!(parsed("jdbc:mysql://db/shop?serverTimezone=UTC&useSSL=false"), Some(plain));
        let v6 = ("::1".to_owned(), 3307, "s".to_owned(), true);
        assert_eq!(parsed("jdbc:mariadb://[::1]:3307/s?useSSL=true"), Some(v6));
        assert!(parsed("jdbc:mysql://db/s?sslMode=VERIFY_CA").unwrap().3);
        for url in [
            "jdbc:postgresql://db/s",
            "jdbc:mysql://a,b/s",
            "jdbc:mysql://db",
            "jdbc:mysql://db:x/s",
            "jdbc:mysql://db:0/s",
        ] {
            assert!(parse(url).is_none(), "{url}");
        }
    }
}
