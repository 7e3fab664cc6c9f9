import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.sql.Statement;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** Transactions, errors, and statements that are ended. */
final class Sessions extends Checks {
    private static final String RUNNING = "SELECT COUNT(*) FROM information_schema.processlist "
        + "WHERE info LIKE '%SELECT COUNT(*) AS endless%' AND id <> CONNECTION_ID() AND db = DATABASE()";
    private static final long WAIT_MS_MAX = 30_000;

    Sessions(Driver driver) {
        super(driver);
    }

    void addTo(Map<String, Report.Check> checks) {
        checks.put("tx_commit_and_rollback", this::commitAndRollback);
        checks.put("tx_isolation", this::isolation);
        checks.put("tx_read_only", this::readOnly);
        checks.put("errors", this::errors);
        checks.put("warnings", this::warnings);
        checks.put("schema", this::schema);
        checks.put("is_valid", () -> Report.equal(driver.connect().isValid(10), true));
        checks.put("reset_connection", this::reset);
        checks.put("change_user", this::changeUser);
        checks.put("query_timeout", this::queryTimeout);
        checks.put("query_timeout_prepared", this::queryTimeoutPrepared);
        checks.put("cancel", this::cancel);
        checks.put("kill_query", this::killQuery);
        checks.put("kill_connection_idle", this::killConnection);
        checks.put("kill_unknown", () -> fails(1094, "HY000", () -> run(driver.connect(), "KILL 4123456789")));
    }

    private void commitAndRollback() throws Exception {
        try (Connection connection = driver.connect(); Connection other = driver.connect()) {
            table(connection, "tx", "id INT PRIMARY KEY");
            connection.setAutoCommit(false);
            run(connection, "INSERT INTO tx VALUES (1)");
            Report.equal(value(other, "SELECT COUNT(*) FROM tx"), "0");
            connection.commit();
            Report.equal(value(other, "SELECT COUNT(*) FROM tx"), "1");
            run(connection, "INSERT INTO tx VALUES (2)");
            var savepoint = connection.setSavepoint("here");
            run(connection, "INSERT INTO tx VALUES (3)");
            connection.rollback(savepoint);
            Report.equal(value(connection, "SELECT COUNT(*) FROM tx"), "2");
            connection.rollback();
            Report.equal(value(connection, "SELECT COUNT(*) FROM tx"), "1");
        }
    }

    private void isolation() throws Exception {
        try (Connection connection = driver.connect(); Connection other = driver.connect()) {
            table(connection, "isolation", "id INT PRIMARY KEY");
            connection.setAutoCommit(false);
            connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
            Report.equal(value(connection, "SELECT COUNT(*) FROM isolation"), "0");
            run(other, "INSERT INTO isolation VALUES (1)");
            Report.equal(value(connection, "SELECT COUNT(*) FROM isolation"), "1");
            connection.rollback();
            connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
            Report.equal(value(connection, "SELECT COUNT(*) FROM isolation"), "1");
            run(other, "INSERT INTO isolation VALUES (2)");
            Report.equal(value(connection, "SELECT COUNT(*) FROM isolation"), "1");
        }
    }

    private void readOnly() throws Exception {
        try (Connection connection = driver.connect()) {
            table(connection, "read_only_table", "id INT PRIMARY KEY");
            run(connection, "START TRANSACTION READ ONLY");
            fails(1792, "25006", () -> run(connection, "INSERT INTO read_only_table VALUES (1)"));
        }
    }

    private void errors() throws Exception {
        try (Connection connection = driver.connect()) {
            table(connection, "errors", "id INT PRIMARY KEY");
            run(connection, "INSERT INTO errors VALUES (1)");
            fails(1064, "42000", () -> run(connection, "SELEC 1"));
            fails(1146, "42S02", () -> run(connection, "SELECT * FROM no_such_table"));
            fails(1062, "23000", () -> run(connection, "INSERT INTO errors VALUES (1)"));
            fails(1644, "45000", () -> run(connection, "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'mine'"));
            Report.equal(value(connection, "SELECT 1"), "1");
        }
    }

    private void warnings() throws Exception {
        try (Connection connection = driver.connect(); Statement statement = connection.createStatement()) {
            ResultSet rows = statement.executeQuery("SELECT 1/0");
            rows.next();
            SQLWarning warning = statement.getWarnings();
            Report.equal(warning == null ? 0 : warning.getErrorCode(), 1365);
        }
    }

    private void schema() throws Exception {
        try (Connection connection = driver.connect()) {
            connection.setCatalog("information_schema");
            Report.equal(value(connection, "SELECT DATABASE()"), "information_schema");
        }
    }

