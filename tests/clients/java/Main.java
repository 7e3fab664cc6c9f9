import java.util.LinkedHashMap;

/** Runs the checks of the client matrix with a JDBC driver; tests/clients/README.md has the environment. */
final class Main {
    private Main() {}

    public static void main(String[] arguments) throws Exception {
        var driver = new Driver(arguments[0]);
        var checks = new LinkedHashMap<String, Report.Check>();
        new Logins(driver).addTo(checks);
        new Values(driver).addTo(checks);
        new Results(driver).addTo(checks);
        new Sessions(driver).addTo(checks);
        System.exit(Report.runAll(checks));
    }
}
