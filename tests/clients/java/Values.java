import java.io.ByteArrayInputStream;
import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.HexFormat;
import java.util.Map;

/** Values there and back. */
final class Values extends Checks {
    private static final String COLUMNS = """
        i8 TINYINT, u8 TINYINT UNSIGNED, i16 SMALLINT, i24 MEDIUMINT, i32 INT, u32 INT UNSIGNED, i64 BIGINT,
        u64 BIGINT UNSIGNED, f DOUBLE, f4 FLOAT, d DECIMAL(30,10), s VARCHAR(100), b VARBINARY(100), da DATE, dt DATETIME(6),
        e ENUM('a','b'), se SET('x','y')""";
    private static final Object[] ROW = {
        -128, 255, -32768, -8388608, -2147483648, 4294967295L, Long.MIN_VALUE, new BigDecimal("18446744073709551615"), 1.5e300,
        0.25f, new BigDecimal("12345678901234567890.0123456789"), "h\u00e9 \ud83d\ude00 '\\\"", new byte[] {0, -1, 0x27, 0x5c},
        LocalDate.of(2024, 2, 29), LocalDateTime.of(2024, 2, 29, 1, 2, 3), "b", "x,y"
    };

    Values(Driver driver) {
        super(driver);
    }

    /** The option for prepared statements of the server, which Connector/J makes only when told to. */
    private static String[] prepared(boolean yes) {
        return new String[] {"useServerPrepStmts", String.valueOf(yes)};
    }

    void addTo(Map<String, Report.Check> checks) {
        checks.put("text_types", () -> types("text_types", prepared(false)));
        checks.put("prepared_types", () -> types("prepared_types", prepared(true)));
        checks.put("text_sizes", () -> sizes(prepared(false)));
        checks.put("prepared_sizes", () -> sizes(prepared(true)));
        checks.put("prepared_long_data", this::longData);
        checks.put("prepared_many", this::preparedMany);
        checks.put("prepared_error", this::preparedError);
        checks.put("prepared_cursor", this::cursor);
        checks.put("batch", () -> batch());
        checks.put("batch_rewritten", () -> batch("rewriteBatchedStatements", "true"));
        checks.put("batch_prepared", () -> batch(prepared(true)));
        checks.put("batch_bulk", () -> {
            if (!driver.mariadb) {
                throw new Report.Skip("only MariaDB's driver has bulk execution");
            }
            batch("useBulkStmts", "true", "useServerPrepStmts", "true");
        });
        if (!driver.mariadb) {
            checks.put("charset_gbk", this::gbk);
        }
        checks.put("query_attributes", this::attributes);
    }

    private void types(String table, String... options) throws Exception {
        if (driver.mariadb && !Driver.MARIADB_SERVER && options[1].equals("true")) {
            throw new Report.Skip("MySQL takes what the driver sends for malformed");
        }
        try (Connection connection = driver.connect(options)) {
            table(connection, table, COLUMNS);
            String marks = "?" + ",?".repeat(ROW.length - 1);
            for (boolean nulls : new boolean[] {false, true}) {
                try (PreparedStatement insert = connection.prepareStatement("INSERT INTO " + table + " VALUES (" + marks + ")")) {
                    for (int i = 0; i < ROW.length; i++) {
                        insert.setObject(i + 1, nulls ? null : ROW[i]);
                    }
                    insert.execute();
                }
            }
            try (PreparedStatement select = connection.prepareStatement("SELECT * FROM " + table + " WHERE ? = 1 ORDER BY i8 IS NULL")) {
                select.setInt(1, 1);
                ResultSet rows = select.executeQuery();
                rows.next();
                for (int i = 0; i < ROW.length; i++) {
                    Report.equal(shown(rows, i), ROW[i] instanceof byte[] bytes ? HexFormat.of().formatHex(bytes) : ROW[i]);
                }
                rows.next();
                for (int i = 0; i < ROW.length; i++) {
                    Report.equal(rows.getObject(i + 1), null);
                }
            }
        }
    }

    private static Object shown(ResultSet rows, int i) throws Exception {
        return ROW[i] instanceof byte[] ? HexFormat.of().formatHex(rows.getBytes(i + 1)) : rows.getObject(i + 1, ROW[i].getClass());
    }

