//! Spans of statements for OpenTelemetry, over OTLP/HTTP with JSON.
//!
//! A worker makes a [`Span`] of a statement that is over and traced, and [offers](Exporter::offer)
//! it. A bounded queue takes the span, or the span is counted as dropped. One thread sends what is
//! in the queue, in batches. A collector that is down costs spans, which are counted, and nothing
//! else.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]

mod choice;
mod exporter;
mod json;
mod limits;
mod parent;
mod post;
mod span;
mod summary;

pub use exporter::{Counts, Exporter};
pub use limits::SPAN_TEXT_BYTES_MAX;
pub use parent::Parent;
pub use span::{Server, Span, Times};
