//! Tokens and shapes of any statement, in any modes: see [`sql::fuzzing::shape`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sql::fuzzing::shape(data));
