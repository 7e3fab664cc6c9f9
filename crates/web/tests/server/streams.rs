//! Events: whole, changed, resumed, ended; many viewers, slow viewers, no viewers.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::sleep;

use super::client::{Events, Kept, Reply, Request};
use super::{ADMIN, Site, until};

async fn open(site: &Site, query: &str, last: Option<&str>) -> Result<Events, Reply> {
    let request = Request::new("GET", &format!("/api/stream?{query}")).header("Authorization", ADMIN);
    let request = match last {
        Some(last) => request.header("Last-Event-ID", last),
        None => request,
    };
    request.stream(site.address).await
}

fn points(data: &serde_json::Value) -> usize {
    data["views"]["now"]["points"].as_array().unwrap().len()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_event_is_whole_and_the_next_ones_are_what_changed() {
    let site = Site::start().await;
    let mut events = open(&site, "views=now,servers", None).await.unwrap();
    let first = events.next().await.unwrap();
    assert!(first.name == "whole" && points(&first.data) >= 1);
    let views = first.data["views"].as_object().unwrap();
    assert_eq!(views.keys().collect::<Vec<_>>(), ["now", "servers"]);
    let second = events.next().await.unwrap();
    assert_eq!((second.name.as_str(), points(&second.data)), ("changed", 1));
    assert!(second.data["views"]["servers"].is_null(), "nothing has changed of it");
    assert_ne!(first.id, second.id);
    let bad = open(&site, "views=nothing", None).await.unwrap_err();
    assert_eq!(bad.refusal(), (400, "bad_request".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_is_resumed_without_a_gap() {
    let site = Site::start().await;
    // Samples go on for this viewer.
    let mut other = open(&site, "views=now", None).await.unwrap();
    let first = other.next().await.unwrap();
    let mut last = other.next().await.unwrap();
    last = other.next().await.unwrap_or(last);
    let mut resumed = open(&site, "views=now,servers", Some(&first.id)).await.unwrap();
    let event = resumed.next().await.unwrap();
    assert_eq!(event.name, "changed");
    assert!(points(&event.data) >= 2, "those since {}, up to {} at least", first.id, last.id);
    assert!(event.data["views"]["servers"].is_object());
    let newest = |id: &str| id.rsplit_once('-').unwrap().1.parse::<usize>().unwrap();
    assert_eq!(points(&event.data), newest(&event.id) - newest(&first.id));
    for unknown in ["x-1", "x", "", &format!("{}9", event.id)] {
        let event = open(&site, "views=now", Some(unknown)).await.unwrap().next().await.unwrap();
        assert_eq!(event.name, "whole", "{unknown}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_33rd_viewer_is_told_why_it_has_no_place() {
    let site = Site::start().await;
    let mut viewers = Vec::new();
    for _ in 0..32 {
        viewers.push(open(&site, "views=now", None).await.unwrap());
    }
    let refused = open(&site, "views=now", None).await.unwrap_err();
    assert_eq!(refused.refusal(), (503, "too_many_viewers".to_owned()));
    assert_eq!(site.get("/api/state?views=now").await.code, 200, "without a stream");
    viewers.pop();
    until("a place", async || open(&site, "views=now", None).await.is_ok()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_viewer_that_reads_nothing_holds_up_no_other() {
    let site = Site::start().await;
    let _silent = open(&site, "views=now,sessions", None).await.unwrap();
    let mut other = open(&site, "views=now", None).await.unwrap();
    for _ in 0..3 {
        other.next().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_viewers_counters_are_read_and_nothing_is_listed() {
    let site = Site::start().await;
    let reads = || site.plane.reads.load(Ordering::Relaxed);
    let lists = || site.plane.lists.load(Ordering::Relaxed);
    until("two records", async || reads() >= 3).await;
    assert_eq!(lists(), 0, "before the first viewer");
    let mut events = open(&site, "views=statements,sessions", None).await.unwrap();
    events.next().await.unwrap();
    assert!(lists() > 0);
    drop(events);
    // A sample that was under way is finished; then others come without a list. Each sample for a
    // viewer of sessions has one.
    until("samples without a list", async || {
        let (before, listed) = (reads(), lists());
        until("more samples", async || reads() >= before + 2).await;
        lists() == listed
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_read_while_the_page_is_not_served() {
    let site = Site::start().await;
    let reads = || site.plane.reads.load(Ordering::Relaxed);
    until("a record", async || site.get("/api/record").await.json()["to_ms"].is_u64()).await;
    site.execute("SET admin-web_enabled='false'").await;
    site.execute("LOAD ADMIN VARIABLES TO RUNTIME").await;
    // A sample that was under way is finished; then three intervals pass without one.
    until("an interval without a sample", async || {
        let before = reads();
        sleep(Duration::from_secs(3)).await;
        reads() == before
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_with_its_login_and_with_the_proxy() {
    let mut site = Site::start().await;
    let (cookie, token) = site.cookie("radmin", "secret").await;
    let request = Request::new("GET", "/api/stream?views=now").header("Cookie", &cookie);
    let mut events = request.stream(site.address).await.unwrap();
    events.next().await.unwrap();
    let log_out = Request::new("POST", "/logout").header("Cookie", &cookie).header("X-CSRF-Token", &token);
    assert_eq!(log_out.ask(site.address).await.code, 204);
    let end = last(&mut events).await;
    assert_eq!(end, ("end".to_owned(), "login_required".to_owned()));
    let mut events = open(&site, "views=now", None).await.unwrap();
    events.next().await.unwrap();
    drop(site.web.take());
    assert_eq!(last(&mut events).await, ("end".to_owned(), "ending".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_is_switched_off_ends_for_those_who_are_connected() {
    let site = Site::start().await;
    let mut kept = Kept::open(site.address).await;
    assert_eq!(kept.ask("/api/session", ADMIN).await.code, 200);
    let mut events = open(&site, "views=now", None).await.unwrap();
    events.next().await.unwrap();
    site.execute("SET admin-web_enabled='false'").await;
    site.execute("LOAD ADMIN VARIABLES TO RUNTIME").await;
    assert_eq!(last(&mut events).await, ("end".to_owned(), "ending".to_owned()));
    let reply = kept.ask("/api/session", ADMIN).await;
    assert_eq!(reply.refusal(), (503, "ending".to_owned()));
    assert!(kept.is_over().await);
}

/// The name and the word of the last event.
async fn last(events: &mut Events) -> (String, String) {
    let mut end = (String::new(), String::new());
    while let Some(event) = events.next().await {
        end = (event.name, event.data["error"].as_str().unwrap_or_default().to_owned());
    }
    end
}
