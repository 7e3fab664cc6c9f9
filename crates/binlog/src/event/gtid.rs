//! A transaction of MySQL begins.

use ::gtid::{Gtid, mysql};
use wire::WireError;
use wire::codec::Reader;

use super::{Begin, Change};

/// Reads `GTID_LOG_EVENT`: flags, the source's UUID and the number. What follows says which
/// transactions may run at the same time.
pub(super) fn read(reader: &mut Reader<'_>) -> Result<Begin, WireError> {
    reader.u8("flags")?;
    let uuid = u128::from_be_bytes(reader.array("UUID")?);
    let number = reader.u64("transaction number")?;
    let gtid = mysql::Gtid { source: mysql::Source::of(uuid), number };
    Ok(Begin { gtid: Some(Gtid::MySql(gtid)), change: Change::ToBeSeen })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_uuid_is_in_its_written_order() {
        let mut body = vec![1];
        body.extend(0x3e11_fa47_71ca_11e1_9e33_c80a_a942_9562_u128.to_be_bytes());
        body.extend(23_u64.to_le_bytes());
        let begin = read(&mut Reader::new(&body)).unwrap();
        assert_eq!(begin.gtid, "3e11fa47-71ca-11e1-9e33-c80aa9429562:23".parse().ok());
        read(&mut Reader::new(&body[..24])).unwrap_err();
    }
}
