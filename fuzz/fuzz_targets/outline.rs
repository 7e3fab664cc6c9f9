//! Statements that share an outline: see [`sql::fuzzing::outline`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sql::fuzzing::outline(data));