    private void reset() throws Exception {
        try (Connection connection = driver.connect()) {
            run(connection, "SET @a = 5");
            if (driver.mariadb) {
                throw new Report.Skip("the driver resets only in its pool");
            }
            ((com.mysql.cj.jdbc.JdbcConnection) connection).resetServerState();
            Report.equal(value(connection, "SELECT @a"), null);
        }
    }

    private void changeUser() throws Exception {
        if (driver.mariadb) {
            throw new Report.Skip("the driver cannot change the user");
        }
        for (String method : Driver.LOGINS) {
            if (method.equals("ed25519")) {
                continue;
            }
            try (Connection connection = driver.connect()) {
                run(connection, "SET @a = 5");
                String password = method.equals("empty") ? "" : Driver.LOGIN_PASSWORD;
                ((com.mysql.cj.jdbc.JdbcConnection) connection).changeUser("m_" + method, password);
                Report.equal(value(connection, "SELECT CONCAT(COALESCE(@a, 'none'), SUBSTRING_INDEX(USER(), '@', 1))"), "nonem_" + method);
            }
        }
    }

    private static String endless() {
        return "SELECT COUNT(*) AS endless FROM " + digits(14);
    }

    private static void untilRunning(Connection other, String count) throws Exception {
        long deadline = System.currentTimeMillis() + WAIT_MS_MAX;
        while (!value(other, RUNNING).equals(count)) {
            if (System.currentTimeMillis() > deadline) {
                throw new AssertionError("never " + count + " running statements");
            }
        }
    }

    /** What an action throws; none of these may last. */
    private static CompletableFuture<SQLException> outcome(Report.Check action) {
        var done = new CompletableFuture<SQLException>();
        var thread = new Thread(() -> {
            try {
                action.run();
                done.complete(null);
            } catch (SQLException error) {
                done.complete(error);
            } catch (Exception error) {
                done.completeExceptionally(error);
            }
        });
        thread.setDaemon(true);
        thread.start();
        return done;
    }

    private void queryTimeout() throws Exception {
        try (Connection connection = driver.connect(); Connection other = driver.connect(); Statement statement = connection.createStatement()) {
            statement.setQueryTimeout(1);
            SQLException error = outcome(() -> statement.executeQuery(endless())).get(WAIT_MS_MAX, TimeUnit.MILLISECONDS);
            Report.equal(error instanceof java.sql.SQLTimeoutException, true);
            untilRunning(other, "0");
            Report.equal(value(connection, "SELECT 1"), "1");
        }
    }

    private void queryTimeoutPrepared() throws Exception {
        try (Connection connection = driver.connect("useServerPrepStmts", "true");
             var statement = connection.prepareStatement(endless() + " WHERE ? = 1")) {
            statement.setInt(1, 1);
            statement.setQueryTimeout(1);
            SQLException error = outcome(statement::executeQuery).get(WAIT_MS_MAX, TimeUnit.MILLISECONDS);
            Report.equal(error instanceof java.sql.SQLTimeoutException, true);
            Report.equal(value(connection, "SELECT 1"), "1");
        }
    }

    private void cancel() throws Exception {
        try (Connection connection = driver.connect(); Connection other = driver.connect(); Statement statement = connection.createStatement()) {
            var done = outcome(() -> statement.executeQuery(endless()));
            untilRunning(other, "1");
            statement.cancel();
            SQLException error = done.get(WAIT_MS_MAX, TimeUnit.MILLISECONDS);
            Report.equal(error != null, true);
            Report.equal(value(connection, "SELECT 1"), "1");
        }
    }

    private void killQuery() throws Exception {
        try (Connection connection = driver.connect(); Connection other = driver.connect()) {
            String id = value(connection, "SELECT CONNECTION_ID()");
            var done = outcome(() -> value(connection, endless()));
            untilRunning(other, "1");
            run(other, "KILL QUERY " + id);
            Report.equal(done.get(WAIT_MS_MAX, TimeUnit.MILLISECONDS).getErrorCode(), 1317);
            Report.equal(value(connection, "SELECT 1"), "1");
        }
    }

    private void killConnection() throws Exception {
        Connection connection = driver.connect();
        try (Connection other = driver.connect()) {
            run(other, "KILL " + value(connection, "SELECT CONNECTION_ID()"));
            long deadline = System.currentTimeMillis() + WAIT_MS_MAX;
            while (connection.isValid(5)) {
                if (System.currentTimeMillis() > deadline) {
                    throw new AssertionError("the connection lives on");
                }
            }
        }
    }
}
