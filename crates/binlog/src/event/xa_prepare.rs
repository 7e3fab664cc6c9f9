//! The end of what an XA transaction does before its commit.

use wire::WireError;
use wire::codec::Reader;

use super::Event;
use crate::xid::Xid;

/// Reads `XA_PREPARE_LOG_EVENT` of either server.
pub(super) fn read<'a>(reader: &mut Reader<'_>) -> Result<Event<'a>, WireError> {
    let one_phase = reader.u8("one phase")? != 0;
    let format = reader.u32("format of the XID")?;
    let global = reader.u32("length of the XID")?;
    let branch = reader.u32("length of the XID")?;
    let xid = Xid::read(format, global, branch, reader)?;
    Ok(Event::Prepare { xid, one_phase })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_behind_its_lengths() {
        let body = b"\x01\x05\0\0\0\x02\0\0\0\x01\0\0\0abc";
        let xid = Xid::new(5, b"ab", b"c").unwrap();
        assert_eq!(read(&mut Reader::new(body)), Ok(Event::Prepare { xid, one_phase: true }));
        read(&mut Reader::new(&body[..15])).unwrap_err();
    }
}
