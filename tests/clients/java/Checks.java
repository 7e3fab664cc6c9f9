import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Arrays;
import java.util.Random;

/** What checks of all subjects do. */
abstract class Checks {
    final Driver driver;

    Checks(Driver driver) {
        this.driver = driver;
    }

    /** The first column of the first row as text. */
    static String value(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(sql)) {
            return rows.next() ? rows.getString(1) : "no row";
        }
    }

    static void run(Connection connection, String... statements) throws SQLException {
        for (String sql : statements) {
            try (Statement statement = connection.createStatement()) {
                statement.execute(sql);
            }
        }
    }

    static void table(Connection connection, String name, String columns) throws SQLException {
        run(connection, "DROP TABLE IF EXISTS " + name, "CREATE TABLE " + name + " (" + columns + ") CHARACTER SET utf8mb4");
    }

    static void fails(int code, String state, Report.Check action) throws Exception {
        try {
            action.run();
        } catch (SQLException error) {
            Report.equal(error.getErrorCode() + " " + error.getSQLState(), code + " " + state);
            return;
        }
        throw new AssertionError("no error " + code);
    }

    /** A cross join with ten to the power of so many rows. */
    static String digits(int tables) {
        var ten = new StringBuilder("SELECT 0 AS d");
        for (int n = 1; n < 10; n++) {
            ten.append(" UNION ALL SELECT ").append(n);
        }
        var all = new StringBuilder();
        for (int n = 0; n < tables; n++) {
            all.append(n == 0 ? "" : ", ").append("(").append(ten).append(") t").append(n);
        }
        return all.toString();
    }

    /** Blobs go there and come back. */
    void sizes(String... options) throws Exception {
        int[] sizes = Driver.FULL
            ? new int[] {0, 1, 1 << 14, (1 << 24) - 1, 1 << 24, (1 << 24) + 1}
            : new int[] {0, 1, 1 << 14, 1 << 20};
        try (Connection connection = driver.connect(options)) {
            table(connection, "sizes", "id INT PRIMARY KEY, b LONGBLOB");
            var random = new Random(1);
            for (int id = 0; id < sizes.length; id++) {
                // Repeats after a while: quick to compress, and a piece that is lost or doubled shows.
                byte[] pattern = new byte[4099];
                random.nextBytes(pattern);
                byte[] data = new byte[sizes[id]];
                for (int i = 0; i < data.length; i++) {
                    data[i] = pattern[i % pattern.length];
                }
                try (PreparedStatement insert = connection.prepareStatement("INSERT INTO sizes VALUES (?, ?)");
                     PreparedStatement select = connection.prepareStatement("SELECT b FROM sizes WHERE id = ?")) {
                    insert.setInt(1, id);
                    insert.setBytes(2, data);
                    insert.execute();
                    select.setInt(1, id);
                    try (ResultSet rows = select.executeQuery()) {
                        rows.next();
                        if (!Arrays.equals(rows.getBytes(1), data)) {
                            throw new AssertionError(data.length + " bytes came back changed");
                        }
                    }
                }
            }
        }
    }
}
