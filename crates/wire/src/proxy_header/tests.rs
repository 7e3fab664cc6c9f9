//! Headers as HAProxy writes them, in both directions, and headers that are wrong.

use proptest::prelude::*;

use super::*;

/// The longest line that HAProxy's document gives.
const LONGEST: &[u8] = b"PROXY UNKNOWN ffff:f...f:ffff ffff:f...f:ffff 65535 65535\r\n";

fn tcp(source: &str, destination: &str) -> ProxyHeader {
    ProxyHeader::Tcp(Addresses::new(source.parse().unwrap(), destination.parse().unwrap()))
}

#[expect(clippy::unnecessary_wraps, reason = "it is what `parse` returns")]
fn complete(header: ProxyHeader, len: usize) -> Result<Parsed, HeaderError> {
    Ok(Parsed::Complete { header, len })
}

/// A header of version 2 with these bytes behind the length.
fn v2(command: u8, kind: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = v2::SIGNATURE.to_vec();
    bytes.extend_from_slice(&[command, kind]);
    bytes.extend_from_slice(&u16::try_from(body.len()).unwrap().to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}

/// Source 192.0.2.1:56324, destination 192.0.2.2:3306.
const V4: [u8; 12] = [192, 0, 2, 1, 192, 0, 2, 2, 0xdc, 0x04, 0x0c, 0xea];

#[test]
fn lines_of_text() {
    let header = tcp("192.0.2.1:56324", "192.0.2.2:3306");
    let line = b"PROXY TCP4 192.0.2.1 192.0.2.2 56324 3306\r\nbehind";
    assert_eq!(parse(line), complete(header, line.len() - 6));
    let header = tcp("[2001:db8::1]:1", "[::1]:0");
    let line = b"PROXY TCP6 2001:db8::1 ::1 1 0\r\n";
    assert_eq!(parse(line), complete(header, line.len()));
    assert_eq!(parse(LONGEST), complete(ProxyHeader::Unknown, LONGEST.len()));
    assert_eq!(parse(b"PROXY UNKNOWN\r\n\r\n"), complete(ProxyHeader::Unknown, 15));
}

#[test]
fn binary_headers() {
    let header = tcp("192.0.2.1:56324", "192.0.2.2:3306");
    assert_eq!(parse(&v2(0x21, 0x11, &V4)), complete(header, 28));
    // Additional fields are passed over, checksums and all.
    let with_fields = [&V4[..], &[0x03, 0, 4, 1, 2, 3, 4], &[0xea, 0, 3, b'v', b'p', b'c']].concat();
    assert_eq!(parse(&v2(0x21, 0x11, &with_fields)), complete(header, 28 + 13));
    let mut v6 = [0; 36];
    v6[..4].copy_from_slice(&[0x20, 0x01, 0x0d, 0xb8]);
    (v6[15], v6[31], v6[33]) = (1, 1, 7);
    assert_eq!(parse(&v2(0x21, 0x21, &v6)), complete(tcp("[2001:db8::1]:7", "[::1]:0"), 52));
    assert_eq!(parse(&v2(0x20, 0x00, &[])), complete(ProxyHeader::Local, 16));
    // What a health check's header says beside that is ignored.
    assert_eq!(parse(&v2(0x20, 0x11, &V4)), complete(ProxyHeader::Local, 28));
    assert_eq!(parse(&v2(0x20, 0xff, &[9])), complete(ProxyHeader::Local, 17));
    assert_eq!(parse(&v2(0x21, 0x31, &[0; 216])), complete(ProxyHeader::Unknown, 232));
    assert_eq!(parse(&v2(0x21, 0x12, &V4)), complete(ProxyHeader::Unknown, 28), "UDP");
    assert_eq!(parse(&v2(0x21, 0x00, &[])), complete(ProxyHeader::Unknown, 16));
}

#[test]
fn written_as_haproxy_writes_them() {
    let header = tcp("192.0.2.1:56324", "192.0.2.2:3306");
    let mut bytes = Vec::new();
    header.write(Version::V1, &mut bytes);
    assert_eq!(bytes, b"PROXY TCP4 192.0.2.1 192.0.2.2 56324 3306\r\n");
    bytes.clear();
    header.write(Version::V2, &mut bytes);
    assert_eq!(bytes, v2(0x21, 0x11, &V4));
    bytes.clear();
    ProxyHeader::Local.write(Version::V2, &mut bytes);
    assert_eq!(bytes, v2(0x20, 0, &[]));
    bytes.clear();
    ProxyHeader::Unknown.write(Version::V1, &mut bytes);
    assert_eq!(bytes, b"PROXY UNKNOWN\r\n");
}

#[test]
fn a_header_has_one_family() {
    assert_eq!(tcp("[::ffff:192.0.2.1]:5", "[::ffff:192.0.2.2]:6"), tcp("192.0.2.1:5", "192.0.2.2:6"));
    let mut line = Vec::new();
    tcp("[2001:db8::1]:5", "192.0.2.2:6").write(Version::V1, &mut line);
    assert_eq!(line, b"PROXY TCP6 2001:db8::1 ::ffff:192.0.2.2 5 6\r\n");
    let ProxyHeader::Tcp(ends) = tcp("192.0.2.1:5", "[fe80::2%3]:6") else { panic!() };
    assert_eq!(ends.source().to_string(), "[::ffff:192.0.2.1]:5");
    assert_eq!(ends.destination().to_string(), "[fe80::2]:6");
}

#[test]
fn other_beginnings_are_no_headers() {
    // The first packet of a login, TLS, HTTP, and words that only resemble.
    for other in [
        &b"\xc9\x00\x00\x01"[..],
        b"\x16\x03\x01",
        b"GET / HTTP/1.1\r\n",
        b"PROXX",
        b"\r\n\r\n\r\n",
        b"proxy ",
    ] {
        assert_eq!(parse(other), Ok(Parsed::Absent), "{other:?}");
    }
    assert_eq!(parse(b""), Ok(Parsed::More(15)));
}

#[test]
fn wrong_lines_are_refused() {
    for (line, field) in [
        (&b"PROXY TCP5 1.2.3.4 1.2.3.4 1 2\r\n"[..], "protocol"),
        (b"PROXY \xff\r\n", "protocol"),
        (b"PROXY TCP4  1.2.3.4 1.2.3.4 1 2\r\n", "source address"),
        (b"PROXY TCP4 1.2.3.256 1.2.3.4 1 2\r\n", "source address"),
        (b"PROXY TCP4 ::1 1.2.3.4 1 2\r\n", "source address"),
        (b"PROXY TCP6 ::1 1.2.3.4 1 2\r\n", "destination address"),
        (b"PROXY TCP4 1.2.3.4\r\n", "destination address"),
        (b"PROXY TCP4 1.2.3.4 1.2.3.4 65536 2\r\n", "source port"),
        (b"PROXY TCP4 1.2.3.4 1.2.3.4 01 2\r\n", "source port"),
        (b"PROXY TCP4 1.2.3.4 1.2.3.4 1 +2\r\n", "destination port"),
        (b"PROXY TCP4 1.2.3.4 1.2.3.4 1 2 \r\n", "end"),
    ] {
        assert_eq!(parse(line), Err(HeaderError::Line(field)), "{}", line.escape_ascii());
    }
    let endless = [b"PROXY UNKNOWN ".as_slice(), &[b'x'; 200]].concat();
    assert_eq!(parse(&endless[..V1_LEN_MAX]), Err(HeaderError::LineTooLong));
    assert!(matches!(parse(&endless[..V1_LEN_MAX - 1]), Ok(Parsed::More(1))));
}

#[test]
fn wrong_binary_headers_are_refused() {
    let undefined = |field, value| Err(HeaderError::Undefined { field, value });
    assert_eq!(parse(&v2(0x11, 0x11, &V4)), undefined("version", 1));
    assert_eq!(parse(&v2(0x22, 0x11, &V4)), undefined("command", 2));
    assert_eq!(parse(&v2(0x21, 0x41, &V4)), undefined("family", 4));
    assert_eq!(parse(&v2(0x21, 0x13, &V4)), undefined("transport", 3));
    assert_eq!(parse(&v2(0x21, 0x11, &V4[..11])), Err(HeaderError::TooShort { len: 11, needed: 12 }));
    assert_eq!(parse(&v2(0x21, 0x21, &[0; 35])), Err(HeaderError::TooShort { len: 35, needed: 36 }));
    assert_eq!(parse(&v2(0x21, 0x31, &[0; 215])), Err(HeaderError::TooShort { len: 215, needed: 216 }));
    // Refused before it has come.
    let announced = [v2::SIGNATURE, &[0x21, 0x11, 0xff, 0xff]].concat();
    assert_eq!(parse(&announced), Err(HeaderError::TooLong(16 + 0xffff)));
}

/// A truncated header is never taken for one, and what is missing never reaches behind its end.
#[test]
fn c27_truncated_headers_ask_for_what_is_missing() {
    let line = b"PROXY TCP6 2001:db8::1 2001:db8::2 56324 3306\r\n";
    for header in
        [&line[..], LONGEST, b"PROXY TCP4 1.1.1.1 1.1.1.1 1 1\r\n", &v2(0x21, 0x11, &V4), &v2(0x20, 0, &[])]
    {
        for cut in 0..header.len() {
            let Ok(Parsed::More(missing)) = parse(&header[..cut]) else {
                panic!("{} at {cut}", header.escape_ascii());
            };
            assert!((1..=header.len() - cut).contains(&missing), "{} at {cut}", header.escape_ascii());
        }
        assert!(matches!(parse(header), Ok(Parsed::Complete { len, .. }) if len == header.len()));
    }
}

fn any_header() -> impl Strategy<Value = ProxyHeader> {
    let ends = any::<(SocketAddr, SocketAddr)>();
    prop_oneof![
        Just(ProxyHeader::Local),
        Just(ProxyHeader::Unknown),
        ends.prop_map(|(from, to)| ProxyHeader::Tcp(Addresses::new(from, to))),
    ]
}

proptest! {
    #[test]
    fn what_was_written_is_read(header in any_header(), behind: Vec<u8>) {
        let mut bytes = Vec::new();
        header.write(Version::V2, &mut bytes);
        bytes.extend_from_slice(&behind);
        prop_assert_eq!(parse(&bytes), complete(header, bytes.len() - behind.len()));
        crate::fuzzing::proxy_header(&bytes);
    }
}
