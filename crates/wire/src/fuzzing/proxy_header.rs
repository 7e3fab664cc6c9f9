//! PROXY headers out of any bytes.

use crate::proxy_header::{HeaderError, Parsed, ProxyHeader, V2_LEN_MAX, Version, parse};

/// Reads `data` as the beginning of a connection: at once, and as a reader would that takes what is
/// missing.
///
/// A reader never takes what stands behind the header, never holds more than a header's bytes, and
/// gets what reading at once gets. What a header says survives being written, in both versions.
pub fn proxy_header(data: &[u8]) {
    let at_once = parse(data);
    assert_eq!(step_by_step(data), at_once, "the header depends on the split");
    let Ok(Parsed::Complete { header, len }) = at_once else { return };
    assert!(len <= data.len(), "a header of bytes that have not come");
    for version in [Version::V1, Version::V2] {
        let mut bytes = Vec::new();
        header.write(version, &mut bytes);
        let expected = match (version, header) {
            (Version::V1, ProxyHeader::Local) => ProxyHeader::Unknown,
            _ => header,
        };
        let len = bytes.len();
        bytes.extend_from_slice(data);
        assert_eq!(parse(&bytes), Ok(Parsed::Complete { header: expected, len }), "{bytes:?}");
    }
}

fn step_by_step(data: &[u8]) -> Result<Parsed, HeaderError> {
    let mut have = 0;
    loop {
        let parsed = parse(data.get(..have).unwrap_or_default())?;
        let Parsed::More(missing) = parsed else {
            if let Parsed::Complete { len, .. } = parsed {
                assert_eq!(len, have, "bytes behind the header were read");
            }
            return Ok(parsed);
        };
        assert!(missing > 0, "nothing is missing, and still there is no answer");
        assert!(have + missing <= V2_LEN_MAX, "a header of more bytes than are read");
        if have + missing > data.len() {
            let parsed = parse(data)?;
            assert!(!matches!(parsed, Parsed::Complete { .. }), "less than {missing} bytes were missing");
            return Ok(parsed);
        }
        have += missing;
    }
}
