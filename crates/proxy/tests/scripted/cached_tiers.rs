//! Query caches one behind the other: times to live add up to no more than the outer one, and
//! clients see no trace of that.

use std::io::ErrorKind;
use std::rc::Rc;

use config::Config;
use proxy::stage::Stage;
use testkit::client::{CAPABILITIES, Options};
use tokio::time::sleep;
use wire::{Capabilities, StatusFlags};

use super::cached::{SQL, cached, hit, miss, with_attributes};
use super::change_user::{change, client};
use super::support::{
    CAPACITY, CLASSIC, Client, Database, SCRATCH, Servers, config, first_query, log_in, log_in_as, ms,
    options, play, run, settle, stage,
};

/// A proxy whose server is the proxy `inner`.
fn before(inner: &Rc<Stage>, config: Config) -> Stage {
    let inner = Rc::clone(inner);
    Stage::new(config, move |_| inner.client(CAPACITY).ok_or_else(|| ErrorKind::ConnectionRefused.into()))
}

/// Two proxies with a client of each.
struct Tiers {
    outer: Stage,
    inner: Rc<Stage>,
    near: Client,
    far: Client,
    server: Database,
    servers: Servers,
}

/// The outer proxy has this configuration, and its client these options.
async fn tiers(outer: Config, options: &Options) -> Tiers {
    let (inner, mut servers) = stage(cached());
    let inner = Rc::new(inner);
    let mut near = log_in(&inner).await;
    let server = first_query(&mut near, &mut servers).await;
    let outer = before(&inner, outer);
    let far = log_in_as(&outer, options).await;
    Tiers { outer, inner, near, far, server, servers }
}

/// The answer comes as from a server.
async fn plain_hit(client: &mut Client, answer: &str) {
    client.send_query(SQL).await;
    let result = client.expect_rows(&[&[Some(answer)]]).await;
    assert_eq!((result.session_state, result.status), (Vec::new(), StatusFlags::AUTOCOMMIT));
}

#[test]
fn an_answer_is_as_old_in_the_outer_cache_as_in_both() {
    play(async || {
        let Tiers { outer, mut near, mut far, mut server, mut servers, .. } =
            tiers(cached(), &options()).await;
        miss(&mut near, &mut server, SQL, "1").await;
        sleep(ms(600)).await;
        plain_hit(&mut far, "1").await;
        assert_eq!(outer.cache().stored, 1);
        sleep(ms(200)).await;
        plain_hit(&mut far, "1").await;
        let cached = outer.cache();
        assert_eq!((cached.hits, cached.age_ms), (1, 801));
        let told = far.query(&format!("EXPLAIN ROUTE {SQL}")).await.expect("it is explained");
        let rows = told.text().expect("cells are texts");
        let detail = rows.iter().flatten().flatten().find(|cell| cell.starts_with("age"));
        assert!(detail.is_some_and(|detail| detail.starts_with("age 0.8 s of ")), "{rows:?}");
        sleep(ms(200)).await;
        far.send_query(SQL).await;
        // The outer proxy's connection at the server.
        let mut fresh = servers.accept().await;
        fresh.expect_query(SQL).await;
        fresh.rows(&["a"], &[&[Some("2")]]).await;
        far.expect_rows(&[&[Some("2")]]).await;
        plain_hit(&mut far, "2").await;
    });
}

#[test]
fn an_answer_that_is_too_old_for_the_outer_cache_is_not_stored() {
    play(async || {
        let mut config = cached();
        config.query_rules[0].cache_ttl = Some(ms(500));
        let Tiers { outer, mut near, mut far, mut server, .. } = tiers(config, &options()).await;
        miss(&mut near, &mut server, SQL, "1").await;
        sleep(ms(500)).await;
        plain_hit(&mut far, "1").await;
        assert_eq!(outer.cache().not_stored_text(), "as old as its time to live=1");
        plain_hit(&mut far, "1").await;
        assert_eq!(outer.cache().stored, 0);
    });
}

