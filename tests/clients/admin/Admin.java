import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** A JDBC driver at the admin port: sets something, loads it, reads it back. Arguments: what its addresses begin with, port. */
public final class Admin {
    public static void main(String[] arguments) throws SQLException {
        String url = arguments[0] + "://127.0.0.1:" + arguments[1] + "/main?sslMode=DISABLED";
        try (Connection connection = DriverManager.getConnection(url, "admin", "admin")) {
            try (PreparedStatement insert =
                    connection.prepareStatement("INSERT INTO mysql_users (username, password, comment) VALUES (?, ?, ?)")) {
                insert.setString(1, "driver");
                insert.setString(2, null);
                insert.setString(3, "it's");
                insert.executeUpdate();
            }
            try (Statement statement = connection.createStatement()) {
                statement.execute("LOAD MYSQL USERS TO RUNTIME");
                String user = cell(statement,
                        "SELECT username || ' ' || comment FROM runtime_mysql_users WHERE frontend=1 AND username='driver'");
                statement.execute("SET mysql-max_connections=321");
                statement.execute("LOAD MYSQL VARIABLES TO RUNTIME");
                System.out.println(user + " " + cell(statement, "SELECT variable_value FROM runtime_global_variables"
                        + " WHERE variable_name='mysql-max_connections'"));
                connection.setAutoCommit(false);
                cell(statement, "SELECT 1");
                connection.commit();
                connection.setAutoCommit(true);
                try {
                    statement.execute("LOAD NOTHING TO RUNTIME");
                } catch (SQLException error) {
                    System.out.println(error.getErrorCode());
                }
            }
            if (!connection.isValid(5)) {
                throw new SQLException("the connection is not valid");
            }
        }
    }

    private static String cell(Statement statement, String sql) throws SQLException {
        try (ResultSet rows = statement.executeQuery(sql)) {
            rows.next();
            return rows.getString(1);
        }
    }
}
