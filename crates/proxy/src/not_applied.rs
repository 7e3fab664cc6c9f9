//! Why a configuration is not applied.

use route::RuleError;

use crate::routing::routes;
use crate::tls::TlsError;

/// Why a configuration was not applied. Nothing has changed.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// A file that TLS needs cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Rules that cannot be used: all of them.
    #[error("{}", listed(.0))]
    Rules(Vec<RuleError>),
}

/// All of them in one sentence.
pub(crate) fn listed(errors: &[RuleError]) -> String {
    let one = |error| routes::problem(error).to_string();
    errors.iter().map(one).collect::<Vec<_>>().join("; ")
}
