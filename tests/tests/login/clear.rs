//! Clear passwords that look like hashes.

use e2e::{Backend, Setup, on_each_server, run};
use testkit::client::{Client, Options};

use super::{NATIVE_HASH, NATIVE_PLUGIN, SECRET, SHA2_HASH, SHA2_PLUGIN};

/// Who the server takes a client for, or the number of the error that it gets.
async fn who(options: &Options) -> Result<String, Option<u16>> {
    let mut client = Client::connect(options).await.map_err(|error| error.code())?;
    let result = client.query("SELECT CURRENT_USER()").await.map_err(|error| error.code())?;
    Ok(result.first().unwrap())
}

fn a_clear_password_may_look_like_a_hash(db: &'static Backend) {
    let users = [("as_native", NATIVE_HASH), ("as_sha2", SHA2_HASH), ("as_broken", "$A$005$short")];
    let mut setup =
        Setup::new(&db.sandbox).server(&db.server, "").admin("mysql_ifaces", "'127.0.0.1:0'").datadir();
    for (user, password) in users {
        db.sql(&format!("CREATE USER {user} IDENTIFIED BY '{password}'"));
        setup = setup.user(user, password, "attributes = '{\"clear_password\": true}'");
    }
    let proxy = setup.start();
    run(async {
        for (user, password) in users {
            for plugin in [NATIVE_PLUGIN, SHA2_PLUGIN] {
                let log_in = |password: &str| Options::tcp(proxy.tcp(), user, password).auth_plugin(plugin);
                assert_eq!(who(&log_in(password)).await, Ok(format!("{user}@%")), "{plugin}");
                assert_eq!(who(&log_in(SECRET)).await, Err(Some(1045)), "{user} by {plugin}");
            }
        }
        // It is a hash again as soon as nothing says that it is not.
        let mut admin = Client::connect(&Options::tcp(proxy.admin(), "admin", "admin")).await.unwrap();
        let attributes = async |admin: &mut Client, text: &str| {
            let change = "UPDATE mysql_users SET attributes = '";
            let change = format!("{change}{text}' WHERE username = 'as_native'");
            for statement in [&change, "LOAD MYSQL USERS TO RUNTIME"] {
                admin.query(statement).await.unwrap();
            }
        };
        let right = Options::tcp(proxy.tcp(), "as_native", NATIVE_HASH).auth_plugin(NATIVE_PLUGIN);
        attributes(&mut admin, "").await;
        assert_eq!(who(&right).await, Err(Some(1045)));
        attributes(&mut admin, r#"{"clear_password": true}"#).await;
        assert_eq!(who(&right).await, Ok("as_native@%".to_owned()));
    });
}

on_each_server!(a_clear_password_may_look_like_a_hash);
