//! Every packet type out of any bytes.

use super::split_capabilities;
use crate::{Codec, frame, packet};

/// Decodes `payload` as each of the types; a value must survive being encoded, alone and behind a header.
macro_rules! round_trip {
    ($caps:expr, $payload:expr, [$($packet:ident),* $(,)?]) => {$(
        if let Ok(value) = packet::$packet::decode($payload, $caps) {
            let bytes = value.encode($caps);
            assert_eq!(packet::$packet::decode(&bytes, $caps), Ok(value), "decode of {bytes:?}");
            let mut message = Vec::new();
            let next = frame::put_packet(&mut message, 7, &value, $caps);
            let mut split = Vec::new();
            assert_eq!(frame::put_message(&mut split, 7, &bytes), next, "sequence id");
            assert_eq!(message, split, "a packet behind its header");
        }
    )*};
}

/// Decodes `data` behind its first eight bytes, the capabilities, as every type of packet.
pub fn packet(data: &[u8]) {
    let (caps, payload) = split_capabilities(data);
    round_trip!(
        caps,
        payload,
        [
            AuthMore,
            AuthSwitch,
            Column,
            ColumnCount,
            Eof,
            Err,
            Greeting,
            LocalInfile,
            Login,
            Ok,
            PrepareOk,
            SslRequest,
            TextRow,
        ]
    );
    if let Ok(row) = packet::TextRow::decode(payload, caps) {
        let mut again = Vec::new();
        packet::TextRow::put(&mut again, row);
        let row_again = packet::TextRow::decode(&again, caps);
        assert!(row_again.is_ok_and(|again| again.iter().eq(row.iter())), "cells of {payload:?}");
    }
    if let Ok(packet::Ok { session_state: Some(state), .. }) = packet::Ok::decode(payload, caps) {
        for change in state.iter().flatten() {
            let bytes = packet::SessionState::encode(&[change]);
            let again = packet::SessionState::new(&bytes);
            assert!(again.iter().eq([Ok(change)]), "{change:?}");
        }
    }
}
