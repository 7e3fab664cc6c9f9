//! Query rules that no statement can match. A rule that may match is never named.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::shorten;
use crate::model::{Config, QueryRule};
use crate::turns::in_turns;

/// Key of the attribute with which a rule draws its next state.
const DRAWN: &str = "flagOUTs";

/// A line for each reason why rules cannot match.
pub(super) fn warnings(config: &Config) -> Vec<String> {
    let mut rules: Vec<&QueryRule> = in_turns(&config.query_rules).filter(|rule| rule.active).collect();
    rules.sort_by_key(|rule| rule.rule_id);
    if rules.is_empty() {
        return Vec::new();
    }
    let mut warnings = Vec::new();
    warnings.extend(named(&stranded(&rules), "no rule leads to their flagIN"));
    warnings.extend(named(
        &of_strangers(config, &rules),
        "`mysql_users` has no active frontend user of their username",
    ));
    warnings.extend(shadowed(&rules));
    warnings
}

/// The line for `rules`, if there are any.
fn named(rules: &[&QueryRule], why: &str) -> Option<String> {
    let names: Vec<String> = rules.iter().map(|rule| rule.rule_id.to_string()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    (!names.is_empty()).then(|| format!("no statement can match rule {}: {why}", shorten(&names)))
}

/// Rules whose `flagIN` is the state of no chain, whatever the statements.
fn stranded<'a>(rules: &[&'a QueryRule]) -> Vec<&'a QueryRule> {
    if rules.iter().any(|rule| rule.attributes.contains(DRAWN)) {
        return Vec::new();
    }
    let mut by_state: HashMap<u32, Vec<u32>> = HashMap::new();
    for rule in rules {
        let next = [rule.flag_out, rule.next_query_flag_in, rule.mirror_flag_out];
        by_state.entry(rule.flag_in).or_default().extend(next.into_iter().flatten());
    }
    let (mut reached, mut open) = (HashSet::from([0]), vec![0]);
    while let Some(state) = open.pop() {
        let next = by_state.get(&state).into_iter().flatten();
        open.extend(next.filter(|state| reached.insert(**state)));
    }
    rules.iter().copied().filter(|rule| !reached.contains(&rule.flag_in)).collect()
}

/// Rules for users that cannot log in.
fn of_strangers<'a>(config: &Config, rules: &[&'a QueryRule]) -> Vec<&'a QueryRule> {
    let users = in_turns(&config.users).filter(|user| user.active && user.frontend);
    let users: HashSet<&str> = users.map(|user| user.username.as_str()).collect();
    let stranger = |rule: &&QueryRule| rule.username.as_deref().is_some_and(|name| !users.contains(name));
    rules.iter().copied().filter(stranger).collect()
}

/// What a rule asks of a statement, besides its state.
fn conditions(rule: &QueryRule) -> [Option<&str>; 8] {
    [
        rule.username.as_deref(),
        rule.schemaname.as_deref(),
        rule.client_addr.as_deref(),
        rule.proxy_addr.as_deref(),
        rule.digest.as_deref(),
        rule.match_digest.as_deref(),
        rule.match_pattern.as_deref(),
        rule.re_modifiers.as_deref(),
    ]
}

/// Whether a rule asks for nothing.
fn matches_all(rule: &QueryRule) -> bool {
    // `re_modifiers` asks for nothing by itself.
    let asks = conditions(rule).into_iter().take(7).any(|condition| condition.is_some());
    !asks && rule.proxy_port.is_none() && !rule.negate_match_pattern
}

