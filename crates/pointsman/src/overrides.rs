//! Settings of the command line that count, for this process, before those of the configuration.

use std::sync::Arc;

use config::schema::{Scalar, TOP_LEVEL};
use config::{Address, Config, Loaded, LogFormat};

/// What the command line overrides. Nothing of it is saved, and admins still see what is
/// configured.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Overrides {
    /// `datadir`.
    pub(crate) datadir: Option<String>,
    /// The form of the process's own log.
    pub(crate) log_format: Option<LogFormat>,
    /// Where the admin port listens, in place of `admin-mysql_ifaces`.
    pub(crate) admin: Option<Vec<Address>>,
    /// Whether the monitor checks no servers, in place of `mysql-monitor_enabled`.
    pub(crate) unmonitored: bool,
    /// Whether no listener for clients is opened.
    pub(crate) admin_only: bool,
}

impl Overrides {
    /// Puts `datadir` into what a file holds.
    pub(crate) fn locate(&self, loaded: &mut Loaded) {
        let Some(datadir) = &self.datadir else { return };
        loaded.config.datadir.clone_from(datadir);
        let value = Scalar::Text(datadir.clone());
        let rows = loaded.draft.rows(&TOP_LEVEL).iter().map(|row| row.with("datadir", value.clone()));
        let rows = rows.collect();
        loaded.draft.set_rows(&TOP_LEVEL, rows);
    }

    /// What the data plane is to do when `config` is loaded.
    pub(crate) fn effective(&self, config: &Arc<Config>) -> Arc<Config> {
        let mut config = Arc::clone(config);
        if self.unmonitored {
            Arc::make_mut(&mut config).monitor.enabled = false;
        }
        if self.admin_only {
            Arc::make_mut(&mut config).listeners.clear();
        }
        config
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn loaded() -> Loaded {
        let text = "datadir = \"/a\"\n[[listeners]]\naddress = \"127.0.0.1:0\"\n";
        config::parse(text, Path::new("f.toml")).unwrap()
    }

    #[test]
    fn datadir_is_replaced_in_rows_and_their_meaning() {
        let mut loaded = loaded();
        Overrides::default().locate(&mut loaded);
        assert_eq!(loaded.config.datadir, "/a");
        Overrides { datadir: Some("/b".to_owned()), ..Overrides::default() }.locate(&mut loaded);
        assert_eq!(loaded.config.datadir, "/b");
        assert_eq!(loaded.draft.check().unwrap().config.datadir, "/b");
    }

    #[test]
    fn the_data_plane_gets_what_the_command_line_says() {
        let config = Arc::new(loaded().config);
        assert!(Arc::ptr_eq(&config, &Overrides::default().effective(&config)));
        let unmonitored = Overrides { unmonitored: true, ..Overrides::default() }.effective(&config);
        assert!(config.monitor.enabled && !unmonitored.monitor.enabled);
        assert_eq!(unmonitored.listeners, config.listeners);
        let admin_only = Overrides { admin_only: true, ..Overrides::default() }.effective(&config);
        assert!(admin_only.listeners.is_empty() && admin_only.monitor.enabled);
    }
}
