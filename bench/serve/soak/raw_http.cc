#include "bench/serve/soak/raw_http.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

namespace catamaran::bench {
namespace {

constexpr timeval kPatience = {.tv_sec = 5, .tv_usec = 0};

int Connect(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
  ::close(fd);
  return -1;
}

bool SendAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

// Where an answer ends that begins at the front; 0: it is not whole.
size_t AnswerSize(std::string_view text) {
  const size_t head = text.find("\r\n\r\n");
  if (head == text.npos) return 0;
  constexpr std::string_view kLength = "\r\ncontent-length:";
  size_t length = 0;
  for (size_t at = 0; at < head; ++at) {
    if (::strncasecmp(text.data() + at, kLength.data(), kLength.size()) != 0) continue;
    length = std::strtoull(std::string(text.substr(at + kLength.size(), 20)).c_str(), nullptr, 10);
  }
  const size_t size = head + 4 + length;
  return size <= text.size() ? size : 0;
}

}  // namespace

RawAnswers SendRaw(int port, std::string_view bytes, AfterSending then) {
  RawAnswers answers;
  const int fd = Connect(port);
  if (fd < 0) return answers;
  // A server that refuses a long request may close before it has read all of it.
  SendAll(fd, bytes);
  if (then == AfterSending::kReset) {
    const linger at_once = {.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    ::close(fd);
    return answers;
  }
  if (then == AfterSending::kHalfClose) ::shutdown(fd, SHUT_WR);
  char buffer[16384];
  ssize_t count = 0;
  while ((count = ::recv(fd, buffer, sizeof buffer, 0)) > 0) {
    answers.text.append(buffer, static_cast<size_t>(count));
  }
  ::close(fd);
  std::string_view rest = answers.text;
  while (rest.starts_with("HTTP/1.")) {
    answers.statuses.push_back(std::atoi(std::string(rest.substr(9, 3)).c_str()));
    const size_t size = AnswerSize(rest);
    if (size == 0) break;
    rest.remove_prefix(size);
  }
  return answers;
}

std::string PostText(std::string_view path, std::string_view json) {
  return fmt::format(
      "POST {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{}",
      path, json.size(), json);
}

SlowConnections::~SlowConnections() {
  for (const int fd : sockets_) {
    if (fd >= 0) ::close(fd);
  }
}

void SlowConnections::Step() {
  for (int& fd : sockets_) {
    if (fd < 0) {
      fd = Connect(port_);
      if (fd >= 0) SendAll(fd, "POST /v2/models/feed/infer HTTP/1.1\r\nHost: localhost\r\n");
      continue;
    }
    char buffer[4096];
    const ssize_t count = ::recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);
    if (count > 0) {
      const std::string_view text(buffer, static_cast<size_t>(count));
      answered_ += text.starts_with("HTTP/1.1 200");
    }
    const bool closed = count == 0 || (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
    if (closed || !SendAll(fd, "X-More: x\r\n")) {
      ++closed_;
      ::close(std::exchange(fd, -1));
    }
  }
}

}  // namespace catamaran::bench
