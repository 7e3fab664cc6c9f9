//! The server asks the client for a file.

use super::expect_header;
use crate::{Capabilities, Codec, WireError, codec::Reader};

/// The answer to `LOAD DATA LOCAL INFILE`: the client sends the file's bytes in packets, an empty
/// packet ends them, and then the server answers with OK or ERR.
///
/// Source: `Protocol::LOCAL INFILE Request`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalInfile<'a> {
    /// The file's name as the statement has it.
    pub filename: &'a [u8],
}

impl LocalInfile<'_> {
    /// The first byte.
    pub const HEADER: u8 = 0xfb;
}

impl<'a> Codec<'a> for LocalInfile<'a> {
    fn read(reader: &mut Reader<'a>, _caps: Capabilities) -> Result<Self, WireError> {
        expect_header(reader, Self::HEADER, "local infile header")?;
        Ok(Self { filename: reader.rest() })
    }

    fn write(&self, _caps: Capabilities, out: &mut Vec<u8>) {
        out.push(Self::HEADER);
        out.extend_from_slice(self.filename);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn round_trips(filename: Vec<u8>) {
            let packet = LocalInfile { filename: &filename };
            let bytes = packet.encode(Capabilities::empty());
            prop_assert_eq!(LocalInfile::decode(&bytes, Capabilities::empty()), Ok(packet));
        }
    }

    #[test]
    fn it_is_what_servers_send() {
        assert_eq!(LocalInfile { filename: b"/tmp/x" }.encode(Capabilities::empty()), b"\xfb/tmp/x");
    }
}
