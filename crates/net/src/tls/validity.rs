//! Until when a certificate is valid, read out of its DER (X.509, RFC 5280, section 4.1). Unlike
//! TLS itself, it reads certificates of version 1 as well.

use yasna::tags::TAG_UTCTIME;
use yasna::{ASN1Result, BERReader, BERReaderSeq, Tag, parse_der};

/// When the certificate `der` ends to be valid, in seconds of Unix time; nothing if it is none, or
/// ended before 1970.
pub(super) fn not_after(der: &[u8]) -> Option<u64> {
    let end = parse_der(der, |certificate| {
        certificate.read_sequence(|parts| {
            let end = parts.next().read_sequence(end_of_validity)?;
            // The algorithm of the signature, and the signature.
            while parts.read_optional(skip)?.is_some() {}
            Ok(end)
        })
    });
    end.ok()?.try_into().ok()
}

/// The end of the validity, of the fields that are signed.
fn end_of_validity(fields: &mut BERReaderSeq<'_, '_>) -> ASN1Result<i64> {
    // The version may be missing.
    fields.read_optional(|version| version.read_tagged(Tag::context(0), skip))?;
    // The serial number, the algorithm of the signature, the issuer.
    for _ in 0..3 {
        skip(fields.next())?;
    }
    let end = fields.next().read_sequence(|times| {
        time(times.next())?;
        time(times.next())
    })?;
    while fields.read_optional(skip)?.is_some() {}
    Ok(end)
}

/// Passes over an element.
fn skip(element: BERReader<'_, '_>) -> ASN1Result<()> {
    element.read_der().map(drop)
}

/// A time in either of its forms, in seconds of Unix time.
fn time(reader: BERReader<'_, '_>) -> ASN1Result<i64> {
    if reader.lookahead_tag()? == TAG_UTCTIME {
        Ok(reader.read_utctime()?.datetime().unix_timestamp())
    } else {
        Ok(reader.read_generalized_time()?.datetime().unix_timestamp())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A certificate of version 1, in which these elements are the times.
    fn of_version_1(times: &[&[u8]]) -> Vec<u8> {
        let sequence = |parts: &[&[u8]]| {
            yasna::construct_der(|writer| {
                writer.write_sequence(|writer| parts.iter().for_each(|part| writer.next().write_der(part)));
            })
        };
        let number = yasna::construct_der(|writer| writer.write_i64(1));
        let (times, empty) = (sequence(times), sequence(&[]));
        let signed = [&number, &empty, &empty, &times, &empty, &empty].map(Vec::as_slice);
        sequence(&[&sequence(&signed), &empty, &number])
    }

    #[test]
    fn both_forms_of_a_time_are_read_in_certificates_of_version_1() {
        let utc = |text: &[u8]| [&[23, text.len().try_into().unwrap()], text].concat();
        let begin = utc(b"500101000000Z");
        let end = |end: &[u8]| not_after(&of_version_1(&[&begin, end]));
        assert_eq!(end(&utc(b"261127010203Z")), Some(1_795_737_600 + 3_723));
        assert_eq!(end(b"\x18\x0f20261127010203Z"), Some(1_795_737_600 + 3_723));
        assert_eq!(end(b"\x18\x0f99991231000000Z"), Some(253_402_214_400));
        assert_eq!(end(&begin), None, "it ended in 1950");
        for text in [&b"261127010203"[..], b"2611270102Z", b"26112x010203Z", b"261327010203Z", b"Z", b""] {
            assert_eq!(end(&utc(text)), None);
        }
    }

    #[test]
    fn a_certificate_says_until_when_it_is_valid() {
        let mut params = rcgen::CertificateParams::new(["proxy".to_owned()]).unwrap();
        for (year, end) in [(2031, 1_924_992_000), (2060, 2_840_140_800)] {
            params.not_after = rcgen::date_time_ymd(year, 1, 1);
            let key = rcgen::KeyPair::generate().unwrap();
            let certificate = params.self_signed(&key).unwrap();
            let der = certificate.der();
            assert_eq!(not_after(der), Some(end), "{year}");
            for len in 0..der.len() {
                // It is cut, and that is seen at the outermost length.
                assert_eq!(not_after(&der[..len]), None);
            }
        }
        assert_eq!(not_after(&[0x30, 0x84, 1, 1, 1, 1]), None);
    }
}
