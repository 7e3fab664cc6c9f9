//! RDS Multi-AZ clusters, of which each server knows all.

use monitor::{Change, Check, Finding, Means, Row};

use super::{JOINED, LEFT, READERS, Scene, Server, WRITERS, plan, row, s};

const MEMBERS: [(u32, &[Server]); 3] = [(1, &["a"]), (2, &["b"]), (3, &["c"])];

/// `a` is configured and writes.
fn scene() -> Scene {
    let mut scene = Scene::by(Means::Rds, &[row(WRITERS, "a")]);
    scene.is_read_only("a", false);
    scene
}

/// All three are in use.
fn whole() -> Scene {
    let mut scene = scene();
    scene.says("a", 1, &MEMBERS);
    for (server, id) in [("b", 2), ("c", 3)] {
        assert_eq!(scene.says(server, id, &MEMBERS), [(server, JOINED)]);
        scene.is_read_only(server, true);
    }
    scene
}

#[test]
fn a_member_is_found_when_it_says_who_it_is() {
    let mut scene = scene();
    assert_eq!(scene.says("a", 1, &MEMBERS), []);
    assert_eq!(scene.of(READERS), [] as [&str; 0], "a name is not enough");
    assert_eq!(scene.says("b", 9, &[]), [], "somebody else is there");
    assert_eq!(scene.says("c", 3, &MEMBERS), [("c", JOINED)]);
    assert_eq!(scene.finds("b", Check::Rds, Finding::Unreachable), []);
    assert_eq!(scene.says("b", 2, &MEMBERS), [("b", JOINED)]);
    assert_eq!((scene.of(WRITERS), scene.of(READERS)), (vec!["a"], vec!["b", "c"]));
    assert_eq!(scene.monitor.discovered(), [(WRITERS, "c"), (WRITERS, "b")]);
    for check in [Check::Ping, Check::ReadOnly, Check::Lag, Check::Rds] {
        assert!(scene.is_asked("b", check), "{check:?}");
    }
    assert!(!scene.is_asked("b", Check::Replicas), "nobody asks for replicas here");
}

#[test]
fn a_reader_knows_the_cluster_as_well() {
    let mut scene = Scene::by(Means::Rds, &[row(READERS, "b")]);
    scene.is_read_only("b", true);
    scene.says("b", 2, &MEMBERS);
    scene.says("a", 1, &MEMBERS);
    assert_eq!(scene.is_read_only("a", false), [("a", LEFT), ("a", (WRITERS, Change::Joined))]);
}

#[test]
fn who_writes_is_for_the_members_to_say() {
    let mut scene = whole();
    // RDS fails over: no server has to be lost for that.
    assert_eq!(scene.is_read_only("a", true), [("a", (WRITERS, Change::Left)), ("a", JOINED)]);
    assert_eq!(scene.is_read_only("c", false), [("c", LEFT), ("c", (WRITERS, Change::Joined))]);
    assert_eq!((scene.of(WRITERS), scene.of(READERS)), (vec!["c"], vec!["a", "b"]));
}

#[test]
fn what_the_operator_calls_otherwise_is_not_found_again() {
    let mut scene = Scene::by(Means::Rds, &[row(WRITERS, "endpoint")]);
    scene.is_read_only("endpoint", false);
    scene.says("endpoint", 1, &MEMBERS);
    assert_eq!(scene.says("a", 1, &MEMBERS), []);
    assert_eq!(scene.says("b", 2, &MEMBERS), [("b", JOINED)]);
    // The endpoint leads to another one after a failover: that is one server, and the old writer
    // another one.
    scene.says("endpoint", 2, &MEMBERS);
    assert_eq!((scene.of(WRITERS), scene.of(READERS)), (vec!["endpoint"], vec!["a"]));
}

#[test]
fn a_member_that_is_replaced_leaves_after_a_while() {
    let mut scene = whole();
    let others: [(u32, &[Server]); 3] = [(1, &["a"]), (2, &["b"]), (4, &["d"])];
    let begun = scene.now;
    while scene.now < begun + s(160) {
        assert_eq!(scene.says("a", 1, &others), []);
    }
    assert_eq!(scene.says("d", 4, &others), [("d", JOINED)]);
    let mut events = Vec::new();
    while events.is_empty() && scene.now < begun + s(300) {
        events = scene.says("a", 1, &others);
    }
    assert_eq!((events, scene.of(READERS)), (vec![("c", LEFT)], vec!["b", "d"]));
}

