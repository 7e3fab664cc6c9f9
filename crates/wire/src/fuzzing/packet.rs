//! Every packet and every command out of any bytes.

use super::input::split_capabilities;
use crate::{Capabilities, Codec, command, frame, packet};

/// Decodes `payload` as each of the types; a value must survive being encoded, alone and behind a
/// header.
macro_rules! round_trip {
    ($caps:expr, $payload:expr, $module:ident, [$($packet:ident),* $(,)?]) => {$(
        if let Ok(value) = $module::$packet::decode($payload, $caps) {
            let bytes = value.encode($caps);
            assert_eq!($module::$packet::decode(&bytes, $caps), Ok(value), "decode of {bytes:?}");
            let mut message = Vec::new();
            let next = frame::put_packet(&mut message, 7, &value, $caps);
            let mut split = Vec::new();
            assert_eq!(frame::put_message(&mut split, 7, &bytes), next, "sequence id");
            assert_eq!(message, split, "a packet behind its header");
        }
    )*};
}

/// Decodes `data` behind its first eight bytes, the capabilities, as every type of packet and of
/// command.
pub fn packet(data: &[u8]) {
    let (caps, payload) = split_capabilities(data);
    round_trip!(
        caps,
        payload,
        packet,
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
    commands(payload, caps);
}

/// Decodes `payload` as every type of command. At most one of them takes it: each has a first byte
/// of its own.
fn commands(payload: &[u8], caps: Capabilities) {
    round_trip!(
        caps,
        payload,
        command,
        [
            BinlogDump,
            BinlogDumpGtid,
            ChangeUser,
            CreateDb,
            Debug,
            DropDb,
            FieldList,
            InitDb,
            Ping,
            ProcessInfo,
            ProcessKill,
            Query,
            Quit,
            Refresh,
            RegisterReplica,
            ResetConnection,
            SendLongData,
            SetOption,
            Shutdown,
            Statistics,
            StmtBulkExecute,
            StmtClose,
            StmtExecute,
            StmtFetch,
            StmtPrepare,
            StmtReset,
        ]
    );
    // The parameters' layout depends on how many the statement has: a few, and more than the bytes
    // can hold.
    if let Ok(execute) = command::StmtExecute::decode(payload, caps) {
        for prepared in [0, 1, 2, 9, u16::MAX] {
            if let Ok(params) = execute.params(prepared, caps) {
                assert!(params.count >= usize::from(prepared), "parameters are lost");
            }
        }
    }
    if let Ok(query) = command::Query::decode(payload, caps) {
        query.attributes.iter().for_each(drop);
    }
}
