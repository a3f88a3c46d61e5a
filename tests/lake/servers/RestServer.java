import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.rest.RESTCatalogAdapter;
import org.apache.iceberg.rest.RESTCatalogServlet;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

/** Iceberg's own REST servlet over another catalog. Iceberg's server listens on every interface; this one on one. */
public class RestServer {
    public static void main(String[] arguments) throws Exception {
        Map<String, String> settings = new HashMap<>();
        for (int index = 2; index < arguments.length; index++) {
            String[] parts = arguments[index].split("=", 2);
            settings.put(parts[0], parts[1]);
        }
        Catalog catalog = CatalogUtil.buildIcebergCatalog("backend", settings, new Configuration());
        ServletContextHandler handler = new ServletContextHandler();
        handler.addServlet(new ServletHolder(new RESTCatalogServlet(new RESTCatalogAdapter(catalog))), "/*");
        Server server = new Server();
        ServerConnector connector = new ServerConnector(server);
        connector.setHost(arguments[0]);
        connector.setPort(Integer.parseInt(arguments[1]));
        server.addConnector(connector);
        server.setHandler(handler);
        server.start();
        server.join();
    }
}
