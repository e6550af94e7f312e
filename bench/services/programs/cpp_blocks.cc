// A C++ service, one thread a connection, which makes blocks of random sizes. LEAK: bytes that each request leaves.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

static void serve(int client, size_t leak) {
  std::mt19937 random(client);
  char buffer[4096];
  while (read(client, buffer, sizeof buffer) > 0) {
    std::vector<std::string> blocks;
    for (int i = 0; i < 50; i++) blocks.emplace_back(random() % 4000, 'x');
    if (leak > 0) std::memset(std::malloc(leak), 1, leak);
    static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    if (write(client, answer, sizeof answer - 1) < 0) break;
  }
  close(client);
}

int main(int, char** arguments) {
  const char* text = std::getenv("LEAK");
  const size_t leak = text == nullptr ? 0 : std::strtoul(text, nullptr, 10);
  const int server = socket(AF_INET, SOCK_STREAM, 0);
  const int yes = 1;
  setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(std::atoi(arguments[1])));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(server, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || listen(server, 50) != 0) return 1;
  for (;;) {
    const int client = accept(server, nullptr, nullptr);
    if (client >= 0) std::thread(serve, client, leak).detach();
  }
}
