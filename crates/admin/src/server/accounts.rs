//! Accounts of the admin port: those of `admin-admin_credentials` and `admin-stats_credentials`,
//! and no others.

use wire::auth::Credential;

use crate::who::Rights;

/// Names that may log in from this machine only: their passwords are in every manual.
const LOCAL_ONLY: [&str; 2] = ["admin", "stats"];

/// The accounts of the admin port.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Accounts(Vec<Account>);

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) user: String,
    pub(crate) credential: Credential,
    pub(crate) rights: Rights,
    /// Whether it may log in from this machine only.
    pub(crate) local: bool,
}

impl Accounts {
    /// The accounts of both lists (`user:password;user:password`) and of the monitor, if it has a
    /// name. Who is in several of them has the rights of the first.
    pub(crate) fn new(admins: &str, stats: &str, monitor: (&str, &str)) -> Self {
        let mut accounts = Vec::new();
        for (list, rights) in [(admins, Rights::Admin), (stats, Rights::Stats)] {
            for entry in list.split(';').map(str::trim).filter(|entry| !entry.is_empty()) {
                let (user, password) = entry.split_once(':').unwrap_or((entry, ""));
                let local = LOCAL_ONLY.contains(&user) || user == monitor.0;
                accounts.extend(Account::new(user, password, rights, local));
            }
        }
        accounts.extend(Account::new(monitor.0, monitor.1, Rights::Stats, true));
        Self(accounts)
    }

    /// The account of this name.
    pub(crate) fn find(&self, user: &[u8]) -> Option<&Account> {
        self.0.iter().find(|account| account.user.as_bytes() == user)
    }
}

impl Account {
    /// Nothing for an empty name (every client could have it) and for a hash that is none.
    fn new(user: &str, password: &str, rights: Rights, local: bool) -> Option<Self> {
        let credential = Credential::parse(password.as_bytes()).ok()?;
        (!user.is_empty()).then(|| Self { user: user.to_owned(), credential, rights, local })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_what_the_two_lists_and_the_monitor_say() {
        let accounts = Accounts::new("admin:admin;radmin:se:cret; op", "stats:s;admin:x", ("monitor", "m"));
        let find = |user: &str| accounts.find(user.as_bytes()).cloned();
        let account = |user: &str, password: &str, rights, local| {
            let credential = Credential::parse(password.as_bytes()).unwrap();
            Some(Account { user: user.to_owned(), credential, rights, local })
        };
        assert_eq!(find("admin"), account("admin", "admin", Rights::Admin, true));
        assert_eq!(find("radmin"), account("radmin", "se:cret", Rights::Admin, false));
        assert_eq!(find("op"), account("op", "", Rights::Admin, false));
        assert_eq!(find("stats"), account("stats", "s", Rights::Stats, true));
        assert_eq!(find("monitor"), account("monitor", "m", Rights::Stats, true));
        assert_eq!(find(""), None);
        assert_eq!(find("Admin"), None);
    }

    #[test]
    fn empty_lists_have_no_account() {
        assert_eq!(Accounts::new("", ";;:x", ("", "")), Accounts::default());
    }
}
