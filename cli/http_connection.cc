#include "cli/http_connection.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "catamaran/base/error.h"
#include "cli/serve/address.h"

namespace catamaran::cli {
namespace {

constexpr std::string_view kLengthHeader = "content-length:";
constexpr std::string_view kBegin = "HTTP/1.1 ";
constexpr long kMostBytes = 64 << 20;

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

HttpConnection::HttpConnection(std::string host, int port, std::string token)
    : host_(std::move(host)),
      port_(port),
      where_(AddressText(host_, port)),
      authorization_(token.empty() ? "" : fmt::format("Authorization: Bearer {}\r\n", token)) {}

void HttpConnection::Close() {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  received_.clear();
}

void HttpConnection::Connect() {
  if (socket_ >= 0) return;
  addrinfo hints = {}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (const int problem =
          ::getaddrinfo(host_.c_str(), std::to_string(port_).c_str(), &hints, &found);
      problem != 0) {
    Fail("cannot find {}: {}", where_, ::gai_strerror(problem));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, &::freeaddrinfo);
  int why = 0;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    socket_ = ::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol);
    if (socket_ < 0) continue;
    const timeval patience = {.tv_sec = 10, .tv_usec = 0};
    const int yes = 1;
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (::connect(socket_, one->ai_addr, one->ai_addrlen) == 0) return;
    why = errno;
    Close();
  }
  Fail("cannot reach {}: {}", where_, std::strerror(why));
}

void HttpConnection::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) Fail("{} takes no request: {}", where_, std::strerror(errno));
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
}

void HttpConnection::ReceiveMore() {
  char bytes[16384];
  ssize_t got = -1;
  do {
    got = ::recv(socket_, bytes, sizeof bytes, 0);
  } while (got < 0 && errno == EINTR);
  if (got < 0) Fail("{} does not answer: {}", where_, std::strerror(errno));
  if (got == 0) Fail("{} has gone away", where_);
  received_.append(bytes, static_cast<size_t>(got));
}

HttpAnswer HttpConnection::Receive() {
  size_t end = std::string::npos;
  while ((end = received_.find("\r\n\r\n")) == std::string::npos) {
    if (received_.size() >= kBegin.size() && !received_.starts_with(kBegin)) {
      Fail("{} speaks no HTTP, or only encrypted", where_);
    }
    if (received_.size() > static_cast<size_t>(kMostBytes)) {
      Fail("{} answers without end", where_);
    }
    ReceiveMore();
  }
  const long length = BodyLength(std::string_view(received_).substr(0, end + 2));
  if (length < 0 || length > kMostBytes || !received_.starts_with(kBegin)) {
    Fail("{} gives an answer that cannot be read", where_);
  }
  const size_t whole = end + 4 + static_cast<size_t>(length);
  while (received_.size() < whole) ReceiveMore();
  HttpAnswer answer;
  answer.status = std::atoi(received_.substr(kBegin.size(), 3).c_str());
  answer.body = received_.substr(end + 4, static_cast<size_t>(length));
  received_.erase(0, whole);
  return answer;
}

HttpAnswer HttpConnection::Call(std::string_view method, std::string_view path,
                                std::string_view body) {
  const std::string request =
      fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n{}Content-Length: {}\r\n\r\n{}", method, path,
                  where_, authorization_, body.size(), body);
  // A service closes connections that were idle for long: a question may simply be asked again.
  const bool may_be_stale = socket_ >= 0 && method == "GET";
  try {
    Connect();
    Send(request);
    return Receive();
  } catch (const Error& error) {
    Close();
    if (may_be_stale) return Call(method, path, body);
    HttpAnswer none;
    none.problem = error.what();
    return none;
  }
}

}  // namespace catamaran::cli
