//! Limits of what a session keeps, each with its unit and its reason.

use std::time::Duration;

/// The first connection id that clients are told. Servers count theirs from 1: an id that no server
/// has cannot hit another session's statement when a client sends it in a KILL.
pub const FIRST_CONNECTION_ID: u32 = 1 << 30;

/// The id after which they begin anew: the largest that fits a signed 32-bit integer, which some
/// drivers use.
pub const LAST_CONNECTION_ID: u32 = (1 << 31) - 1;

/// Bytes of a statement, comments included, within which the proxy looks for connection ids: enough
/// for what people and tools write into a KILL. It is kept until it is complete.
pub const OWN_STATEMENT_BYTES_MAX: u32 = 1024;

/// Settings that a session keeps in order to say them again at other servers. Drivers and
/// frameworks make fewer than 20; a session with more stays at the server that has them.
pub const SETTINGS_MAX: usize = 64;

/// Bytes of all of them.
pub const SETTINGS_BYTES_MAX: usize = 16 * 1024;

/// What a session is known to have left at servers, one by one: temporary tables, locks by name.
/// With more than these, it is not known any more when all are gone.
pub const PINS_MAX: usize = 64;

/// Bytes of an OK packet that are held back until all of it is there: what servers tell of a
/// session has some hundreds.
pub const TRACKERS_BYTES_MAX: usize = 64 * 1_024;

/// How long a login that a server has accepted vouches for the next ones of the same user and
/// schema.
pub const VOUCHED_FOR: Duration = Duration::from_mins(1);

/// Schemas of one user that are remembered as accepted. A client that goes through more asks
/// servers again.
pub const VOUCHED_SCHEMAS_MAX: usize = 256;

/// Decoys that answer for users who do not exist: enough that their kinds are mixed as those of
/// real users are, few enough that 50,000 users are loaded at once.
pub const DECOYS_MAX: usize = 256;

/// Routines that a session has called, and that these call, of which its server is asked whether
/// they leave anything. Who has called more is bound by them.
pub const ROUTINES_MAX: usize = 16;

/// Tables that a session has used, and that views and triggers behind them use, of which its server
/// is asked whether they hide anything. Who has used more is bound by them.
pub const TABLES_MAX: usize = 64;

/// Milliseconds after which servers are asked again what is behind a table.
pub const RELATION_AGE_MAX_MS: u64 = 300_000;

/// Tables of which a worker knows what is behind them, and names of which it knows what stored code
/// beside sharded tables they have. With one more it forgets all.
pub const REMEMBERED_MAX: usize = 4096;

/// Statements of which a worker knows that nothing is behind their tables.
pub const SEEN_THROUGH_MAX: usize = 1024;
