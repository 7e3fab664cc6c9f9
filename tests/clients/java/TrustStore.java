import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;

/** The certificate authority as a file that Java reads. */
final class TrustStore {
    static final String PASSWORD = "changeit";
    private static Path file;

    private TrustStore() {}

    static synchronized Path path() {
        if (file == null) {
            try (var pem = new FileInputStream(Driver.CA)) {
                var store = KeyStore.getInstance("PKCS12");
                store.load(null, null);
                store.setCertificateEntry("ca", CertificateFactory.getInstance("X.509").generateCertificate(pem));
                file = Files.createTempFile("trust", ".p12");
                file.toFile().deleteOnExit();
                try (var out = new FileOutputStream(file.toFile())) {
                    store.store(out, PASSWORD.toCharArray());
                }
            } catch (Exception error) {
                throw new IllegalStateException(error);
            }
        }
        return file;
    }
}
