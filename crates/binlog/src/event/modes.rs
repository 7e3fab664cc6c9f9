//! How the text of a statement is to be read: the variables in front of it.

use sql::Modes;
use sql::lexer::Charset;
use wire::WireError;
use wire::codec::Reader;

/// Numbers of variables (`Q_..._CODE` in MySQL's `statement_events.h`). Both servers write these in
/// this order, and others behind them.
const FLAGS2: u8 = 0;
const SQL_MODE: u8 = 1;
const CATALOG: u8 = 6;
const AUTO_INCREMENT: u8 = 3;
const CHARSET: u8 = 4;

/// Bits of `sql_mode` (`MODE_...` of both servers).
const ANSI_QUOTES: u64 = 1 << 2;
const NO_BACKSLASH_ESCAPES: u64 = 1 << 20;

/// Reads the variables up to the character set; `None` if `sql_mode` or the character set is not
/// among the first ones.
pub(super) fn read(variables: &[u8]) -> Result<Option<Modes>, WireError> {
    let mut reader = Reader::new(variables);
    let mut mode = None;
    while !reader.is_empty() {
        match reader.u8("variable")? {
            FLAGS2 => {
                reader.u32("flags")?;
            }
            SQL_MODE => mode = Some(reader.u64("sql_mode")?),
            CATALOG => {
                let len = reader.u8("catalog")?;
                reader.bytes(len.into(), "catalog")?;
            }
            AUTO_INCREMENT => {
                reader.u32("auto_increment")?;
            }
            CHARSET => {
                let client = reader.u16("character set")?;
                return Ok(mode.map(|mode| Modes {
                    ansi_quotes: mode & ANSI_QUOTES != 0,
                    no_backslash_escapes: mode & NO_BACKSLASH_ESCAPES != 0,
                    charset: charset(client),
                }));
            }
            _ => break,
        }
    }
    Ok(None)
}

/// What MariaDB adds to the number of a collation for the one that does not pad.
const NO_PAD: u16 = 1 << 10;

/// The character set of a collation. Both servers have the same numbers.
const fn charset(collation: u16) -> Charset {
    match collation & !NO_PAD {
        1 | 84 => Charset::Big5,
        13 | 88 | 95 | 96 => Charset::Sjis,
        28 | 87 => Charset::Gbk,
        248..=250 => Charset::Gb18030,
        _ => Charset::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_read_up_to_the_character_set() {
        let bytes = |mode: u64, collation: u16| {
            let mode = mode.to_le_bytes();
            let front = [&[FLAGS2, 0, 0, 0, 0, SQL_MODE][..], &mode, b"\x06\x03std\x03\x01\0\x01\0\x04"];
            [&front.concat()[..], &collation.to_le_bytes(), &[33, 0, 45, 0, 12, 1]].concat()
        };
        let modes = read(&bytes(ANSI_QUOTES | 1, 33)).unwrap().unwrap();
        assert_eq!((modes.ansi_quotes, modes.no_backslash_escapes), (true, false));
        let modes = read(&bytes(NO_BACKSLASH_ESCAPES, 28)).unwrap().unwrap();
        assert_eq!((modes.ansi_quotes, modes.no_backslash_escapes), (false, true));
        assert_eq!(modes.charset, Charset::Gbk);
        assert_eq!(read(&bytes(0, 28 + NO_PAD)).unwrap().unwrap().charset, Charset::Gbk);
        assert_eq!(read(&[CHARSET, 33, 0, 33, 0, 33, 0]), Ok(None));
        assert_eq!(read(&[99, 1]), Ok(None));
        read(&[SQL_MODE, 1]).unwrap_err();
    }
}