/// C13.
#[test]
fn c13_a_server_that_is_not_identified_names_no_others() {
    let mut scene = scene();
    scene.says("a", 1, &MEMBERS);
    // The name leads to a server of another cluster by now.
    let others: [(u32, &[Server]); 3] = [(9, &["b"]), (8, &["d"]), (7, &["e"])];
    assert_eq!(scene.says("b", 9, &others), []);
    assert!(!scene.is_asked("d", Check::Rds), "no member that counts has named it");
    assert_eq!(scene.says("b", 2, &MEMBERS), [("b", JOINED)]);
    // The same when it was the right one before.
    scene.is_read_only("b", true);
    assert_eq!(scene.says("b", 9, &others), [("b", LEFT)]);
    assert!(!scene.is_asked("d", Check::Rds));
    assert_eq!((scene.of(WRITERS), scene.of(READERS)), (vec!["a"], vec![]));
}

#[test]
fn a_table_that_does_not_hold_its_server_is_not_of_its_cluster() {
    let mut scene = scene();
    assert_eq!(scene.says("a", 9, &MEMBERS), []);
    assert!(!scene.is_asked("b", Check::Rds));
    scene.says("a", 1, &MEMBERS);
    assert!(scene.is_asked("b", Check::Rds));
}

/// C13.
#[test]
fn c13_a_member_that_only_itself_names_leaves_even_if_it_takes_writes() {
    let mut scene = whole();
    let others: [(u32, &[Server]); 3] = [(1, &["a"]), (2, &["b"]), (4, &["d"])];
    scene.is_read_only("c", false);
    let begun = scene.now;
    let mut events = Vec::new();
    while events.is_empty() && scene.now < begun + s(300) {
        events.extend(scene.says("c", 3, &MEMBERS));
        events.extend(scene.finds("c", Check::Rds, Finding::Unreachable));
        events.extend(scene.says("a", 1, &others));
        events.extend(scene.says("b", 2, &others));
    }
    assert_eq!(events, [("c", (WRITERS, Change::Left))]);
    assert!(scene.now >= begun + s(180));
    assert_eq!(scene.of(WRITERS), ["a"]);
}

#[test]
fn members_that_others_do_not_name_do_not_keep_each_other() {
    let mut scene = whole();
    let others: [(u32, &[Server]); 3] = [(1, &["a"]), (4, &["d"]), (5, &["e"])];
    let begun = scene.now;
    let mut events = Vec::new();
    while events.len() < 2 && scene.now < begun + s(400) {
        events.extend(scene.says("a", 1, &others));
        for (server, id) in [("b", 2), ("c", 3)] {
            if scene.is_asked(server, Check::Rds) {
                events.extend(scene.says(server, id, &MEMBERS));
            }
        }
    }
    assert_eq!(events, [("b", LEFT), ("c", LEFT)]);
}

#[test]
fn who_is_alone_with_its_word_stays() {
    let mut scene = whole();
    let begun = scene.now;
    while scene.now < begun + s(400) {
        assert_eq!(scene.finds("a", Check::Rds, Finding::Unreachable), []);
        assert_eq!(scene.says("b", 2, &MEMBERS), []);
    }
    assert_eq!(scene.of(READERS), ["b", "c"]);
}

#[test]
fn what_describes_no_cluster_changes_nothing() {
    let mut scene = whole();
    let begun = scene.now;
    while scene.now < begun + s(400) {
        for (server, id) in [("a", 1), ("b", 2), ("c", 3)] {
            assert_eq!(scene.says(server, id, &[]), []);
        }
    }
    scene.finds("a", Check::Rds, Finding::Refused);
    assert_eq!(scene.of(READERS), ["b", "c"]);
}

#[test]
fn another_way_of_finding_servers_begins_anew() {
    let mut scene = whole();
    let rows: [Row<Server>; 1] = [row(WRITERS, "a")];
    scene.monitor.configure(plan(&rows), scene.now);
    scene.means = Means::Replication;
    assert_eq!(scene.monitor.discovered(), []);
    assert!(!scene.is_asked("b", Check::Rds) && !scene.is_asked("a", Check::Rds));
    assert!(scene.is_asked("a", Check::Replicas));
}
