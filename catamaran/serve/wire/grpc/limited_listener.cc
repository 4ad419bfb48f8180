#include "catamaran/serve/wire/grpc/limited_listener.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>
#include <utility>

#include "catamaran/base/error.h"
#include "catamaran/base/room.h"
#include "catamaran/base/start_thread.h"

namespace catamaran {
namespace {

constexpr int kOn = 1;
constexpr std::chrono::milliseconds kRest(100);  // when the process has no descriptor to spare

int PortOf(int socket) {
  sockaddr_storage address = {};
  socklen_t length = sizeof address;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

void SetPort(sockaddr* address, int port) {
  const auto network = htons(static_cast<uint16_t>(port));
  if (address->sa_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(address)->sin6_port = network;
  } else {
    reinterpret_cast<sockaddr_in*>(address)->sin_port = network;
  }
}

// A socket that listens, or -1 and errno.
int ListenAt(const addrinfo& at) {
  const int socket =
      ::socket(at.ai_family, at.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, at.ai_protocol);
  if (socket < 0) return -1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &kOn, sizeof kOn);
  if (at.ai_family == AF_INET6) {  // [::] is everywhere, ::1 is itself
    const int off = 0;
    ::setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  }
  if (::bind(socket, at.ai_addr, at.ai_addrlen) == 0 && ::listen(socket, 1024) == 0) return socket;
  const int why = errno;
  ::close(socket);
  errno = why;
  return -1;
}

}  // namespace

LimitedListener::LimitedListener(const std::string& host, int port, size_t max_connections,
                                 Metrics& metrics)
    : max_connections_(max_connections),
      open_(metrics.AddGauge("catamaran_grpc_connections", "Connections now.")),
      refused_(metrics.AddCounter("catamaran_grpc_refused_connections_total",
                                  "Connections beyond the limit.")) {
  Listen(host, port);
  events_ = ::epoll_create1(EPOLL_CLOEXEC);
  stop_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (events_ < 0 || stop_ < 0) {
    const int why = errno;
    for (const int descriptor : {events_, stop_}) {
      if (descriptor >= 0) ::close(descriptor);
    }
    for (const int listener : listeners_) ::close(listener);
    Fail(ErrorCode::kResourceExhausted, "cannot wait for gRPC connections: {} (see ulimit -n)",
         std::strerror(why));
  }
  Watch(stop_, EPOLLIN);
  for (const int listener : listeners_) Watch(listener, EPOLLIN);
}

LimitedListener::~LimitedListener() {
  Close();
  for (const int watched : watched_) ::close(watched);
  for (const int descriptor : {events_, stop_}) {
    if (descriptor >= 0) ::close(descriptor);
  }
}

void LimitedListener::Listen(const std::string& host, int port) {
  std::string name = host;
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  addrinfo hints = {}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  const auto fail = [&](const char* why) {
    Fail(ErrorCode::kUnavailable, "cannot listen on {}:{} for gRPC: {}", host, port, why);
  };
  if (const int problem = ::getaddrinfo(name.c_str(), std::to_string(port).c_str(), &hints, &found);
      problem != 0) {
    fail(::gai_strerror(problem));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, &::freeaddrinfo);
  int why = 0;
  for (addrinfo* at = found; at != nullptr; at = at->ai_next) {
    // "localhost" may be two addresses: the port of the first is that of the second.
    if (port_ != 0) SetPort(at->ai_addr, port_);
    const int socket = ListenAt(*at);
    if (socket < 0) {
      why = errno;
      continue;
    }
    listeners_.push_back(socket);
    if (port_ == 0) port_ = PortOf(socket);
  }
  if (listeners_.empty()) fail(std::strerror(why));
}

void LimitedListener::Watch(int descriptor, uint32_t events) const {
  epoll_event event = {};
  event.events = events;
  event.data.fd = descriptor;
  ::epoll_ctl(events_, EPOLL_CTL_ADD, descriptor, &event);
}

void LimitedListener::Start(Take take) {
  take_ = std::move(take);
  thread_ = StartThread("that takes connections for gRPC", [this] { Run(); });
}

void LimitedListener::Close() {
  if (stopping_.exchange(true)) return;
  const uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(stop_, &one, sizeof one);
  if (thread_.joinable()) thread_.join();
  for (const int listener : listeners_) ::close(listener);
  listeners_.clear();
}

void LimitedListener::Run() {
  std::array<epoll_event, 64> events;
  while (!stopping_) {
    const int count = ::epoll_wait(events_, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < count; ++i) {
      const int descriptor = events[static_cast<size_t>(i)].data.fd;
      if (descriptor == stop_) return;
      if (watched_.count(descriptor) != 0) {
        Forget(descriptor);
      } else if (std::find(listeners_.begin(), listeners_.end(), descriptor) != listeners_.end()) {
        Accept(descriptor);
      }
    }
  }
}

void LimitedListener::Accept(int listener) {
  const int connection = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (connection < 0) {
    // Those that are in use come back.
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
      std::this_thread::sleep_for(kRest);
    }
    return;
  }
  const int watched =
      watched_.size() < max_connections_ ? ::fcntl(connection, F_DUPFD_CLOEXEC, 0) : -1;
  if (watched < 0 || DescriptorsRunOut(watched)) {
    if (watched >= 0) ::close(watched);
    ::close(connection);
    refused_->Add();
    return;
  }
  ::setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &kOn, sizeof kOn);
  try {
    watched_.insert(watched);
  } catch (const std::bad_alloc&) {
    ::close(watched);
    ::close(connection);
    refused_->Add();
    return;
  }
  open_->Set(static_cast<double>(watched_.size()));
  Watch(watched, EPOLLRDHUP);
  take_(listener, connection);
}

void LimitedListener::Forget(int watched) {
  ::epoll_ctl(events_, EPOLL_CTL_DEL, watched, nullptr);
  ::close(watched);
  watched_.erase(watched);
  open_->Set(static_cast<double>(watched_.size()));
}

}  // namespace catamaran
