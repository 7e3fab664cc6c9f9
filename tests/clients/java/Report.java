import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Runs checks and says what became of them: a line each. */
final class Report {
    /** Longest time of one check: a hang has to be told from a slow machine. */
    private static final long CHECK_SECONDS_MAX = 120;

    interface Check {
        void run() throws Exception;
    }

    /** Thrown by a check that this driver or this server cannot be asked for. */
    static final class Skip extends Exception {
        Skip(String reason) {
            super(reason);
        }
    }

    private Report() {}

    static void equal(Object got, Object expected) {
        if (!Objects.equals(got, expected)) {
            throw new AssertionError(cut("got " + got) + ", " + cut("expected " + expected));
        }
    }

    private static String cut(String text) {
        return text.substring(0, Math.min(text.length(), 150));
    }

    /** The exit code of the program. */
    static int runAll(Map<String, Check> checks) throws InterruptedException {
        int code = 0;
        for (var entry : checks.entrySet()) {
            if (!selected(entry.getKey())) {
                continue;
            }
            String line = outcome(entry.getKey(), entry.getValue());
            code = line.startsWith("FAIL") ? 1 : code;
            System.out.println(line.replaceAll("\\s+", " "));
            System.out.flush();
        }
        return code;
    }

    private static String outcome(String name, Check check) throws InterruptedException {
        var done = new CompletableFuture<Void>();
        var thread = new Thread(() -> {
            try {
                check.run();
                done.complete(null);
            } catch (Throwable error) {
                done.completeExceptionally(error);
            }
        });
        thread.setDaemon(true);
        thread.start();
        try {
            done.get(CHECK_SECONDS_MAX, TimeUnit.SECONDS);
            return "ok " + name;
        } catch (ExecutionException error) {
            if (error.getCause() instanceof Skip skip) {
                return "skip " + name + " " + skip.getMessage();
            }
            if (System.getenv("PM_TRACE") != null) {
                error.getCause().printStackTrace();
            }
            return "FAIL " + name + " " + cut(String.valueOf(error.getCause()));
        } catch (TimeoutException error) {
            return "FAIL " + name + " no end after " + CHECK_SECONDS_MAX + " s";
        }
    }

    /** Whether PM_ONLY, names with perhaps a star at the end, has the check. */
    private static boolean selected(String name) {
        String only = System.getenv("PM_ONLY");
        if (only == null || only.isEmpty()) {
            return true;
        }
        for (String pattern : only.split(",")) {
            if (pattern.equals(name)
                    || pattern.endsWith("*") && name.startsWith(pattern.substring(0, pattern.length() - 1))) {
                return true;
            }
        }
        return false;
    }
}
