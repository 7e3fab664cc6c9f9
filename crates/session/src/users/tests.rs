//! Tests of users, alone and all together.

use std::time::Instant;

use wire::auth::{Secret, caching_sha2, native};

use super::*;
use crate::limits::{VOUCHED_FOR, VOUCHED_SCHEMAS_MAX};

/// Not unpredictable, but different from byte to byte.
fn random(bytes: &mut [u8]) {
    (1..).zip(bytes).for_each(|(value, byte): (u8, _)| *byte = value);
}

fn row(username: &str, password: &str) -> config::User {
    config::User { username: username.to_owned(), password: password.to_owned(), ..config::User::default() }
}

#[test]
fn an_unknown_name_gets_a_decoy_of_a_kind_that_exists() {
    let users = Users::new(&[row("hashed", "*0123456789ABCDEF0123456789ABCDEF01234567")], random);
    let decoy = users.find(b"nobody");
    assert!(decoy.is_decoy());
    assert!(matches!(decoy.credential, Credential::Native(_)));
    assert!(!users.find(b"hashed").is_decoy());
}

#[test]
fn a_name_always_gets_the_same_decoy() {
    let users =
        Users::new(&[row("a", "clear"), row("b", "*0123456789ABCDEF0123456789ABCDEF01234567")], random);
    assert!(Arc::ptr_eq(&users.find(b"x"), &users.find(b"x")));
}

#[test]
fn a_fast_exchange_uses_what_the_full_one_has_shown() {
    let users = Users::new(&[row("u", "clear")], random);
    let user = users.find(b"u");
    let full = Secret::Clear(b"password".to_vec());
    assert_eq!(user.learn(full.clone(), Some([1; 32])), full);
    assert_eq!(user.sha2_digest(), Some([1; 32]));
    let fast = Secret::CachingSha2Stage1(caching_sha2::stage1(b"password"));
    assert_eq!(user.learn(fast, None), full);
    let other = Secret::NativeStage1(native::stage1(b"the additional password"));
    assert_eq!(user.learn(other.clone(), None), other, "which is another one");
}

#[test]
fn what_a_server_refuses_is_forgotten() {
    let users = Users::new(&[row("u", "*0123456789ABCDEF0123456789ABCDEF01234567")], random);
    let (user, proof) = (users.find(b"u"), Secret::NativeStage1(native::stage1(b"password")));
    let full = Secret::Clear(b"password".to_vec());
    user.learn(full.clone(), Some([1; 32]));
    assert_eq!(user.secret_for_servers(&proof), full);
    user.forget(&proof);
    assert_eq!(user.secret_for_servers(&proof), full, "another secret was refused");
    user.forget(&full);
    assert_eq!((user.secret_for_servers(&proof), user.sha2_digest()), (proof, None));
}

#[test]
fn a_decoy_wants_passwords_when_its_model_does() {
    let users = Users::new(&[row("u", "*0123456789ABCDEF0123456789ABCDEF01234567")], random);
    assert!(!users.find(b"nobody").wants_password());
    users.find(b"u").want_password();
    assert!(users.find(b"u").wants_password() && users.find(b"nobody").wants_password());
}

#[test]
fn users_that_are_inactive_or_for_servers_only_cannot_log_in() {
    let inactive = config::User { active: false, ..row("inactive", "pw") };
    let backend_only = config::User { frontend: false, ..row("backend", "pw") };
    let users = Users::new(&[inactive, backend_only], random);
    assert!(users.find(b"inactive").is_decoy());
    assert!(users.find(b"backend").is_decoy());
}

#[test]
fn a_user_may_be_two_rows() {
    let client = config::User { backend: false, ..row("u", "pw") };
    let server = config::User { frontend: false, ..row("u", "pw") };
    assert!(!Users::new(std::slice::from_ref(&client), random).find(b"u").has(Options::FOR_SERVERS));
    assert!(Users::new(&[client, server], random).find(b"u").has(Options::FOR_SERVERS));
}

