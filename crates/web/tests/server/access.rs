//! Accounts, cookies, headers.

use super::client::{Kept, Request};
use super::{ADMIN, Site, login, until};

#[tokio::test(flavor = "multi_thread")]
async fn files_need_no_login_and_data_does() {
    let site = Site::start().await;
    let page = Request::new("GET", "/").ask(site.address).await;
    assert_eq!((page.code, page.header("Content-Type")), (200, Some("text/html; charset=utf-8")));
    for (name, value) in [
        ("X-Content-Type-Options", "nosniff"),
        ("X-Frame-Options", "DENY"),
        // With `no-referrer` browsers send `Origin: null` for the form of `/plain`.
        ("Referrer-Policy", "same-origin"),
    ] {
        assert_eq!(page.header(name), Some(value), "{name}");
    }
    let policy = page.header("Content-Security-Policy").unwrap();
    assert!(
        policy.starts_with("default-src 'self';") && policy.contains("frame-ancestors 'none'"),
        "{policy}"
    );
    let tag = page.header("ETag").unwrap();
    let again = Request::new("GET", "/").header("If-None-Match", tag).ask(site.address).await;
    assert_eq!((again.code, again.body.as_str()), (304, ""));
    for path in ["/api/session", "/api/state", "/api/ticket", "/api/stream", "/api/explain?statement=x"] {
        let reply = Request::new("GET", path).ask(site.address).await;
        assert_eq!(reply.refusal(), (401, "login_required".to_owned()), "{path}");
        assert_eq!(reply.header("WWW-Authenticate"), None, "browsers must not keep passwords");
    }
    for path in ["/api", "/api/nothing", "/../Cargo.toml", "/index.html"] {
        let reply = Request::new("GET", path).header("Authorization", ADMIN).ask(site.address).await;
        assert_eq!(reply.code, 404, "{path}");
    }
    for (method, path) in [("POST", "/"), ("PUT", "/api/state"), ("GET", "/login"), ("GET", "/api/action")] {
        let reply = Request::new(method, path).ask(site.address).await;
        assert!(reply.code == 405 && reply.header("Allow").is_some(), "{method} {path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_gives_a_cookie_that_ends_with_the_account() {
    let site = Site::start().await;
    let reply = site.log_in("radmin", "secret").await;
    let attributes = reply.header("Set-Cookie").unwrap();
    assert!(attributes.contains("; HttpOnly; SameSite=Strict; Path=/; Max-Age=43200"), "{attributes}");
    let (cookie, token) = site.cookie("radmin", "secret").await;
    let with = |cookie: &str| Request::new("GET", "/api/session").header("Cookie", &format!("a=b; {cookie}"));
    let session = with(&cookie).ask(site.address).await.json();
    assert_eq!((&session["user"], &session["rights"]), (&"radmin".into(), &"admin".into()));
    assert_eq!(session["csrf"], token.as_str());
    for bad in [&cookie[..cookie.len() - 1], "pointsman_6080=x"] {
        assert_eq!(with(bad).ask(site.address).await.code, 401);
    }
    let log_out = Request::new("POST", "/logout").header("Cookie", &cookie);
    assert_eq!(log_out.ask(site.address).await.refusal(), (403, "bad_token".to_owned()));
    let (other, _) = site.cookie("radmin", "secret").await;
    assert_eq!(log_out.header("X-CSRF-Token", &token).ask(site.address).await.code, 204);
    assert_eq!(with(&cookie).ask(site.address).await.code, 401, "logged out");
    assert_eq!(with(&other).ask(site.address).await.code, 200, "another login");
    site.execute("SET admin-admin_credentials='admin:admin;radmin:changed'").await;
    site.execute("LOAD ADMIN VARIABLES TO RUNTIME").await;
    until("the end of a login", async || with(&other).ask(site.address).await.code == 401).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn five_wrong_logins_of_an_address_are_enough_for_a_minute() {
    let site = Site::start().await;
    for n in 0..5 {
        let (user, password) = if n % 2 == 0 { ("admin", "wrong") } else { ("nobody", "admin") };
        let reply = site.log_in(user, password).await;
        assert_eq!(reply.refusal(), (401, "wrong_login".to_owned()));
    }
    let refused = site.log_in("admin", "admin").await;
    assert_eq!(refused.refusal(), (429, "too_many_logins".to_owned()));
    assert!(refused.header("Retry-After").unwrap().parse::<u64>().unwrap() <= 60);
    assert_eq!(site.get("/api/session").await.code, 429, "with a password in each request as well");
    let elsewhere = login("admin", "admin").from("127.0.0.2:0").ask(site.address).await;
    assert_eq!(elsewhere.code, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn five_wrong_logins_are_enough_also_when_they_come_at_once() {
    let site = Site::start().await;
    let all: Vec<_> = (0..20)
        .map(|_| {
            let (request, address) = (login("admin", "wrong"), site.address);
            tokio::spawn(async move { request.ask(address).await.code })
        })
        .collect();
    let mut codes = Vec::new();
    for one in all {
        codes.push(one.await.unwrap());
    }
    codes.sort_unstable();
    assert_eq!(codes, [[401; 5].as_slice(), &[429; 15]].concat());
    assert_eq!(site.log_in("admin", "admin").await.code, 429);
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_without_a_login_do_not_keep_their_connections() {
    let site = Site::start().await;
    for path in ["/api/session", "/api/state"] {
        let mut kept = Kept::open(site.address).await;
        assert_eq!(kept.ask(path, "Basic YWRtaW46eA==").await.code, 401);
        assert!(kept.is_over().await, "{path}");
    }
    let mut kept = Kept::open(site.address).await;
    for _ in 0..2 {
        assert_eq!(kept.ask("/api/session", ADMIN).await.code, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn right_logins_at_once_are_no_wrong_ones() {
    let site = Site::start().await;
    let all: Vec<_> = (0..12)
        .map(|_| {
            let request = Request::new("GET", "/api/session").header("Authorization", ADMIN);
            let address = site.address;
            tokio::spawn(async move { request.ask(address).await.code })
        })
        .collect();
    for one in all {
        assert_eq!(one.await.unwrap(), 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_logins_of_an_account_end_its_oldest_and_no_other() {
    let site = Site::start().await;
    let code = async |cookie: &str| {
        Request::new("GET", "/api/session").header("Cookie", cookie).ask(site.address).await.code
    };
    let (other, _) = site.cookie("admin", "admin").await;
    let (first, _) = site.cookie("stats", "stats").await;
    let (second, _) = site.cookie("stats", "stats").await;
    for _ in 0..15 {
        site.cookie("stats", "stats").await;
    }
    assert_eq!([code(&other).await, code(&first).await, code(&second).await], [200, 401, 200]);
}

#[tokio::test(flavor = "multi_thread")]
async fn other_sites_can_send_nothing() {
    let site = Site::start().await;
    let foreign = login("admin", "admin").header("Origin", "http://evil.example");
    assert_eq!(foreign.ask(site.address).await.refusal(), (403, "bad_origin".to_owned()));
    let none = login("admin", "admin").header("Origin", "null");
    assert_eq!(none.ask(site.address).await.refusal(), (403, "bad_origin".to_owned()), "a sandboxed frame");
    let own = login("admin", "admin").header("Origin", "http://127.0.0.1");
    assert_eq!(own.ask(site.address).await.code, 200);
    // Not as a form, which a browser sends for another site without asking.
    let action = Request::new("POST", "/api/action").header("Authorization", ADMIN);
    let form = action.clone().body("text/plain", "{\"action\":\"pause\",\"confirm\":\"PROXYSQL PAUSE\"}");
    assert_eq!(form.ask(site.address).await.refusal(), (415, "bad_content_type".to_owned()));
    let large = action.body("application/json", &"x".repeat(70_000));
    assert_eq!(large.ask(site.address).await.refusal(), (413, "too_large".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_table_needs_no_javascript() {
    let site = Site::start().await;
    let form = Request::new("GET", "/plain").ask(site.address).await;
    assert!(form.code == 200 && form.body.contains("<form method=\"post\" action=\"/login\">"), "{form:?}");
    let send = |password: &str| {
        let fields = format!("user=admin&password={password}&next=/plain");
        let request = Request::new("POST", "/login").header("Origin", "http://127.0.0.1");
        request.body("application/x-www-form-urlencoded", &fields)
    };
    let wrong = send("x").ask(site.address).await;
    assert_eq!((wrong.code, wrong.header("Location")), (303, Some("/plain?error=wrong_login")));
    let right = send("admin").ask(site.address).await;
    assert_eq!((right.code, right.header("Location")), (303, Some("/plain")));
    let cookie = right.header("Set-Cookie").unwrap().split(';').next().unwrap();
    let table = Request::new("GET", "/plain").header("Cookie", cookie).ask(site.address).await;
    assert!(table.body.contains("<td>127.0.0.2:3306</td>"), "{}", table.body);
}
