import java.sql.Connection;
import java.sql.SQLException;
import java.util.Map;

/** Who gets in, how, and with what over the connection. */
final class Logins extends Checks {
    Logins(Driver driver) {
        super(driver);
    }

    void addTo(Map<String, Report.Check> checks) {
        for (String method : Driver.LOGINS) {
            checks.put("login_" + method, () -> logIn(method));
        }
        for (String method : Driver.LOGINS) {
            checks.put("tls_login_" + method, () -> logIn(method, driver.tls("no")));
        }
        checks.put("login_caching_sha2_full_then_fast", this::fullThenFast);
        checks.put("login_wrong_password", () -> fails(1045, "28000", () -> driver.connectAs(Driver.USER, "wrong", Driver.DATABASE)));
        checks.put("login_unknown_user", () -> {
            // Servers ask a user that they do not have for any method, perhaps one that the driver has not.
            try (Connection connection = driver.connectAs("nobody_here", "x", Driver.DATABASE)) {
                throw new AssertionError("nobody_here got in");
            } catch (SQLException expected) {
                Report.equal(expected.getErrorCode() == 1045 || driver.mariadb && expected.getErrorCode() == 1251, true);
            }
        });
        checks.put("login_unknown_schema",
            () -> fails(1049, "42000", () -> value(driver.connectAs(Driver.USER, Driver.PASSWORD, "no_such_schema"), "SELECT 1")));
        checks.put("login_without_schema",
            () -> Report.equal(value(driver.connectAs(Driver.USER, Driver.PASSWORD, ""), "SELECT DATABASE()"), null));
        for (String verify : new String[] {"no", "ca", "identity"}) {
            checks.put("tls_verify_" + verify, () -> {
                try (Connection connection = driver.connect(driver.tls(verify))) {
                    Report.equal(value(connection, "SELECT 'x'"), "x");
                }
            });
        }
        checks.put("tls_untrusted", () -> {
            try (Connection connection = driver.connect(driver.tls("untrusted"))) {
                throw new AssertionError("connected although the CA is another one");
            } catch (SQLException expected) {
                // Every driver has its own words for it.
            }
        });
        checks.put("tls_sizes", () -> sizes(driver.tls("no")));
        checks.put("compress_sizes", () -> sizes("useCompression", "true"));
        checks.put("compress_tls_sizes", () -> {
            String[] tls = driver.tls("no");
            sizes("useCompression", "true", tls[0], tls[1]);
        });
    }

    private void logIn(String method, String... options) throws Exception {
        if (method.equals("ed25519") && !driver.mariadb) {
            throw new Report.Skip("the driver has no client_ed25519");
        }
        if (method.equals("sha256") && driver.mariadb) {
            throw new Report.Skip("the driver has no sha256_password");
        }
        String password = method.equals("empty") ? "" : Driver.LOGIN_PASSWORD;
        try (Connection connection = driver.connectAs("m_" + method, password, Driver.DATABASE, options)) {
            Report.equal(value(connection, "SELECT SUBSTRING_INDEX(USER(), '@', 1)"), "m_" + method);
        }
    }

    private void fullThenFast() throws Exception {
        if (!Driver.LOGINS.contains("caching_sha2")) {
            throw new Report.Skip("the server has no caching_sha2_password");
        }
        try (Connection connection = driver.connect()) {
            run(connection, "FLUSH PRIVILEGES");
        }
        logIn("caching_sha2");
        logIn("caching_sha2");
        driver.connect().close();
    }
}
