use config::{FirewallMode, FirewallRule, FirewallUser};

use super::*;

const MESSAGE: &str = "not today";

fn user(username: &str, address: &str, mode: FirewallMode) -> FirewallUser {
    let (username, client_address) = (username.to_owned(), address.to_owned());
    FirewallUser { active: true, username, client_address, mode, ..FirewallUser::default() }
}

/// A row that lists the statement with the digest 7 in the schema `shop`.
fn rule(username: &str, address: &str) -> FirewallRule {
    FirewallRule {
        active: true,
        username: username.to_owned(),
        client_address: address.to_owned(),
        schemaname: "shop".to_owned(),
        digest: "0x0000000000000007".to_owned(),
        ..FirewallRule::default()
    }
}

fn caller(user: &str, schema: &str) -> Caller {
    Caller::new(user.as_bytes(), schema.as_bytes(), "127.0.0.1", 6033)
}

/// What is said about the digest in the state `flag` that `user` sends from 10.0.0.1 in the schema
/// `shop`.
fn ruling(firewall: &Firewall, user: &str, digest: u64, flag: u32) -> Ruling {
    firewall.rule(&caller(user, "shop"), "10.0.0.1", Asked { digest: Some(digest), flag })
}

#[test]
fn modes_say_what_becomes_of_what_is_not_listed() {
    use FirewallMode::{Detecting, Off, Protecting};
    let users = [user("off", "", Off), user("detecting", "", Detecting), user("protecting", "", Protecting)];
    let rules = ["off", "detecting", "protecting", "nobody"].map(|user| rule(user, ""));
    let firewall = Firewall::new(&users, &rules, MESSAGE);
    for (name, unlisted) in [
        ("off", Ruling::Passes),
        ("detecting", Ruling::Detected),
        ("protecting", Ruling::Refused),
        // As in ProxySQL.
        ("nobody", Ruling::Refused),
    ] {
        assert_eq!(ruling(&firewall, name, 7, 0), Ruling::Passes, "{name}");
        assert_eq!(firewall.watches(name.as_bytes(), "10.0.0.1"), unlisted != Ruling::Passes, "{name}");
        assert_eq!(ruling(&firewall, name, 8, 0), unlisted, "{name}");
        assert_eq!(ruling(&firewall, name, 7, 1), unlisted, "{name}, in another state");
        let asked = Asked { digest: Some(7), flag: 0 };
        assert_eq!(firewall.rule(&caller(name, "Shop"), "10.0.0.1", asked), unlisted, "{name}");
        let asked = Asked { digest: None, flag: 0 };
        assert_eq!(firewall.rule(&caller(name, "shop"), "10.0.0.1", asked), unlisted, "{name}");
    }
    assert_eq!(ruling(&firewall, "Off", 7, 0), Ruling::Refused, "names are exact");
}

#[test]
fn lists_are_those_of_the_row_that_holds_for_the_address() {
    use FirewallMode::{Detecting, Protecting};
    let everywhere = user("app", "", Detecting);
    let at = |address| user("app", address, Protecting);
    let passes = |users: &[FirewallUser], rules: &[FirewallRule]| {
        ruling(&Firewall::new(users, rules, MESSAGE), "app", 7, 0)
    };
    let local = Firewall::new(&[everywhere.clone(), at("localhost")], &[], MESSAGE);
    assert_eq!(local.rule(&caller("app", "shop"), "", Asked { digest: None, flag: 0 }), Ruling::Refused);
    let (mine, others) = (at("10.0.0.1"), at("10.0.0.2"));
    for (users, rules, says) in [
        (&[everywhere.clone(), mine.clone()][..], &[rule("app", "")][..], Ruling::Refused),
        (&[everywhere.clone(), mine.clone()], &[rule("app", "10.0.0.1")], Ruling::Passes),
        (&[everywhere.clone(), mine], &[rule("app", ""), rule("app", "10.0.0.1")], Ruling::Passes),
        (&[everywhere.clone(), others.clone()], &[rule("app", "")], Ruling::Passes),
        (&[everywhere.clone(), others.clone()], &[rule("app", "10.0.0.1")], Ruling::Detected),
        (&[everywhere], &[rule("app", "10.0.0.1")], Ruling::Detected),
        (&[others], &[rule("app", "10.0.0.2")], Ruling::Refused),
    ] {
        assert_eq!(passes(users, rules), says, "{users:?} {rules:?}");
    }
}

#[test]
fn rows_that_are_not_active_do_not_count() {
    let off = FirewallUser { active: false, ..user("app", "10.0.0.1", FirewallMode::Off) };
    let firewall = Firewall::new(&[off, user("app", "", FirewallMode::Protecting)], &[], MESSAGE);
    assert_eq!(ruling(&firewall, "app", 7, 0), Ruling::Refused);
    let rules = [FirewallRule { active: false, ..rule("app", "") }];
    let firewall = Firewall::new(&[user("app", "", FirewallMode::Protecting)], &rules, MESSAGE);
    assert_eq!(ruling(&firewall, "app", 7, 0), Ruling::Refused);
}

/// Names are found by their hashes and told apart by themselves.
#[test]
fn statements_in_one_place_are_told_apart() {
    let mut firewall = Firewall::new(&[], &[rule("app", "")], MESSAGE);
    let place = place_of(caller("other", "shop").hash_of_names(), (7, 0));
    let listed = firewall.listed.drain().next().unwrap().1;
    firewall.listed.insert(place, listed);
    assert_eq!(ruling(&firewall, "other", 7, 0), Ruling::Refused);
}

#[test]
fn reasons_are_told() {
    let users = [user("app", "", FirewallMode::Detecting), user("app", "10.0.0.1", FirewallMode::Off)];
    let firewall = Firewall::new(&users, &[rule("app", "")], MESSAGE);
    let why = |user: &str, address: &str, digest| {
        firewall.why(&caller(user, "shop"), address, Asked { digest, flag: 0 })
    };
    assert_eq!(why("app", "10.0.0.1", Some(8)), "OFF for the user at 10.0.0.1");
    assert_eq!(why("app", "10.0.0.2", Some(7)), "DETECTING for the user; listed");
    assert_eq!(why("app", "10.0.0.2", Some(8)), "DETECTING for the user; not listed");
    assert_eq!(
        why("nobody", "10.0.0.2", None),
        "the user has no row, as with PROTECTING; its digest, if any, does not say all that a server would do"
    );
}
