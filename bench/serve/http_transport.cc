// Requests over HTTP/1.1 with binary tensors: bytes that are written once, on plain sockets.

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "bench/serve/transport.h"
#include "catamaran/base/error.h"

namespace catamaran::bench {
namespace {

constexpr std::string_view kJsonLength = "inference-header-content-length";

std::string Encode(const LoadRequest& request) {
  std::string inputs, bytes;
  for (const LoadTensor& tensor : request.inputs) {
    inputs += fmt::format(
        R"({}{{"name":"{}","datatype":"{}","shape":[{}],"parameters":{{"binary_data_size":{}}}}})",
        inputs.empty() ? "" : ",", tensor.name, tensor.datatype, fmt::join(tensor.shape, ","),
        tensor.bytes.size());
    bytes += tensor.bytes;
  }
  const std::string id = request.id.empty() ? "" : fmt::format(R"("id":"{}",)", request.id);
  const std::string json =
      fmt::format(R"({{{}"parameters":{{"binary_data_output":true}},"inputs":[{}]}})", id, inputs);
  return fmt::format(
      "POST /v2/models/{}/infer HTTP/1.1\r\nHost: 127.0.0.1\r\n"
      "Content-Type: application/octet-stream\r\n"
      "Inference-Header-Content-Length: {}\r\nContent-Length: {}\r\n\r\n{}{}",
      request.model, json.size(), json.size() + bytes.size(), json, bytes);
}

// The value of a header; empty if there is none.
std::string_view Header(std::string_view head, std::string_view name) {
  for (size_t line = head.find("\r\n"); line != head.npos; line = head.find("\r\n", line + 2)) {
    const std::string_view rest = head.substr(line + 2);
    if (rest.size() > name.size() && rest[name.size()] == ':' &&
        ::strncasecmp(rest.data(), name.data(), name.size()) == 0) {
      std::string_view value = rest.substr(name.size() + 1);
      value = value.substr(0, value.find("\r\n"));
      value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
      return value;
    }
  }
  return {};
}

size_t Number(std::string_view text) {
  return static_cast<size_t>(std::strtoull(std::string(text).c_str(), nullptr, 10));
}

class HttpTransport final : public Transport {
 public:
  HttpTransport(int port, int connections, const std::vector<LoadRequest>& requests)
      : epoll_(::epoll_create1(EPOLL_CLOEXEC)), sockets_(static_cast<size_t>(connections)) {
    for (const LoadRequest& request : requests) messages_.push_back(Encode(request));
    for (size_t i = 0; i < sockets_.size(); ++i) {
      sockets_[i].fd = Connect(port);
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.u64 = i;
      if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, sockets_[i].fd, &event) != 0) {
        Fail("epoll: {}", std::strerror(errno));
      }
    }
  }
  ~HttpTransport() override {
    for (const Socket& socket : sockets_) ::close(socket.fd);
    ::close(epoll_);
  }

  int connections() const override { return static_cast<int>(sockets_.size()); }

  void Send(int connection, size_t request) override {
    Socket& socket = sockets_[static_cast<size_t>(connection)];
    socket.received.clear();
    socket.head = 0;
    std::string_view rest = messages_.at(request);
    // The socket blocks: the server reads what comes.
    while (!rest.empty()) {
      const ssize_t sent = ::send(socket.fd, rest.data(), rest.size(), MSG_NOSIGNAL);
      if (sent < 0) Fail("HTTP: cannot send: {}", std::strerror(errno));
      rest.remove_prefix(static_cast<size_t>(sent));
    }
  }

  bool Next(Done& done, TimePoint until) override {
    while (true) {
      while (next_event_ < num_events_) {
        const auto i = static_cast<size_t>(events_[next_event_++].data.u64);
        if (!Receive(sockets_[i])) continue;
        done = {static_cast<int>(i), Head(sockets_[i]).starts_with("HTTP/1.1 200")};
        return true;
      }
      const auto wait =
          std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
      if (wait.count() < 0) return false;
      next_event_ = 0;
      num_events_ =
          std::max(0, ::epoll_wait(epoll_, events_, kEvents, static_cast<int>(wait.count())));
    }
  }

  std::vector<double> Values(int connection) override {
    const Socket& socket = sockets_[static_cast<size_t>(connection)];
    const std::string_view head = Head(socket);
    const std::string_view body = std::string_view(socket.received).substr(socket.head);
    if (!head.starts_with("HTTP/1.1 200")) {
      Fail("HTTP: {}: {}", head.substr(0, head.find("\r\n")), body);
    }
    const size_t json = Number(Header(head, kJsonLength));
    if (json == 0 || json > body.size()) Fail("HTTP: the answer has no binary output: {}", body);
    std::vector<float> values((body.size() - json) / sizeof(float));
    std::memcpy(values.data(), body.data() + json, values.size() * sizeof(float));
    return {values.begin(), values.end()};
  }

 private:
  static constexpr int kEvents = 64;
  struct Socket {
    int fd = -1;
    std::string received;
    size_t head = 0;   // bytes of the answer's head; 0: it is not all there
    size_t whole = 0;  // bytes of the answer
  };

  static std::string_view Head(const Socket& socket) {
    return std::string_view(socket.received).substr(0, socket.head);
  }

  static int Connect(int port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      const std::string why = std::strerror(errno);
      ::close(fd);
      Fail("port {}: no HTTP server answers there: {}", port, why);
    }
    const int yes = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return fd;
  }

  // Takes what has come; whether the answer is whole.
  static bool Receive(Socket& socket) {
    char bytes[16384];
    const ssize_t count = ::recv(socket.fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (count < 0 && errno == EAGAIN) return false;
    if (count <= 0) Fail("HTTP: the server closed the connection");
    socket.received.append(bytes, static_cast<size_t>(count));
    if (socket.head == 0) {
      const size_t end = socket.received.find("\r\n\r\n");
      if (end == std::string::npos) return false;
      socket.head = end + 4;
      socket.whole = socket.head + Number(Header(Head(socket), "content-length"));
    }
    return socket.received.size() >= socket.whole;
  }

  const int epoll_;
  std::vector<std::string> messages_;
  std::vector<Socket> sockets_;
  epoll_event events_[kEvents] = {};
  int next_event_ = 0, num_events_ = 0;
};

}  // namespace

std::unique_ptr<Transport> ConnectHttp(int port, int connections,
                                       const std::vector<LoadRequest>& requests) {
  return std::make_unique<HttpTransport>(port, connections, requests);
}

}  // namespace catamaran::bench
