//! Until when a certificate is valid, read out of its DER (X.509, RFC 5280, section 4.1).

/// `INTEGER`.
const INTEGER: u8 = 0x02;
/// `UTCTime`, with two digits of the year.
const UTC_TIME: u8 = 0x17;
/// `GeneralizedTime`, with four.
const GENERALIZED_TIME: u8 = 0x18;
/// `SEQUENCE`.
const SEQUENCE: u8 = 0x30;
/// The version of a certificate, which may be missing.
const VERSION: u8 = 0xa0;

/// When the certificate `der` ends to be valid, in seconds of Unix time; nothing if it is none, or
/// ended before 1970.
pub(super) fn not_after(der: &[u8]) -> Option<u64> {
    let (certificate, _) = take(der, SEQUENCE)?;
    let (mut rest, _) = take(certificate, SEQUENCE)?;
    if let Some((_, behind)) = take(rest, VERSION) {
        rest = behind;
    }
    // The serial number, the algorithm of the signature, the issuer.
    for tag in [INTEGER, SEQUENCE, SEQUENCE] {
        rest = take(rest, tag)?.1;
    }
    let (validity, _) = take(rest, SEQUENCE)?;
    let (_, end) = time(validity)?;
    u64::try_from(time(end)?.0).ok()
}

/// The content of the element with this tag that `bytes` begins with, and what is behind it.
fn take(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&[found, first], rest) = bytes.split_first_chunk()?;
    if found != tag {
        return None;
    }
    if first < 0x80 {
        return rest.split_at_checked(first.into());
    }
    // So many bytes of the length follow; no certificate has more than 16 MiB.
    let (len, rest) = rest.split_at_checked(usize::from(first & 0x7f)).filter(|(len, _)| len.len() <= 3)?;
    let len = len.iter().fold(0, |len, &byte| len << 8 | usize::from(byte));
    rest.split_at_checked(len)
}

/// The time that `bytes` begin with, in seconds of Unix time, and what is behind it.
fn time(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let (text, rest, digits) = if let Some((text, rest)) = take(bytes, UTC_TIME) {
        (text, rest, 2)
    } else {
        let (text, rest) = take(bytes, GENERALIZED_TIME)?;
        (text, rest, 4)
    };
    let (year, text) = text.split_at_checked(digits)?;
    let year = match (number(year)?, digits) {
        (year, 4) => year,
        (year @ 0..50, _) => 2000 + year,
        (year, _) => 1900 + year,
    };
    let mut fields = text.strip_suffix(b"Z")?.chunks(2).map(number);
    let mut next = || fields.next().flatten();
    let (month, day, hour, minute, second) = (next()?, next()?, next()?, next()?, next()?);
    Some((((days(year, month, day)? * 24 + hour) * 60 + minute) * 60 + second, rest))
}

/// A number in decimal digits.
fn number(text: &[u8]) -> Option<i64> {
    let digits = text.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(text).ok().filter(|_| digits)?.parse().ok()
}

/// Days from the beginning of 1970 to this one; nothing if there is no such month or day.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Years that begin in March have the day that some lack at their end.
    let (year, month) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
    let of_year = (month * 153 + 2) / 5 + day - 1;
    let of_years = year * 365 + year / 4 - year / 100 + year / 400;
    // Those from 1 March of the year 0 to the beginning of 1970.
    Some(of_years + of_year - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(year: i64, month: i64, day: i64) -> Option<i64> {
        days(year, month, day).map(|days| days * 86_400)
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        assert_eq!(seconds(1970, 1, 1), Some(0));
        assert_eq!(seconds(2000, 2, 29), Some(951_782_400));
        assert_eq!(seconds(2026, 11, 27), Some(1_795_737_600));
        assert_eq!(seconds(9999, 12, 31), Some(253_402_214_400));
        assert_eq!(seconds(1969, 12, 31), Some(-86_400));
        assert_eq!((days(2026, 13, 1), days(2026, 1, 0)), (None, None));
    }

    #[test]
    fn both_forms_of_a_time_are_read() {
        let utc = [&[UTC_TIME, 13][..], b"261127010203Z"].concat();
        assert_eq!(time(&utc).unwrap().0, 1_795_737_600 + 3_723);
        let old = [&[UTC_TIME, 13][..], b"500101000000Z"].concat();
        assert_eq!(time(&old).unwrap().0, -631_152_000);
        let long = [&[GENERALIZED_TIME, 15][..], b"20261127010203Z!"].concat();
        assert_eq!(time(&long), Some((1_795_737_600 + 3_723, &b"!"[..])));
        for text in [&b"261127010203"[..], b"2611270102Z", b"26112x010203Z", b"Z", b""] {
            let bytes = [&[UTC_TIME, u8::try_from(text.len()).unwrap()][..], text].concat();
            assert_eq!(time(&bytes), None);
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
        assert_eq!(not_after(&[SEQUENCE, 0x84, 1, 1, 1, 1]), None);
    }
}