#[test]
fn own_writes_are_not_promised_of_answers_from_another_cache() {
    play(async || {
        let own = with_attributes(r#"{"cache": {"mode": "own"}}"#);
        let Tiers { outer, mut near, mut far, mut server, .. } = tiers(own, &options()).await;
        miss(&mut near, &mut server, SQL, "1").await;
        plain_hit(&mut far, "1").await;
        plain_hit(&mut far, "1").await;
        let cached = outer.cache();
        assert_eq!(cached.not_stored_text(), "from another proxy's cache, and exact as of no moment=2");
        assert_eq!(cached.stored, 0);
    });
}

#[test]
fn a_proxy_that_cannot_be_told_ages_gets_no_answers_from_the_inner_cache() {
    let classic = options().capabilities(CLASSIC);
    let without = options().capabilities(CAPABILITIES - Capabilities::SESSION_TRACK);
    for options in [classic, without] {
        play(async || {
            let Tiers { outer, inner, mut near, mut far, mut server, mut servers } =
                tiers(cached(), &options).await;
            miss(&mut near, &mut server, SQL, "1").await;
            hit(&mut near, SQL, "1").await;
            far.send_query(SQL).await;
            let mut fresh = servers.accept().await;
            fresh.expect_query(SQL).await;
            fresh.rows(&["a"], &[&[Some("2")]]).await;
            far.expect_rows(&[&[Some("2")]]).await;
            let reason = "a proxy that cannot be told how old answers are=1";
            assert_eq!(inner.cache().refused_text(), reason);
            assert_eq!(outer.cache().stored, 1, "it is new");
            hit(&mut far, SQL, "2").await;
        });
    }
}

/// Also if the proxy in the middle caches nothing, and where none caches but the inner one.
#[test]
fn ages_pass_a_proxy_in_the_middle() {
    for outermost in [cached(), config()] {
        play(async || {
            let (inner, mut servers) = stage(cached());
            let mut near = log_in(&inner).await;
            let mut server = first_query(&mut near, &mut servers).await;
            let middle = Rc::new(before(&Rc::new(inner), config()));
            let outer = before(&middle, outermost.clone());
            let mut far = log_in(&outer).await;
            miss(&mut near, &mut server, SQL, "1").await;
            sleep(ms(600)).await;
            plain_hit(&mut far, "1").await;
            sleep(ms(200)).await;
            plain_hit(&mut far, "1").await;
            let cached = outer.cache();
            assert!(cached.hits == 0 || cached.age_ms == 801, "{}", cached.age_ms);
            assert_eq!(cached.stored, cached.hits);
        });
    }
}

/// Of a row as long as one read nothing is held back for long, and nothing of an age is passed on.
#[test]
fn large_answers_come_as_they_are() {
    play(async || {
        let Tiers { mut near, mut far, mut server, .. } = tiers(config(), &options()).await;
        let cell = "x".repeat(3 * SCRATCH);
        let rows: &[&[Option<&str>]] = &[&[Some(&cell)]];
        near.send_query(SQL).await;
        server.expect_query(SQL).await;
        tokio::join!(server.rows(&["a"], rows), near.expect_rows(rows));
        plain_hit(&mut far, &cell).await;
        plain_hit(&mut far, &cell).await;
    });
}

/// The connection at the inner proxy is one like others.
#[test]
fn a_session_before_another_proxy_works() {
    play(async || {
        let Tiers { mut near, mut far, mut server, mut servers, .. } = tiers(cached(), &options()).await;
        miss(&mut near, &mut server, SQL, "1").await;
        plain_hit(&mut far, "1").await;
        far.send_query("USE shop").await;
        let mut its_own = servers.accept().await;
        its_own.expect_query("USE shop").await;
        its_own.ok().await;
        far.expect_ok().await;
        run(&mut far, &mut its_own, "SET NAMES latin1").await;
        miss(&mut far, &mut its_own, SQL, "2").await;
        plain_hit(&mut far, "2").await;
    });
}

/// The outer proxy, whose clients share connections.
fn sharing(mut config: Config) -> Config {
    config.variables.multiplexing = true;
    config
}

/// The inner proxy is told of the outer one only where there is room for that.
#[test]
fn who_cannot_name_the_outer_proxy_shares_no_connection_with_who_can() {
    play(async || {
        let full = "x".repeat(65_520);
        let options = options().attributes(&[("a", &full)]);
        let Tiers { outer, mut near, mut far, mut server, mut servers, .. } =
            tiers(sharing(config()), &options).await;
        miss(&mut near, &mut server, SQL, "1").await;
        drop((first_query(&mut far, &mut servers).await, far));
        settle().await;
        plain_hit(&mut log_in(&outer).await, "1").await;
    });
}

/// A proxy with a later version of what both tell each other.
#[test]
fn a_proxy_that_cannot_be_told_ages_shares_no_connection_with_who_can() {
    play(async || {
        let Tiers { outer, mut near, mut far, mut server, mut servers, .. } =
            tiers(sharing(config()), &options()).await;
        miss(&mut near, &mut server, SQL, "1").await;
        plain_hit(&mut far, "1").await;
        drop(far);
        settle().await;
        let mut later = log_in_as(&outer, &options().attributes(&[("_pointsman_cache", "3")])).await;
        later.send_query(SQL).await;
        let mut fresh = servers.accept().await;
        fresh.expect_query(SQL).await;
        fresh.rows(&["a"], &[&[Some("2")]]).await;
        later.expect_rows(&[&[Some("2")]]).await;
    });
}

/// Its logins to servers do not name this proxy.
#[test]
fn a_user_with_fast_forward_whose_statements_are_looked_at_gets_no_answers() {
    play(async || {
        let mut config = cached();
        config.users[0].fast_forward = true;
        config.variables.automatic_detect_sqli = true;
        let (stage, mut servers) = stage(config);
        let mut client = log_in(&stage).await;
        let mut server = first_query(&mut client, &mut servers).await;
        miss(&mut client, &mut server, SQL, "1").await;
        miss(&mut client, &mut server, SQL, "2").await;
        assert_eq!(stage.cache().refused_text(), "a proxy that cannot be told how old answers are=2");
    });
}

/// As at its first login.
#[test]
fn a_proxy_that_logs_in_anew_hears_that_it_is_told_ages() {
    play(async || {
        let (stage, _servers) = stage(cached());
        let (mut client, nonce) = client(&stage, &options()).await;
        let mut payload = change(&nonce, "app", "secret", "");
        let len = b"\x05\x01a\x02bc".len();
        payload.truncate(payload.len() - len);
        for (attributes, is_told) in
            [(&b"\x05\x01a\x02bc"[..], false), (b"\x13\x10_pointsman_cache\x012", true)]
        {
            client.send_at(0, &[&payload, attributes].concat()).await;
            assert_eq!(client.expect_ok().await.session_state.is_empty(), !is_told);
        }
    });
}
