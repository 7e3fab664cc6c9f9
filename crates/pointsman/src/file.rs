//! The configuration file, whose rules have to compile.

use config::{Loaded, Problems};

use crate::ConfigArgs;

/// Reads the configuration file. Rules that do not compile are left out where that is right for
/// the file; elsewhere they are still there.
pub(crate) fn load(args: &ConfigArgs) -> Result<Loaded, Problems> {
    let mut loaded = config::load(&args.config, args.strictness())?;
    if loaded.lenient {
        loaded.leave_out_rules(&proxy::check_rules(&loaded.config), &args.config);
    }
    Ok(loaded)
}
