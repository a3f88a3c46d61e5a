import java.net.InetSocketAddress;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.metastore.HiveMetaStore;
import org.apache.hadoop.hive.metastore.IHMSHandler;
import org.apache.hadoop.hive.metastore.RetryingHMSHandler;
import org.apache.hadoop.hive.metastore.TSetIpAddressProcessor;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.server.TThreadPoolServer;
import org.apache.thrift.transport.TServerSocket;
import org.apache.thrift.transport.TTransportFactory;

/** A Hive metastore in memory. Hive's own server listens on every interface; this one on one. */
public class HiveServer {
    public static void main(String[] arguments) throws Exception {
        HiveConf conf = new HiveConf();
        conf.set("hive.metastore.warehouse.dir", arguments[2]);
        conf.set("javax.jdo.option.ConnectionURL", "jdbc:derby:memory:metastore;create=true");
        conf.set("javax.jdo.option.ConnectionDriverName", "org.apache.derby.jdbc.EmbeddedDriver");
        conf.set("datanucleus.schema.autoCreateAll", "true");
        conf.set("hive.metastore.schema.verification", "false");
        HiveMetaStore.HMSHandler handler = new HiveMetaStore.HMSHandler("metastore", conf);
        IHMSHandler retrying = RetryingHMSHandler.getProxy(conf, handler, false);
        InetSocketAddress address = new InetSocketAddress(arguments[0], Integer.parseInt(arguments[1]));
        TThreadPoolServer.Args options = new TThreadPoolServer.Args(new TServerSocket(address))
            .processor(new TSetIpAddressProcessor<>(retrying))
            .transportFactory(new TTransportFactory())
            .protocolFactory(new TBinaryProtocol.Factory())
            .maxWorkerThreads(20);
        new TThreadPoolServer(options).serve();
    }
}
