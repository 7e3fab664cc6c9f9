//! A stream of a binary log: see [`binlog::fuzzing::stream`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| binlog::fuzzing::stream(data));
