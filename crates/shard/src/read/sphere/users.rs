//! Users of the proxy: `authority` of 5.x, `authentication` of 4.x.

use super::{Fields, Imported, Report};
use crate::read::fields::Field;
use crate::read::imported::{Secret, User};

/// Kinds of privileges with which every user may do everything.
const PERMITTED: &[&str] = &["ALL_PERMITTED", "ALL_PRIVILEGES_PERMITTED"];

/// Takes users out of the proxy's file.
pub(super) fn read(fields: &mut Fields<'_>, imported: &mut Imported, report: &mut Report<'_>) {
    if let Some(authority) = fields.take("authority") {
        self::authority(&authority, imported, report);
    }
    if let Some(authentication) = fields.take("authentication") {
        self::authentication(&authentication, imported, report);
    }
    for rule in fields.take("rules").iter().flat_map(Field::items) {
        if rule.node.tag.as_deref() == Some("AUTHORITY") {
            authority(&rule, imported, report);
        } else if !matches!(
            rule.node.tag.as_deref(),
            Some("TRANSACTION" | "SQL_PARSER" | "TRAFFIC" | "LOGGING")
        ) {
            report.refuse(rule.node.line, &rule.path, "is a kind of rule that is not known");
        }
    }
}

fn authority(field: &Field<'_>, imported: &mut Imported, report: &mut Report<'_>) {
    let mut fields = Fields::of(field, report);
    for item in fields.need("users", report).iter().flat_map(Field::items) {
        if let crate::read::yaml::Yaml::Text(text) = &item.node.value {
            // 5.0 has `user@host:password`.
            let (user, password) = text.split_once(':').unwrap_or((text, ""));
            add(user, password, Vec::new(), &item, imported, report);
            continue;
        }
        let mut user = Fields::of(&item, report);
        let name = user.need_text("user", report).unwrap_or_default();
        let password = user.text("password", report).unwrap_or_default();
        user.leave_out(&["admin", "authenticationMethodName"], report);
        user.finish(report);
        add(name, password, Vec::new(), &item, imported, report);
    }
    for key in ["privilege", "provider"] {
        let Some(field) = fields.take(key) else { continue };
        let mut privilege = Fields::of(&field, report);
        if let Some(kind) = privilege.need("type", report)
            && !kind.text(report).is_some_and(|kind| PERMITTED.contains(&kind))
        {
            report.refuse(kind.node.line, &kind.path, "keeps users out of what they could reach without it");
        }
        privilege.leave_out(&["props"], report);
        privilege.finish(report);
    }
    fields.leave_out(&["authenticators", "defaultAuthenticator"], report);
    fields.finish(report);
}

fn authentication(field: &Field<'_>, imported: &mut Imported, report: &mut Report<'_>) {
    let mut fields = Fields::of(field, report);
    if let Some(users) = fields.need("users", report) {
        for (name, field) in Fields::of(&users, report).rest() {
            let mut user = Fields::of(&field, report);
            let password = user.text("password", report).unwrap_or_default();
            let schemas = user.text("authorizedSchemas", report).unwrap_or_default();
            let schemas = schemas.split(',').map(str::trim).filter(|schema| !schema.is_empty());
            let schemas = schemas.map(str::to_owned).collect();
            user.finish(report);
            add(name, password, schemas, &field, imported, report);
        }
    }
    fields.finish(report);
}

/// Adds `name` or `name@%`.
fn add(
    name: &str,
    password: &str,
    schemas: Vec<String>,
    field: &Field<'_>,
    imported: &mut Imported,
    report: &mut Report<'_>,
) {
    let (name, host) = name.split_once('@').unwrap_or((name, "%"));
    if !matches!(host, "%" | "") {
        report.refuse(field.node.line, &field.path, format!("user {name} may come from {host} only"));
    }
    if imported.users.iter().any(|known| known.name == name) {
        report.refuse(field.node.line, &field.path, format!("user {name} is there twice"));
    }
    imported.users.push(User { name: name.to_owned(), password: Secret::new(password), schemas });
}
