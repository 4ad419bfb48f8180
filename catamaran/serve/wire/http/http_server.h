// serve/wire/http/http_server.h
//
// HTTP/1.1 over few threads, however many connections there are: REST as rest_service.h says, on
// one port. A connection belongs to one thread, that which had the fewest when it came. One that is
// slow, silent or sends what is no HTTP costs a socket for a limited time, and a body in the making
// no more than its share of a budget.
//
// Thread safety: all methods may be called concurrently.

#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "catamaran/serve/wire/auth/tls.h"
#include "catamaran/serve/wire/gateway.h"
#include "catamaran/serve/wire/http/rest_service.h"

namespace catamaran {

struct HttpOptions {
  std::string host = "127.0.0.1";
  int port = 0;                  // 0: a free one
  std::optional<TlsKeys> tls;    // none: not encrypted
  bool allow_anonymous = false;  // also without tokens where other machines reach it
  int threads = 2;

  size_t max_connections = 4096;                // more are answered 503 and closed
  size_t max_header_bytes = 16 << 10;           // more: 431
  size_t max_body_bytes = size_t{64} << 20;     // more: 413
  size_t max_json_bytes = size_t{8} << 20;      // of a body that is JSON
  size_t max_bodies_bytes = size_t{512} << 20;  // of all that are being read or answered: 429

  int max_watches = 256;  // streams of events; more: 429

  std::chrono::milliseconds handshake_timeout{10'000};
  std::chrono::milliseconds header_timeout{20'000};  // from connecting to the first header's end
  std::chrono::milliseconds idle_timeout{75'000};    // the same for later ones
  std::chrono::milliseconds body_timeout{60'000};
  std::chrono::milliseconds write_timeout{60'000};
};

class HttpServer {
 public:
  // Listens from now on. An Error if the address cannot be had, or is open to others without
  // tokens. `gateway` outlives it.
  HttpServer(Gateway& gateway, const HttpOptions& options);
  // As Stop without patience.
  ~HttpServer();

  int port() const;
  size_t connections() const;

  // Takes no more connections and closes those that wait for nothing; returns when requests that
  // are under way have been answered. When `patience` is over they are cancelled, and their
  // connections closed.
  void Stop(std::chrono::milliseconds patience);

 private:
  class Listener;
  std::unique_ptr<Listener> listener_;
};

}  // namespace catamaran
