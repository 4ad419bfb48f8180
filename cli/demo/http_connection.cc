#include "cli/demo/http_connection.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

namespace catamaran::cli {
namespace {

constexpr std::string_view kLengthHeader = "content-length:";

// What the headers say of the body's length; -1: nothing.
long BodyLength(std::string_view head) {
  for (size_t at = head.find("\r\n"); at != head.npos; at = head.find("\r\n", at + 2)) {
    const std::string_view line = head.substr(at + 2);
    if (line.size() > kLengthHeader.size() &&
        strncasecmp(line.data(), kLengthHeader.data(), kLengthHeader.size()) == 0) {
      return std::strtol(std::string(line.substr(kLengthHeader.size(), 24)).c_str(), nullptr, 10);
    }
  }
  return -1;
}

}  // namespace

void HttpConnection::Close() {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  received_.clear();
}

bool HttpConnection::Connect() {
  if (socket_ >= 0) return true;
  socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port_));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const timeval patience = {.tv_sec = 10, .tv_usec = 0};
  const int yes = 1;
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  return ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
}

bool HttpConnection::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

bool HttpConnection::ReceiveMore() {
  char bytes[16384];
  ssize_t got = -1;
  do {
    got = ::recv(socket_, bytes, sizeof bytes, 0);
  } while (got < 0 && errno == EINTR);
  if (got <= 0) return false;
  received_.append(bytes, static_cast<size_t>(got));
  return true;
}

bool HttpConnection::Receive(HttpAnswer& answer) {
  size_t end = std::string::npos;
  while ((end = received_.find("\r\n\r\n")) == std::string::npos) {
    if (!ReceiveMore()) return false;
  }
  const long length = BodyLength(std::string_view(received_).substr(0, end + 2));
  if (length < 0 || !received_.starts_with("HTTP/1.1 ")) return false;
  const size_t whole = end + 4 + static_cast<size_t>(length);
  while (received_.size() < whole) {
    if (!ReceiveMore()) return false;
  }
  answer.status = std::atoi(received_.substr(9, 3).c_str());
  answer.body = received_.substr(end + 4, static_cast<size_t>(length));
  received_.erase(0, whole);
  return true;
}

HttpAnswer HttpConnection::Call(std::string_view method, std::string_view path,
                                std::string_view body) {
  const std::string request =
      fmt::format("{} {} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Length: {}\r\n\r\n{}", method,
                  path, port_, body.size(), body);
  HttpAnswer answer;
  if (!Connect() || !Send(request) || !Receive(answer)) {
    Close();
    return {};
  }
  return answer;
}

}  // namespace catamaran::cli
