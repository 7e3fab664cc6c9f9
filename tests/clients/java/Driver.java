import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.List;
import java.util.Properties;

/** How the two drivers are told the same things, and where they connect. */
final class Driver {
    static final String HOST = System.getenv("PM_HOST");
    static final String PORT = System.getenv("PM_PORT");
    static final String USER = System.getenv("PM_USER");
    static final String PASSWORD = System.getenv("PM_PASSWORD");
    static final String DATABASE = System.getenv("PM_DATABASE");
    static final boolean MARIADB_SERVER = "mariadb".equals(System.getenv("PM_SERVER"));
    static final List<String> LOGINS = List.of(System.getenv("PM_LOGINS").split(","));
    static final String LOGIN_PASSWORD = System.getenv("PM_LOGIN_PASSWORD");
    static final String CA = System.getenv("PM_CA");
    static final boolean FULL = !"quick".equals(System.getenv("PM_SIZE"));

    /** Whether it is MariaDB's own driver. */
    final boolean mariadb;

    Driver(String name) {
        mariadb = name.equals("mariadb-java");
    }

    /** A connection as the account of everything else; pairs of option names and values. */
    Connection connect(String... options) throws SQLException {
        return connectAs(USER, PASSWORD, DATABASE, options);
    }

    /** A connection without TLS unless the options ask for it. */
    Connection connectAs(String user, String password, String database, String... options) throws SQLException {
        var properties = new Properties();
        properties.setProperty("user", user);
        properties.setProperty("password", password);
        properties.setProperty("sslMode", mariadb ? "disable" : "DISABLED");
        properties.setProperty("allowPublicKeyRetrieval", "true");
        properties.setProperty("connectTimeout", "20000");
        for (int i = 0; i < options.length; i += 2) {
            properties.setProperty(options[i], options[i + 1]);
        }
        String scheme = mariadb ? "jdbc:mariadb://" : "jdbc:mysql://";
        return DriverManager.getConnection(scheme + HOST + ":" + PORT + "/" + database, properties);
    }

    /** Options for TLS: "no" verification, "ca", "identity", or "untrusted". */
    String[] tls(String verify) {
        if (mariadb) {
            return switch (verify) {
                case "no" -> new String[] {"sslMode", "trust"};
                case "untrusted" -> new String[] {"sslMode", "verify-ca", "fallbackToSystemTrustStore", "true"};
                default -> new String[] {"sslMode", "verify-" + verify.replace("identity", "full"), "serverSslCert", CA};
            };
        }
        return switch (verify) {
            case "no" -> new String[] {"sslMode", "REQUIRED"};
            case "untrusted" -> new String[] {"sslMode", "VERIFY_CA"};
            default -> new String[] {
                "sslMode", "VERIFY_" + verify.toUpperCase(), "trustCertificateKeyStoreUrl", "file:" + TrustStore.path(),
                "trustCertificateKeyStorePassword", TrustStore.PASSWORD
            };
        };
    }
}
