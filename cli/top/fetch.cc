#include "cli/top/fetch.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <memory>

#include "catamaran/base/error.h"
#include "cli/serve/address.h"

namespace catamaran::cli {
namespace {

constexpr size_t kMostBytes = size_t{64} << 20;

class Socket {
 public:
  Socket(const std::string& host, int port) : where_(AddressText(host, port)) {
    addrinfo hints = {}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    if (const int problem = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
        problem != 0) {
      Fail("cannot find {}: {}", where_, gai_strerror(problem));
    }
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, &freeaddrinfo);
    int why = 0;
    for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
      fd_ = socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol);
      if (fd_ < 0) continue;
      const timeval patience = {10, 0};
      setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
      setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
      if (connect(fd_, one->ai_addr, one->ai_addrlen) == 0) return;
      why = errno;
      close(fd_);
      fd_ = -1;
    }
    Fail("cannot reach {}: {}", where_, std::strerror(why));
  }
  ~Socket() { close(fd_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  void Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) Fail("{} takes no request: {}", where_, std::strerror(errno));
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
  }

  // Until the other side has no more to say.
  std::string ReceiveAll() {
    std::string all;
    char buffer[1 << 14];
    while (true) {
      const ssize_t got = recv(fd_, buffer, sizeof buffer, 0);
      if (got == 0) return all;
      if (got < 0) Fail("{} does not answer: {}", where_, std::strerror(errno));
      all.append(buffer, static_cast<size_t>(got));
      if (all.size() > kMostBytes) Fail("{} answers without end", where_);
    }
  }

 private:
  const std::string where_;
  int fd_ = -1;
};

}  // namespace

Fetched Fetch(const std::string& host, int port, const std::string& path,
              const std::string& token) {
  Socket socket(host, port);
  const std::string authorization =
      token.empty() ? "" : fmt::format("Authorization: Bearer {}\r\n", token);
  socket.Send(fmt::format("GET {} HTTP/1.1\r\nHost: {}\r\n{}Connection: close\r\n\r\n", path,
                          AddressText(host, port), authorization));
  const std::string answer = socket.ReceiveAll();
  constexpr std::string_view kBegin = "HTTP/1.1 ";
  const size_t head = answer.find("\r\n\r\n");
  Fetched fetched;
  if (!answer.starts_with(kBegin) || head == answer.npos ||
      std::from_chars(answer.data() + kBegin.size(), answer.data() + head, fetched.status).ec !=
          std::errc()) {
    Fail("{} speaks no HTTP, or only encrypted", AddressText(host, port));
  }
  fetched.body = answer.substr(head + 4);
  return fetched;
}

}  // namespace catamaran::cli
