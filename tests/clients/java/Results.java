import java.io.ByteArrayInputStream;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.Statement;
import java.sql.Types;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Results large and several, and files. */
final class Results extends Checks {
    Results(Driver driver) {
        super(driver);
    }

    void addTo(Map<String, Report.Check> checks) {
        checks.put("big_rows", this::bigRows);
        checks.put("multi_statements", this::multi);
        checks.put("multi_error", () -> fails(1146, "42S02", () -> {
            try (Connection connection = driver.connect("allowMultiQueries", "true")) {
                results(connection, "SELECT 1; SELECT * FROM no_such_table; SELECT 2");
            }
        }));
        checks.put("procedure_results", this::procedureResults);
        checks.put("procedure_out", this::procedureOut);
        checks.put("generated_keys", this::generatedKeys);
        checks.put("load_local", this::loadLocal);
    }

    private void bigRows() throws Exception {
        int count = Driver.FULL ? 200_000 : 20_000;
        try (Connection connection = driver.connect();
             Statement statement = connection.createStatement(ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_READ_ONLY)) {
            // A row at a time instead of all in memory: each driver has its own way to be told.
            statement.setFetchSize(driver.mariadb ? 100 : Integer.MIN_VALUE);
            ResultSet rows = statement.executeQuery("SELECT t0.d + 10*t1.d, REPEAT('x', 500) FROM " + digits(5)
                + ", (SELECT 0 UNION ALL SELECT 1) u LIMIT " + count);
            long seen = 0;
            long bytes = 0;
            while (rows.next()) {
                seen++;
                bytes += rows.getString(2).length();
            }
            Report.equal(List.of(seen, bytes), List.of((long) count, count * 500L));
            Report.equal(value(connection, "SELECT 1"), "1");
        }
    }

    /** The first columns of all results. */
    private static List<List<Integer>> results(Connection connection, String sql) throws Exception {
        var all = new ArrayList<List<Integer>>();
        try (Statement statement = connection.createStatement()) {
            boolean hasRows = statement.execute(sql);
            while (hasRows || statement.getUpdateCount() != -1) {
                if (hasRows) {
                    var one = new ArrayList<Integer>();
                    ResultSet rows = statement.getResultSet();
                    while (rows.next()) {
                        one.add(rows.getInt(1));
                    }
                    all.add(one);
                }
                hasRows = statement.getMoreResults();
            }
        }
        return all;
    }

    private void multi() throws Exception {
        try (Connection connection = driver.connect("allowMultiQueries", "true")) {
            var got = results(connection, "SELECT 1; SELECT 2; DO 0; SELECT 3 UNION SELECT 4");
            Report.equal(got, List.of(List.of(1), List.of(2), List.of(3, 4)));
        }
        fails(1064, "42000", () -> results(driver.connect(), "SELECT 1; SELECT 2"));
    }

    private void procedureResults() throws Exception {
        try (Connection connection = driver.connect()) {
            run(connection, "DROP PROCEDURE IF EXISTS two_results",
                "CREATE PROCEDURE two_results() BEGIN SELECT 1; SELECT 2 UNION SELECT 3; END");
            Report.equal(results(connection, "CALL two_results()"), List.of(List.of(1), List.of(2, 3)));
        }
    }

    private void procedureOut() throws Exception {
        for (String prepared : new String[] {"false", "true"}) {
            try (Connection connection = driver.connect("useServerPrepStmts", prepared)) {
                run(connection, "DROP PROCEDURE IF EXISTS double_it",
                    "CREATE PROCEDURE double_it(IN a INT, OUT b INT) SET b = a * 2");
                try (CallableStatement call = connection.prepareCall("{call double_it(?, ?)}")) {
                    call.setInt(1, 21);
                    call.registerOutParameter(2, Types.INTEGER);
                    call.execute();
                    Report.equal(call.getInt(2), 42);
                }
            }
        }
    }

    private void generatedKeys() throws Exception {
        try (Connection connection = driver.connect(); Statement statement = connection.createStatement()) {
            table(connection, "counts", "id INT AUTO_INCREMENT PRIMARY KEY, v INT");
            int inserted = statement.executeUpdate("INSERT INTO counts (v) VALUES (1), (1)", Statement.RETURN_GENERATED_KEYS);
            ResultSet keys = statement.getGeneratedKeys();
            keys.next();
            int found = statement.executeUpdate("UPDATE counts SET v = 1");
            Report.equal(List.of(inserted, found), List.of(2, 2));
        }
    }

    private void loadLocal() throws Exception {
        var lines = new StringBuilder();
        for (int n = 0; n < 50_000; n++) {
            lines.append(n).append("\tname ").append(n).append("\n");
        }
        try (Connection connection = driver.connect("allowLoadLocalInfile", "true", "allowLocalInfile", "true");
             Statement statement = connection.createStatement()) {
            table(connection, "loaded", "id INT PRIMARY KEY, name VARCHAR(40)");
            var stream = new ByteArrayInputStream(lines.toString().getBytes("UTF-8"));
            if (driver.mariadb) {
                statement.unwrap(org.mariadb.jdbc.Statement.class).setLocalInfileInputStream(stream);
            } else {
                statement.unwrap(com.mysql.cj.jdbc.JdbcStatement.class).setLocalInfileInputStream(stream);
            }
            statement.execute("LOAD DATA LOCAL INFILE 'lines' INTO TABLE loaded");
            Report.equal(value(connection, "SELECT COUNT(*) FROM loaded"), "50000");
        }
    }
}
