//! A replica introduces itself.

use super::{Kind, expect};
use crate::{Capabilities, Codec, WireError, codec::Reader};

/// A replica says who it is, for `SHOW REPLICAS`.
///
/// Source: `COM_REGISTER_SLAVE`. The three texts are written up to 255 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegisterReplica<'a> {
    /// The replica's server id.
    pub server_id: u32,
    /// Its name, if it is configured to say it.
    pub host: &'a [u8],
    /// Its user, likewise.
    pub user: &'a [u8],
    /// Its password, likewise.
    pub password: &'a [u8],
    /// Its port.
    pub port: u16,
    /// Without meaning.
    pub rank: u32,
    /// The source's server id; 0 means the one that is asked.
    pub source_id: u32,
}

impl<'a> Codec<'a> for RegisterReplica<'a> {
    fn read(reader: &mut Reader<'a>, _caps: Capabilities) -> Result<Self, WireError> {
        expect(reader, Kind::RegisterReplica)?;
        Ok(Self {
            server_id: reader.u32("server id")?,
            host: short_bytes(reader, "host")?,
            user: short_bytes(reader, "user")?,
            password: short_bytes(reader, "password")?,
            port: reader.u16("port")?,
            rank: reader.u32("rank")?,
            source_id: reader.u32("source id")?,
        })
    }

    fn write(&self, _caps: Capabilities, out: &mut Vec<u8>) {
        out.push(Kind::RegisterReplica as u8);
        out.extend_from_slice(&self.server_id.to_le_bytes());
        for text in [self.host, self.user, self.password] {
            let len = u8::try_from(text.len()).unwrap_or(u8::MAX);
            out.push(len);
            out.extend(text.iter().take(len.into()));
        }
        out.extend_from_slice(&self.port.to_le_bytes());
        out.extend_from_slice(&self.rank.to_le_bytes());
        out.extend_from_slice(&self.source_id.to_le_bytes());
    }
}

/// Bytes behind their length in one byte.
fn short_bytes<'a>(reader: &mut Reader<'a>, field: &'static str) -> Result<&'a [u8], WireError> {
    let len = reader.u8(field)?;
    reader.bytes(len.into(), field)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn round_trips(server_id: u32, texts: [Vec<u8>; 3], port: u16, rank: u32, source_id: u32) {
            let [host, user, password] = &texts;
            let command = RegisterReplica { server_id, host, user, password, port, rank, source_id };
            let bytes = command.encode(Capabilities::empty());
            prop_assert_eq!(RegisterReplica::decode(&bytes, Capabilities::empty()), Ok(command));
            for len in 0..bytes.len() {
                prop_assert!(RegisterReplica::decode(&bytes[..len], Capabilities::empty()).is_err());
            }
        }
    }
}
