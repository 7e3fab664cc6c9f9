//! Unpredictable bytes, for logins.

use wire::auth::NONCE_LEN;

/// `N` of them.
#[expect(clippy::expect_used, reason = "a process without random bytes must not log anybody in")]
pub(crate) fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the kernel's random generator works");
    bytes
}

/// A nonce: bytes that are neither zero, which ends a string, nor above 127, which old clients take
/// for text of another charset.
pub(crate) fn nonce() -> [u8; NONCE_LEN] {
    bytes().map(|byte: u8| byte % 127 + 1)
}
