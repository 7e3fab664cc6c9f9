//! Span trees of any statement, in any modes: see [`sql::fuzzing::spans`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sql::fuzzing::spans(data));
