//! Windows: what follows `OVER`, and what `WINDOW` names.

use crate::parse::cursor::{Cursor, Mark};
use crate::parse::kind::Kind;
use crate::parse::refusal::Parsed;

impl Cursor<'_> {
    /// `OVER` behind a call that begins at `mark`, if it is there.
    pub(super) fn over(&mut self, mark: Mark) -> Parsed {
        if !(self.at("OVER") && (self.sign_is(1, b'(') || self.is_name(1))) {
            return Ok(());
        }
        self.bump();
        if self.at_sign(b'(') {
            self.window()?;
        } else {
            let over = self.open();
            self.name("a window")?;
            self.close(over, Kind::Over)?;
        }
        self.close(mark, Kind::WindowCall)
    }

    /// A window in parentheses.
    pub(in crate::parse) fn window(&mut self) -> Parsed {
        let mark = self.open();
        self.expect_sign(b'(', "an opening parenthesis")?;
        if self.is_name(0) && !self.at_any(&["PARTITION", "ROWS", "RANGE", "GROUPS"]) {
            self.name("a window")?;
        }
        if self.at("PARTITION") {
            let partition = self.open();
            self.bump();
            self.expect("BY")?;
            self.expressions()?;
            self.close(partition, Kind::PartitionBy)?;
        }
        self.order_by()?;
        if !self.at_end() {
            let frame = self.open();
            self.skip_to(&[], false)?;
            self.close(frame, Kind::Frame)?;
        }
        self.expect_sign(b')', "a closing parenthesis")?;
        self.close(mark, Kind::Over)
    }
}