#[test]
fn users_that_stay_are_the_same_and_changed_ones_keep_their_places() {
    let hashed = row("b", "*0123456789ABCDEF0123456789ABCDEF01234567");
    let before = Users::new(&[row("a", "clear"), hashed.clone(), row("c", "old"), row("d", "gone")], random);
    let [a, b, c] = ["a", "b", "c"].map(|name| before.find(name.as_bytes()));
    for user in [&b, &c] {
        user.learn(Secret::Clear(b"password".to_vec()), Some([1; 32]));
    }
    b.want_password();
    let places = (b.admit(), c.admit());
    let limited = config::User { max_connections: 1, ..hashed };
    let users = before.replaced_by(&[row("c", "new"), limited, row("a", "clear"), row("e", "new")]);
    assert!(Arc::ptr_eq(&users.find(b"a"), &a));
    users.enforce(&before);
    let after = users.find(b"b");
    assert!(after.shares_places_with(&b) && !after.shares_places_with(&a));
    assert!(after.admit().is_none() && after.connections() == 1, "the place of before counts");
    assert!(after.wants_password() && after.sha2_digest() == Some([1; 32]));
    assert_eq!(users.find(b"c").sha2_digest(), None, "another password");
    assert!(users.find(b"c").shares_places_with(&c));
    assert!(users.find(b"d").is_decoy() && !users.find(b"e").is_decoy());
    drop(places);
    assert_eq!(after.connections(), 0);
}

#[test]
fn many_users_do_not_need_as_many_decoys() {
    let rows: Vec<_> = (0..3 * DECOYS_MAX).map(|n| row(&n.to_string(), "pw")).collect();
    let users = Users::new(&rows, random);
    assert_eq!(users.decoys.len(), DECOYS_MAX);
    let after = users.replaced_by(rows.get(1..).unwrap());
    assert_eq!((after.by_name.len(), after.decoys.len()), (3 * DECOYS_MAX - 1, DECOYS_MAX));
}

#[test]
fn the_user_limit_is_exact() {
    let users = Users::new(&[config::User { max_connections: 2, ..row("u", "pw") }], random);
    let user = users.find(b"u");
    let (first, second) = (user.admit(), user.admit());
    assert!(first.is_some() && second.is_some() && user.admit().is_none());
    drop(first);
    assert!(user.admit().is_some());
}

#[test]
fn connections_to_servers_count_on_when_their_limit_changes() {
    let limited = |max| {
        let mut row = row("u", "pw");
        row.attributes.max_backend_connections = Some(max);
        row
    };
    let users = Users::new(&[limited(1)], random);
    let user = users.find(b"u");
    let quota = user.backends();
    let share = quota.take();
    assert!(share.is_some() && quota.take().is_none());
    let changed = users.replaced_by(&[limited(2)]);
    assert_eq!(quota.max(), 1, "the configuration does not hold yet");
    changed.enforce(&users);
    assert_eq!((changed.find(b"u").backends().taken(), quota.max()), (1, 2));
    let unlimited = changed.replaced_by(&[row("u", "pw")]);
    unlimited.enforce(&changed);
    assert!(!quota.is_limited() && unlimited.find(b"u").backends().taken() == 1);
}

#[test]
fn what_servers_have_accepted_is_bounded_and_forgotten() {
    let users = Users::new(&[row("u", "pw")], random);
    let (user, start) = (users.find(b"u"), Instant::now());
    assert!(!user.is_vouched_for(None, start));
    user.vouch_for(None, start);
    assert!(user.is_vouched_for(None, start) && !user.is_vouched_for(Some(b"shop"), start));
    assert!(!user.is_vouched_for(None, start + VOUCHED_FOR));
    for schema in 0..10 * VOUCHED_SCHEMAS_MAX {
        user.vouch_for(Some(schema.to_string().as_bytes()), start);
    }
    assert!(user.accepted.lock().unwrap().len() <= VOUCHED_SCHEMAS_MAX);
}
