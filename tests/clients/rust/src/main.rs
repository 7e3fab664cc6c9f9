//! Runs the checks of the client matrix with sqlx; `tests/clients/README.md` has the environment.

mod checks;
mod report;
mod sessions;

use report::Report;
use sqlx::mysql::{MySqlConnectOptions, MySqlConnection, MySqlSslMode};
use sqlx::{AssertSqlSafe, ConnectOptions as _};

/// What the program is told by its environment.
pub struct Place {
    pub logins: Vec<String>,
    pub login_password: String,
    pub full: bool,
    user: String,
    password: String,
    ca: String,
    /// Without an account.
    options: MySqlConnectOptions,
}

/// How to verify the server's certificate.
#[derive(Clone, Copy)]
pub enum Tls {
    No,
    Required,
    VerifyCa,
    VerifyIdentity,
    /// With another authority than the server's.
    Untrusted,
}

impl Place {
    fn from_environment() -> Self {
        let get = |name: &str| std::env::var(name).unwrap_or_default();
        let options = MySqlConnectOptions::new()
            .host(&get("PM_HOST"))
            .port(get("PM_PORT").parse().expect("PM_PORT is a number"))
            .database(&get("PM_DATABASE"))
            .ssl_mode(MySqlSslMode::Disabled)
            .disable_statement_logging();
        Self {
            logins: get("PM_LOGINS").split(',').map(str::to_owned).collect(),
            login_password: get("PM_LOGIN_PASSWORD"),
            full: get("PM_SIZE") != "quick",
            user: get("PM_USER"),
            password: get("PM_PASSWORD"),
            ca: get("PM_CA"),
            options,
        }
    }

    /// How the account of everything else logs in, without TLS.
    pub fn options(&self) -> MySqlConnectOptions {
        self.options.clone().username(&self.user).password(&self.password)
    }

    pub fn tls(&self, tls: Tls) -> MySqlConnectOptions {
        self.with_tls(self.options(), tls)
    }

    /// How another account logs in. The driver takes an empty password for one, so it may have
    /// none.
    pub fn account(&self, user: &str, password: Option<&str>, tls: Tls) -> MySqlConnectOptions {
        let options = self.options.clone().username(user);
        let options = password.into_iter().fold(options, |options, password| options.password(password));
        self.with_tls(options, tls)
    }

    fn with_tls(&self, options: MySqlConnectOptions, tls: Tls) -> MySqlConnectOptions {
        let mode = match tls {
            Tls::No => MySqlSslMode::Disabled,
            Tls::Required => MySqlSslMode::Required,
            Tls::VerifyCa | Tls::Untrusted => MySqlSslMode::VerifyCa,
            Tls::VerifyIdentity => MySqlSslMode::VerifyIdentity,
        };
        let options = options.ssl_mode(mode);
        if matches!(tls, Tls::VerifyCa | Tls::VerifyIdentity) { options.ssl_ca(&self.ca) } else { options }
    }

    pub async fn connect(&self) -> Result<MySqlConnection, sqlx::Error> {
        self.options().connect().await
    }
}

/// Runs statements as text.
pub async fn run(connection: &mut MySqlConnection, sql: String) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await.map(drop)
}

/// The first column of the first row of a prepared statement.
pub async fn number(connection: &mut MySqlConnection, sql: &str) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar(AssertSqlSafe(sql.to_owned())).fetch_one(connection).await
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let place = Place::from_environment();
    let mut report = Report::default();
    checks::run_all(&place, &mut report).await;
    sessions::run_all(&place, &mut report).await;
    std::process::exit(report.code());
}