    /** A stream goes in pieces, by COM_STMT_SEND_LONG_DATA. */
    private void longData() throws Exception {
        try (Connection connection = driver.connect(prepared(true))) {
            table(connection, "long_data", "b LONGBLOB");
            byte[] data = new byte[3_000_000];
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO long_data VALUES (?)")) {
                insert.setBinaryStream(1, new ByteArrayInputStream(data));
                insert.execute();
            }
            Report.equal(value(connection, "SELECT LENGTH(b) FROM long_data"), String.valueOf(data.length));
        }
    }

    private void preparedMany() throws Exception {
        try (Connection connection = driver.connect(prepared(true))) {
            var statements = new PreparedStatement[20];
            for (int n = 0; n < statements.length; n++) {
                statements[n] = connection.prepareStatement("SELECT ? + " + n);
            }
            for (int turn = 0; turn < 3; turn++) {
                for (int n = 0; n < statements.length; n++) {
                    statements[n].setInt(1, turn);
                    ResultSet rows = statements[n].executeQuery();
                    rows.next();
                    Report.equal(rows.getInt(1), turn + n);
                }
            }
        }
    }

    private void preparedError() throws Exception {
        try (Connection connection = driver.connect(prepared(true))) {
            fails(1146, "42S02", () -> {
                PreparedStatement select = connection.prepareStatement("SELECT * FROM no_such_table WHERE a = ?");
                select.setInt(1, 1);
                select.executeQuery();
            });
            Report.equal(value(connection, "SELECT 1"), "1");
        }
    }

    /** Rows fetched some at a time, by COM_STMT_FETCH. */
    private void cursor() throws Exception {
        if (driver.mariadb) {
            throw new Report.Skip("the driver has no cursors of the server");
        }
        try (Connection connection = driver.connect("useServerPrepStmts", "true", "useCursorFetch", "true")) {
            try (PreparedStatement select = connection.prepareStatement("SELECT t0.d FROM " + digits(4))) {
                select.setFetchSize(100);
                ResultSet rows = select.executeQuery();
                int seen = 0;
                while (rows.next()) {
                    seen++;
                }
                Report.equal(seen, 10_000);
            }
        }
    }

    private void batch(String... options) throws Exception {
        try (Connection connection = driver.connect(options)) {
            table(connection, "batch", "id INT PRIMARY KEY, name VARCHAR(40)");
            connection.setAutoCommit(false);
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO batch VALUES (?, ?)")) {
                for (int n = 0; n < 5000; n++) {
                    insert.setInt(1, n);
                    insert.setString(2, n % 7 == 0 ? null : "name " + n);
                    insert.addBatch();
                }
                Report.equal(insert.executeBatch().length, 5000);
            }
            connection.commit();
            Report.equal(value(connection, "SELECT SUM(id) FROM batch"), "12497500");
        }
    }

    private void gbk() throws Exception {
        try (Connection connection = driver.connect("characterEncoding", "GBK")) {
            table(connection, "charset_gbk", "t VARCHAR(100)");
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO charset_gbk VALUES (?)")) {
                // The second bytes of both are 0x5c, a backslash, and a quote follows.
                insert.setString(1, "\u8aa0'\u7ac6");
                insert.execute();
            }
            Report.equal(value(connection, "SELECT HEX(t) FROM charset_gbk"), "E8AAA027E7AB86");
            Report.equal(value(connection, "SELECT t FROM charset_gbk"), "\u8aa0'\u7ac6");
            Report.equal(value(connection, "SELECT @@character_set_client"), "gbk");
        }
    }

    private void attributes() throws Exception {
        if (driver.mariadb || Driver.MARIADB_SERVER) {
            throw new Report.Skip("MariaDB has no query attributes");
        }
        for (boolean prepared : new boolean[] {false, true}) {
            String sql = "SELECT mysql_query_attribute_string('colour')";
            try (Connection connection = driver.connect(prepared(prepared)); PreparedStatement statement = connection.prepareStatement(sql)) {
                ((com.mysql.cj.jdbc.JdbcStatement) statement).setAttribute("colour", "blue");
                ResultSet rows = statement.executeQuery();
                rows.next();
                Report.equal(rows.getString(1), "blue");
            }
        }
    }
}
