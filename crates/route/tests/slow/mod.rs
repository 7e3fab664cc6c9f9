//! The chain once more, as one would write it down from the manual: no expressions but `^`, `$` and
//! literal text, no memory, nothing compiled.

use config::{FastRoute, QueryRule};
use route::{Options, Rules, Verdict};

use crate::Asked;

/// What matters of a verdict.
#[derive(Debug, PartialEq, Eq, Default)]
pub(crate) struct Judged {
    hostgroup: Option<u32>,
    flag: u32,
    next: Option<u32>,
    mirror: Option<u32>,
    error: Option<String>,
    multiplex: Option<u32>,
    retries: Option<u32>,
    matched: Vec<i64>,
    text: Option<String>,
}

impl Judged {
    pub(crate) fn of(rules: &Rules, verdict: &Verdict, text: Option<Vec<u8>>) -> Self {
        Self {
            hostgroup: verdict.hostgroup,
            flag: verdict.flag_out,
            next: verdict.next_query_flag_in,
            mirror: verdict.mirror_hostgroup,
            error: verdict.error.as_ref().map(ToString::to_string),
            multiplex: verdict.multiplex.map(|multiplex| multiplex as u32),
            retries: verdict.retries,
            matched: verdict.matched.iter().map(|place| rules.rule(*place).unwrap().id()).collect(),
            text: text.map(|text| String::from_utf8(text).unwrap()),
        }
    }
}

/// Where `pattern` matches in `text` for the first time behind `from`, without regard to case.
fn find(pattern: &str, text: &str, from: usize) -> Option<(usize, usize)> {
    let pattern = pattern.replace("\\?", "?").to_ascii_lowercase();
    let literal = pattern.trim_start_matches('^').trim_end_matches('$');
    let lower = text.to_ascii_lowercase();
    (from..=text.len()).map(|start| (start, start + literal.len())).find(|(start, end)| {
        lower.get(*start..*end) == Some(literal)
            && (!pattern.starts_with('^') || *start == 0)
            && (!pattern.ends_with('$') || *end == text.len())
    })
}

fn replace(rule: &QueryRule, pattern: &str, text: &str) -> Option<String> {
    let with = rule.replace_pattern.as_ref()?;
    let global = rule.re_modifiers.as_deref().unwrap_or_default().contains("GLOBAL");
    let mut out = String::new();
    let mut from = 0;
    while let Some((start, end)) = find(pattern, text, from) {
        out += &text[from..start];
        out += &with.replace("\\0", &text[start..end]);
        from = end;
        if !global {
            break;
        }
    }
    (from > 0).then(|| out + &text[from..])
}

fn matches(rule: &QueryRule, flag: u32, asked: &Asked, text: &str) -> bool {
    let expression = |pattern: &Option<String>, text: &str| match pattern {
        Some(pattern) => find(pattern, text, 0).is_some() != rule.negate_match_pattern,
        None => true,
    };
    let address = match &rule.client_addr {
        None => true,
        Some(wanted) if wanted.ends_with('%') => asked.from.starts_with(wanted.trim_end_matches('%')),
        Some(wanted) => *wanted == asked.from,
    };
    let digest = rule
        .digest
        .as_ref()
        .is_none_or(|digest| asked.digest().is_some_and(|hash| *digest == format!("0x{hash:X}")));
    let match_digest = rule.match_digest.is_none()
        || asked.has_digest && expression(&rule.match_digest, &asked.digest_text());
    rule.active
        && rule.flag_in == flag
        && rule.username.as_ref().is_none_or(|name| *name == asked.user)
        && rule.schemaname.as_ref().is_none_or(|name| *name == asked.schema)
        && address
        && rule.proxy_port.is_none_or(|port| port == asked.port)
        && digest
        && match_digest
        && expression(&rule.match_pattern, text)
}

pub(crate) fn judge(rows: &[QueryRule], fast: &[FastRoute], options: Options, asked: &Asked) -> Judged {
    let mut rules: Vec<&QueryRule> = rows.iter().filter(|row| row.active).collect();
    rules.sort_by_key(|rule| rule.rule_id);
    let mut judged = Judged { flag: asked.flag, ..Judged::default() };
    let mut left = options.iterations;
    let mut applied = false;
    'chain: loop {
        for rule in &rules {
            let text = judged.text.clone().unwrap_or_else(|| asked.text.clone());
            if !matches(rule, judged.flag, asked, &text) {
                continue;
            }
            judged.matched.push(rule.rule_id);
            judged.hostgroup = rule.destination_hostgroup.or(judged.hostgroup);
            judged.next = rule.next_query_flag_in.or(judged.next);
            judged.mirror = rule.mirror_hostgroup.or(judged.mirror);
            judged.error = rule.error_msg.clone().or(judged.error);
            judged.multiplex = rule.multiplex.or(judged.multiplex);
            judged.retries = rule.retries.or(judged.retries);
            judged.flag = rule.flag_out.unwrap_or(judged.flag);
            if let Some(pattern) = &rule.match_pattern
                && !asked.execute
            {
                judged.text = replace(rule, pattern, &text).or(judged.text);
            }
            if rule.apply {
                applied = true;
                break 'chain;
            }
            if rule.flag_out.is_some() && left > 0 {
                left -= 1;
                continue 'chain;
            }
        }
        break;
    }
    let hidden = options.last_rule_hides_fast_routes && rules.last().is_some_and(|rule| rule.apply);
    if !applied && !hidden {
        let row = |user: &str| {
            fast.iter().find(|row| {
                row.username == user && row.schemaname == asked.schema && row.flag_in == judged.flag
            })
        };
        let hostgroup = row(&asked.user).or_else(|| row("")).map(|row| row.destination_hostgroup);
        judged.hostgroup = hostgroup.or(judged.hostgroup);
    }
    judged
}
