//! Digest texts and hashes against those that ProxySQL 2.7.2 gave for the same statements.

mod json;

use sql::{Digest, Options};

#[test]
fn texts_and_hashes_are_those_of_proxysql() {
    let vectors = json::objects(include_str!("digest-vectors.json"));
    assert_eq!(vectors.len(), 714);
    let mut digest = Digest::default();
    let mut wrong = Vec::new();
    for vector in &vectors {
        digest.read(vector["sql"].as_bytes(), &Options::default());
        let text = String::from_utf8_lossy(digest.text());
        let hash = format!("0x{:016X}", digest.hash());
        if text != vector["text"] || hash != vector["digest"] {
            wrong.push(format!("{}\n want {}\n got  {text}", vector["sql"], vector["text"]));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), vectors.len(), wrong.join("\n"));
}