/// A line for each rule that takes everything from those behind it, in the order of rules.
fn shadowed(rules: &[&QueryRule]) -> Vec<String> {
    // The place of the last rule that leads to a state: chains may enter it there.
    let mut entered: HashMap<u32, usize> = HashMap::new();
    for (place, rule) in rules.iter().enumerate() {
        entered.extend(rule.flag_out.map(|state| (state, place)));
    }
    if rules.iter().any(|rule| rule.attributes.contains(DRAWN)) {
        return Vec::new();
    }
    let mut ended: HashMap<u32, i64> = HashMap::new();
    let mut asked: HashMap<_, i64> = HashMap::new();
    let mut lost: BTreeMap<i64, Vec<&QueryRule>> = BTreeMap::new();
    for (place, rule) in rules.iter().enumerate() {
        let key = (rule.flag_in, rule.proxy_port, rule.negate_match_pattern, conditions(rule));
        if let Some(taker) = ended.get(&rule.flag_in).or_else(|| asked.get(&key)) {
            lost.entry(*taker).or_default().push(rule);
            continue;
        }
        let leaves = rule.apply || rule.flag_out.is_some_and(|state| state != rule.flag_in);
        let entered_later = entered.get(&rule.flag_in).is_some_and(|last| *last > place);
        if leaves && !entered_later {
            if matches_all(rule) {
                ended.insert(rule.flag_in, rule.rule_id);
            }
            asked.insert(key, rule.rule_id);
        }
    }
    let why = |taker: i64| format!("rule `{taker}` comes before and takes all of its statements");
    lost.into_iter().filter_map(|(taker, rules)| named(&rules, &why(taker))).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    /// The warnings about rules of these lines, each the values of one.
    fn about(rules: &[&str]) -> Vec<String> {
        let rules = rules.iter().enumerate().map(|(at, rule)| {
            format!(
                "[[mysql_query_rules]]\nrule_id = {}\nactive = true\n{}\n",
                at + 1,
                rule.replace(", ", "\n")
            )
        });
        let rest = "[[mysql_servers]]\naddress = \"db\"\n[[mysql_users]]\nusername = \"u\"\n";
        let text = format!("{rest}{}", rules.collect::<String>());
        let loaded =
            crate::parse(&text, Path::new("f")).unwrap_or_else(|problems| panic!("{problems}\n{text}"));
        loaded.warnings
    }

    #[test]
    fn chains_that_are_never_entered() {
        let rules = [
            "match_digest = '^SELECT', flagOUT = 1",
            "flagIN = 1, match_digest = 'a', next_query_flagIN = 2",
            "flagIN = 2, match_digest = 'b', mirror_flagOUT = 3, mirror_hostgroup = 0",
            "flagIN = 3, match_digest = 'c'",
            "flagIN = 4, match_digest = 'd', flagOUT = 5",
            "flagIN = 5, match_digest = 'e'",
        ];
        assert_eq!(about(&rules), ["f: no statement can match rule `5`, `6`: no rule leads to their flagIN"]);
        let drawn = "match_digest = 'x', attributes = '{\"flagOUTs\":[{\"id\":4,\"weight\":1}]}'";
        assert_eq!(about(&[drawn, rules[4]]), Vec::<String>::new());
    }

    #[test]
    fn users_that_do_not_exist() {
        assert_eq!(
            about(&["username = 'u'", "username = 'x'"]),
            [
                "f: no statement can match rule `2`: `mysql_users` has no active frontend user of their username"
            ]
        );
    }

    #[test]
    fn rules_behind_one_that_takes_everything() {
        let taken = |rule| {
            format!(
                "f: no statement can match rule {rule}: rule `1` comes before and takes all of its statements"
            )
        };
        let all = "destination_hostgroup = 0, apply = true";
        assert_eq!(about(&[all, "match_digest = 'a'", "username = 'u'"]), [taken("`2`, `3`")]);
        let same = "match_digest = 'a', apply = true";
        assert_eq!(about(&[same, "match_digest = 'a', destination_hostgroup = 0"]), [taken("`2`")]);
        assert_eq!(about(&["flagOUT = 1", "match_digest = 'a'", "flagIN = 1"]), [taken("`2`")]);
        // Each of these may match.
        for rules in [
            ["destination_hostgroup = 0", "match_digest = 'a'"],
            [same, "match_digest = 'A'"],
            [same, "match_digest = 'a', negate_match_pattern = true"],
            [same, "match_digest = 'a', flagIN = 0, re_modifiers = 'GLOBAL'"],
            ["proxy_port = 6033, apply = true", "match_digest = 'a'"],
            ["proxy_port = 6033, apply = true", "proxy_port = 6034, apply = true"],
        ] {
            assert_eq!(about(&rules), Vec::<String>::new(), "{rules:?}");
        }
    }

    #[test]
    fn a_state_may_be_entered_behind_the_rule_that_leaves_it() {
        let rules = ["flagIN = 1, apply = true", "match_digest = 'a', flagOUT = 1", "flagIN = 1"];
        assert_eq!(about(&rules), Vec::<String>::new());
        let rules = ["match_digest = 'a', flagOUT = 1", "flagIN = 1, apply = true", "flagIN = 1"];
        assert_eq!(
            about(&rules),
            ["f: no statement can match rule `3`: rule `2` comes before and takes all of its statements"]
        );
    }
}
