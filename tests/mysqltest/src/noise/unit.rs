//! What noisy clients do: each unit is a few statements that belong together, and looks at their
//! answers.

use testkit::client::{ClientError, QueryResult};

use super::client::{SCHEMAS, Session, Trouble};

/// Session variables, with values that are shown as they are set. Each of them changes what
/// statements answer, so that a test which gets one of them fails.
const VARIABLES: [(&str, [&str; 2]); 14] = [
    ("@@group_concat_max_len", ["77", "2000"]),
    ("@@div_precision_increment", ["2", "9"]),
    ("@@sql_mode", ["'ANSI_QUOTES'", "'NO_BACKSLASH_ESCAPES'"]),
    ("@@time_zone", ["'+05:00'", "'-03:30'"]),
    ("@@sql_select_limit", ["3", "50"]),
    ("@@lc_time_names", ["'de_DE'", "'fr_FR'"]),
    ("@@character_set_results", ["'latin1'", "'utf8mb4'"]),
    ("@@collation_connection", ["'latin1_bin'", "'latin1_german1_ci'"]),
    ("@@default_week_format", ["1", "3"]),
    ("@@max_sort_length", ["64", "128"]),
    ("@@sql_auto_is_null", ["0", "1"]),
    ("@@foreign_key_checks", ["0", "1"]),
    ("@@default_storage_engine", ["'InnoDB'", "'MEMORY'"]),
    ("@@tx_isolation", ["'READ-UNCOMMITTED'", "'READ-COMMITTED'"]),
];
/// Most prepared statements of a session.
const STATEMENTS_MAX: usize = 4;
/// The error of a table that is not there.
const NO_SUCH_TABLE: u16 = 1146;

