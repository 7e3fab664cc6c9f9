//! Accounts of the admin port: those of `admin-admin_credentials` and `admin-stats_credentials`,
//! and no others.

use std::net::IpAddr;

use net::random;
use wire::auth::{Credential, NONCE_LEN};

use crate::who::{Rights, Who};

/// Names that may log in from this machine only: their passwords are in every manual.
const LOCAL_ONLY: [&str; 2] = ["admin", "stats"];

/// A client that has shown the password of an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    /// The client.
    pub who: Who,
    account: Account,
}

/// Why a login is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LoginRefused {
    /// There is no such account, or its password is another one.
    #[error("wrong user or password")]
    Wrong,
    /// The account is for clients on this machine only.
    #[error("this account can only connect locally: add one with another name to admin-admin_credentials")]
    LocalOnly,
}

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

    /// The account of `user`, if that is its password and it may log in from `client`.
    pub(crate) fn log_in(&self, user: &str, password: &[u8], client: IpAddr) -> Result<Login, LoginRefused> {
        let account = self.find(user.as_bytes());
        // An unknown user takes as long as one with a clear password.
        let decoy = Credential::Clear(random::bytes::<NONCE_LEN>().to_vec());
        let credential = account.map_or(&decoy, |account| &account.credential);
        let account = account.filter(|_| credential.accepts(password)).ok_or(LoginRefused::Wrong)?;
        if account.local && !client.to_canonical().is_loopback() {
            return Err(LoginRefused::LocalOnly);
        }
        let who = Who { user: account.user.clone(), rights: account.rights, address: Some(client) };
        Ok(Login { who, account: account.clone() })
    }

    /// Whether the account of `login` is still there, with the same password and rights.
    pub(crate) fn has(&self, login: &Login) -> bool {
        self.find(login.account.user.as_bytes()) == Some(&login.account)
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one of them may do everything.
    pub(crate) fn has_admin(&self) -> bool {
        self.0.iter().any(|account| account.rights == Rights::Admin)
    }

    /// The account of this name that a client on this machine, or one elsewhere, may log in to. To
    /// others it is one that is not there: no answer and no time tells a right password.
    pub(crate) fn usable(&self, user: &[u8], is_local: bool) -> Option<&Account> {
        self.find(user).filter(|account| is_local || !account.local)
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
    fn a_login_is_good_while_its_account_stays_as_it_is() {
        let here = IpAddr::from([127, 0, 0, 1]);
        let there = IpAddr::from([10, 0, 0, 1]);
        let accounts = Accounts::new("admin:admin;radmin:secret", "stats:s", ("monitor", "m"));
        let login = accounts.log_in("radmin", b"secret", there).unwrap();
        assert_eq!((login.who.user.as_str(), login.who.rights), ("radmin", Rights::Admin));
        assert!(accounts.has(&login));
        for changed in ["radmin:other", "admin:admin"] {
            assert!(!Accounts::new(changed, "", ("", "")).has(&login), "{changed}");
        }
        assert!(!Accounts::new("", "radmin:secret", ("", "")).has(&login), "with other rights");
        for (user, password) in [("radmin", "Secret"), ("radmin", ""), ("nobody", "secret"), ("", "")] {
            assert_eq!(accounts.log_in(user, password.as_bytes(), here), Err(LoginRefused::Wrong), "{user}");
        }
        assert!(accounts.log_in("admin", b"admin", here).is_ok());
        assert_eq!(accounts.log_in("admin", b"admin", there), Err(LoginRefused::LocalOnly));
        assert!(accounts.log_in("stats", b"s", IpAddr::from([0, 0, 0, 0, 0, 0xffff, 0x7f00, 1])).is_ok());
    }

    #[test]
    fn to_clients_elsewhere_there_are_no_local_accounts() {
        let accounts = Accounts::new("admin:admin;radmin:secret", "stats:s", ("monitor", "m"));
        let names = |is_local| {
            let usable = |user: &&str| accounts.usable(user.as_bytes(), is_local).is_some();
            ["admin", "radmin", "stats", "monitor", "nobody"].into_iter().filter(usable).collect::<Vec<_>>()
        };
        assert_eq!(names(true), ["admin", "radmin", "stats", "monitor"]);
        assert_eq!(names(false), ["radmin"]);
    }

    #[test]
    fn empty_lists_have_no_account() {
        assert_eq!(Accounts::new("", ";;:x", ("", "")), Accounts::default());
    }
}
