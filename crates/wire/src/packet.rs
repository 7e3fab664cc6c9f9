//! What servers send, and the login: one packet, one file.
//!
//! The types borrow from the payload they were decoded from. Which layout applies often depends on
//! the capabilities that both sides agreed on; where the capabilities stand in the packet itself,
//! the type says how the `caps` argument of [`Codec`](crate::Codec) is used. Many values start with
//! a header byte that tells them apart at their place in an exchange; it is the constant `HEADER`
//! of the type.

mod auth_more;
mod auth_switch;
mod column;
mod column_count;
mod eof;
mod err;
mod greeting;
mod local_infile;
mod login;
mod ok;
mod prepare_ok;
mod session_state;
mod ssl_request;
mod text_row;

pub use auth_more::AuthMore;
pub use auth_switch::AuthSwitch;
pub use column::{Column, DefaultValue};
pub use column_count::ColumnCount;
pub use eof::{Eof, end, put_end, put_head};
pub use err::Err;
pub use greeting::Greeting;
pub use local_infile::LocalInfile;
pub use login::Login;
pub use ok::{Ok, OkHeader};
pub use prepare_ok::PrepareOk;
pub use session_state::{SessionState, StateChange, StateChanges};
pub use ssl_request::SslRequest;
pub use text_row::{Cells, TextRow};

use crate::{WireError, codec::Reader};

/// Takes the byte that says what a packet is, and refuses another one than `header`.
fn expect_header(reader: &mut Reader<'_>, header: u8, field: &'static str) -> Result<(), WireError> {
    match reader.u8(field)? {
        byte if byte == header => Ok(()),
        byte => Err(WireError::Invalid { field, value: byte.into() }),
    }
}

/// Runs the example of the README as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