impl Session<'_> {
    /// Does something.
    pub(super) async fn unit(&mut self) -> Result<(), Trouble> {
        match self.dice().below(100) {
            0..30 => self.look().await,
            30..45 => self.set_variable().await,
            45..52 => self.change_schema().await,
            52..60 => self.user_variable().await,
            60..75 => self.prepared().await,
            75..80 => self.temporary_table().await,
            80..88 => self.transaction().await,
            88..92 => self.results().await,
            92..94 => self.several().await,
            94..96 => self.error().await,
            96..98 => self.lock().await,
            _ => self.reset().await,
        }
    }

    /// Everything that it has set is as it was set.
    async fn look(&mut self) -> Result<(), Trouble> {
        let tag = self.tag();
        let set: Vec<(&str, String)> = self.set.iter().map(|(name, value)| (*name, value.clone())).collect();
        let mut columns = vec![format!("'{tag}'")];
        let mut expected = vec![tag.as_str()];
        if let Some(schema) = &self.schema {
            columns.push("DATABASE()".to_owned());
            expected.push(schema);
        }
        columns.extend(set.iter().map(|(name, _)| (*name).to_owned()));
        expected.extend(set.iter().map(|(_, value)| value.as_str()));
        let expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        self.ask(&format!("SELECT {}", columns.join(", ")), &expected).await
    }

    async fn set_variable(&mut self) -> Result<(), Trouble> {
        let (name, values) = *self.dice().pick(&VARIABLES);
        let value = *self.dice().pick(&values);
        self.say(&format!("SET SESSION {} = {value}", name.trim_start_matches('@'))).await?;
        self.set.insert(name, value.trim_matches('\'').to_owned());
        Ok(())
    }

    async fn change_schema(&mut self) -> Result<(), Trouble> {
        let schema = *self.dice().pick(&SCHEMAS);
        if self.dice().chance(50) {
            self.say(&format!("USE {schema}")).await?;
        } else {
            self.pause().await;
            self.client.init_db(schema).await?;
        }
        self.schema = Some(schema.to_owned());
        Ok(())
    }

    /// One that can be said again elsewhere, or one that cannot.
    async fn user_variable(&mut self) -> Result<(), Trouble> {
        let tag = self.tag();
        if self.dice().chance(80) {
            self.say(&format!("SET @noise = '{tag}'")).await?;
            self.set.insert("@noise", tag);
            return self.look().await;
        }
        self.say(&format!("SET @noise = CONCAT('{tag}', ' of ', 'two')")).await?;
        self.set.insert("@noise", format!("{tag} of two"));
        self.look().await?;
        self.reset().await
    }

    async fn prepared(&mut self) -> Result<(), Trouble> {
        const SQL: &str = "SELECT ?, @noise";
        let tag = self.tag();
        let full = self.statements.len() >= STATEMENTS_MAX;
        if self.statements.is_empty() || (!full && self.dice().chance(40)) {
            self.pause().await;
            let statement = self.client.prepare(SQL).await?;
            self.statements.push(statement);
        }
        let count = self.statements.len();
        let at = self.dice().below(count);
        self.pause().await;
        let result = self.client.execute(&self.statements[at], &[tag.as_str().into()]).await?;
        self.has(SQL, &result, &tag)?;
        if let Some(value) = self.set.get("@noise") {
            self.has(SQL, &result, value)?;
        }
        if full {
            let statement = self.statements.swap_remove(at);
            self.client.close(statement).await?;
        }
        Ok(())
    }

    /// Whether the only row has this text in it.
    fn has(&self, sql: &str, result: &QueryResult, text: &str) -> Result<(), Trouble> {
        let is_there = |row: &Vec<u8>| row.windows(text.len()).any(|part| part == text.as_bytes());
        let is_right = result.rows.len() == 1 && result.rows.iter().all(is_there);
        self.check(sql, is_right, || {
            let rows: Vec<_> = result.rows.iter().map(|row| String::from_utf8_lossy(row)).collect();
            format!("{rows:?}, where {text:?} is missing")
        })
    }

    async fn temporary_table(&mut self) -> Result<(), Trouble> {
        let tag = self.tag();
        self.say("CREATE TEMPORARY TABLE mtr.noise_temporary (tag VARCHAR(60)) ENGINE = MyISAM").await?;
        self.say(&format!("INSERT INTO mtr.noise_temporary VALUES ('{tag}')")).await?;
        self.ask("SELECT tag FROM mtr.noise_temporary", &[&tag]).await?;
        self.say("DROP TEMPORARY TABLE mtr.noise_temporary").await?;
        Ok(())
    }

    async fn transaction(&mut self) -> Result<(), Trouble> {
        let (tag, number) = (self.tag(), self.number());
        self.say("BEGIN").await?;
        self.say(&format!("INSERT INTO mtr.noise (client, tag) VALUES ({number}, '{tag}')")).await?;
        self.ask(&format!("SELECT tag FROM mtr.noise WHERE client = {number} AND tag = '{tag}'"), &[&tag])
            .await?;
        let stays = self.dice().chance(50);
        self.say(if stays { "COMMIT" } else { "ROLLBACK" }).await?;
        let count = if stays { "1" } else { "0" };
        self.ask(
            &format!("SELECT COUNT(*) FROM mtr.noise WHERE client = {number} AND tag = '{tag}'"),
            &[count],
        )
        .await?;
        self.say(&format!("DELETE FROM mtr.noise WHERE client = {number}")).await?;
        Ok(())
    }

    /// What a statement leaves to be asked for.
    async fn results(&mut self) -> Result<(), Trouble> {
        let (tag, number) = (self.tag(), self.number());
        let insert =
            format!("INSERT INTO mtr.noise (client, tag) VALUES ({number}, '{tag}'), ({number}, '')");
        let inserted = self.say(&insert).await?;
        let id = inserted.last_insert_id.to_string();
        self.ask("SELECT ROW_COUNT(), LAST_INSERT_ID()", &["2", &id]).await?;
        self.ask("SELECT LAST_INSERT_ID()", &[&id]).await?;
        self.ask(&format!("SELECT tag FROM mtr.noise WHERE id = {id}"), &[&tag]).await?;
        self.ask("SELECT FOUND_ROWS()", &["1"]).await?;
        self.say(&format!("DELETE FROM mtr.noise WHERE client = {number}")).await?;
        Ok(())
    }

    /// Two statements in one text.
    async fn several(&mut self) -> Result<(), Trouble> {
        let tags = [self.tag(), self.tag()];
        let sql = format!("SELECT '{}'; SELECT '{}'", tags[0], tags[1]);
        self.pause().await;
        let results = self.client.query_all(&sql).await?;
        let got: Vec<Option<String>> = results.iter().map(QueryResult::first).collect();
        self.check(&sql, got == tags.map(Some), || format!("{got:?}"))
    }

    /// An error that names the client, and what `SHOW WARNINGS` says of it.
    async fn error(&mut self) -> Result<(), Trouble> {
        let table = format!("mtr.no_such_{}", self.tag().replace([' ', '-'], "_"));
        let sql = format!("SELECT * FROM {table}");
        self.pause().await;
        let error = match self.client.query(&sql).await {
            Err(ClientError::Server(error)) if error.code == NO_SUCH_TABLE => error.message,
            Err(error) => return Err(error.into()),
            Ok(_) => return self.check(&sql, false, || "no error".to_owned()),
        };
        self.check(&sql, error.contains(&table), || error.clone())?;
        self.ask("SHOW WARNINGS", &["Error", "1146", &error]).await
    }

    async fn lock(&mut self) -> Result<(), Trouble> {
        let (tag, number) = (self.tag(), self.number());
        self.ask(&format!("SELECT '{tag}', GET_LOCK('noise {number}', 0)"), &[&tag, "1"]).await?;
        self.ask(&format!("SELECT '{tag}', RELEASE_LOCK('noise {number}')"), &[&tag, "1"]).await
    }

    /// Everything but the schema is as after a login.
    async fn reset(&mut self) -> Result<(), Trouble> {
        self.pause().await;
        self.client.reset_connection().await?;
        self.set.clear();
        self.statements.clear();
        Ok(())
    }
}
