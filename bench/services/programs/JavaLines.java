import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Executors;

/** A Java service. LEAK: bytes that each request leaves in a list. */
public class JavaLines {
  static final List<byte[]> kept = Collections.synchronizedList(new ArrayList<>());

  public static void main(String[] arguments) throws Exception {
    int leak = Integer.parseInt(System.getenv().getOrDefault("LEAK", "0"));
    HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0])), 50);
    server.setExecutor(Executors.newFixedThreadPool(8));
    server.createContext("/", exchange -> {
      StringBuilder text = new StringBuilder();
      for (int i = 0; i < 2000; i++) text.append("line ").append(i).append('\n');
      if (leak > 0) kept.add(new byte[leak]);
      byte[] body = text.toString().getBytes();
      exchange.sendResponseHeaders(200, body.length);
      exchange.getResponseBody().write(body);
      exchange.close();
    });
    server.start();
  }
}
