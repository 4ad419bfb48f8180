#include "catamaran/serve/wire/http/http_server.h"

#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "catamaran/base/error.h"
#include "catamaran/base/room.h"
#include "catamaran/base/start_thread.h"
#include "catamaran/serve/wire/http/http_session.h"

namespace catamaran {
namespace {

using namespace http_internal;

asio::ssl::context MakeContext(const TlsKeys& keys) {
  asio::ssl::context context(asio::ssl::context::tls_server);
  context.set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_sslv2 |
                      asio::ssl::context::no_sslv3 | asio::ssl::context::no_tlsv1 |
                      asio::ssl::context::no_tlsv1_1);
  context.use_certificate_chain(asio::buffer(keys.certificate));
  context.use_private_key(asio::buffer(keys.key), asio::ssl::context::pem);
  if (!keys.client_roots.empty()) {
    context.add_certificate_authority(asio::buffer(keys.client_roots));
    context.set_verify_mode(asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert);
  }
  return context;
}

// What one thread does, and the connections that are its own.
struct Loop {
  std::atomic<int> connections = 0;
  asio::io_context io{1};  // by one thread
  asio::executor_work_guard<LoopExecutor> work{io.get_executor()};
  std::thread thread;
};

using Loops = std::vector<std::unique_ptr<Loop>>;

Loops MakeLoops(int count) {
  Loops loops;
  try {
    for (int i = 0; i < std::max(1, count); ++i) {
      loops.push_back(std::make_unique<Loop>());
      const LoopTimer first(
          loops.back()->io);  // a loop takes its descriptors with its first object
    }
  } catch (const boost::system::system_error& error) {
    Fail(ErrorCode::kResourceExhausted, "cannot wait for HTTP connections: {} (see ulimit -n)",
         error.what());
  }
  return loops;
}

}  // namespace

class HttpServer::Listener {
 public:
  Listener(Gateway& gateway, const HttpOptions& options)
      : shared_(std::make_shared<Shared>(gateway, options)),
        loops_(MakeLoops(options.threads)),
        acceptor_(loops_[0]->io),
        retry_(loops_[0]->io) {
    try {
      if (options.tls) context_.emplace(MakeContext(*options.tls));
      std::string host = options.host;
      if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
      tcp::resolver resolver(loops_[0]->io);
      const tcp::endpoint endpoint =
          *resolver.resolve(host, std::to_string(options.port), tcp::resolver::passive).begin();
      acceptor_.open(endpoint.protocol());
      acceptor_.set_option(tcp::acceptor::reuse_address(true));
      acceptor_.bind(endpoint);
      acceptor_.listen(1024);
      port_ = acceptor_.local_endpoint().port();
    } catch (const boost::system::system_error& error) {
      Fail(ErrorCode::kUnavailable, "cannot listen on {}:{} for HTTP: {}", options.host,
           options.port, error.code().message());
    }
    Accept();
    try {
      for (const auto& loop : loops_) {
        loop->thread = StartThread("of HTTP connections", [&io = loop->io] { RunLoop(io); });
      }
    } catch (...) {
      EndLoops();
      throw;
    }
  }

  ~Listener() {
    Stop(std::chrono::milliseconds(0));
    EndLoops();
  }

  int port() const { return port_; }

  size_t connections() const {
    const std::lock_guard lock(shared_->mutex);
    return shared_->connections.size();
  }

  void Stop(std::chrono::milliseconds patience) {
    shared_->stopping = true;
    asio::post(acceptor_.get_executor(), [this] {
      error_code ignored;
      acceptor_.close(ignored);
      retry_.cancel();
    });
    const auto wait = [this](std::chrono::milliseconds time) {
      std::unique_lock lock(shared_->mutex);
      return shared_->changed.wait_for(lock, time, [this] { return shared_->connections.empty(); });
    };
    EndAll(false);
    if (wait(patience)) return;
    // Again and again: a connection may just have been accepted.
    do {
      EndAll(true);
    } while (!wait(std::chrono::milliseconds(50)));
  }

 private:
  // What a handler throws (memory that ran out) ends the connection it was of, not the thread.
  static void RunLoop(asio::io_context& io) {
    while (true) {
      try {
        io.run();
        return;
      } catch (const std::exception&) {
      }
    }
  }

  void EndLoops() {
    for (const auto& loop : loops_) loop->io.stop();
    for (const auto& loop : loops_) {
      if (loop->thread.joinable()) loop->thread.join();
    }
  }

  void EndAll(bool force) {
    std::vector<std::shared_ptr<Connection>> all;
    {
      const std::lock_guard lock(shared_->mutex);
      for (Connection* connection : shared_->connections) {
        // Null: its last holder is just letting it go.
        if (auto held = connection->weak_from_this().lock()) all.push_back(std::move(held));
      }
    }
    for (const auto& connection : all) connection->End(force);
  }

  // The one with the fewest connections.
  Loop& NextLoop() const {
    return **std::min_element(loops_.begin(), loops_.end(), [](const auto& a, const auto& b) {
      return a->connections < b->connections;
    });
  }

  void Accept() {
    Loop& loop = NextLoop();
    acceptor_.async_accept(loop.io.get_executor(),
                           [this, &loop](error_code error, PlainStream socket) {
                             if (error == asio::error::operation_aborted || shared_->stopping)
                               return;
                             if (error) {
                               // Out of descriptors: those in use come back.
                               retry_.expires_after(std::chrono::milliseconds(100));
                               retry_.async_wait([this](error_code cancelled) {
                                 if (!cancelled) Accept();
                               });
                               return;
                             }
                             try {
                               Take(loop, std::move(socket));
                             } catch (const std::exception&) {
                               shared_->refused->Add();  // no memory for it: it is closed
                             }
                             Accept();
                           });
  }

  void Take(Loop& loop, PlainStream socket) {
    if (connections() >= shared_->options.max_connections ||
        DescriptorsRunOut(socket.native_handle())) {
      shared_->refused->Add();
      static constexpr std::string_view kFull =
          "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 1\r\n"
          "Connection: close\r\n\r\n";
      // Into an empty send buffer, so it does not block; for TLS it would be noise.
      if (!context_) ::send(socket.native_handle(), kFull.data(), kFull.size(), MSG_DONTWAIT);
      return;
    }
    if (context_) {
      std::make_shared<Session<TlsStream>>(shared_, loop.connections, std::move(socket), *context_)
          ->Start();
    } else {
      std::make_shared<Session<PlainStream>>(shared_, loop.connections, std::move(socket))->Start();
    }
  }

  const std::shared_ptr<Shared> shared_;
  const Loops loops_;
  std::optional<asio::ssl::context> context_;
  // Of the first loop.
  asio::basic_socket_acceptor<tcp, LoopExecutor> acceptor_;
  LoopTimer retry_;
  int port_ = 0;
};

HttpServer::HttpServer(Gateway& gateway, const HttpOptions& options) {
  CheckExposure(options.host, gateway.tokens(), options.allow_anonymous);
  listener_ = std::make_unique<Listener>(gateway, options);
}

HttpServer::~HttpServer() = default;

int HttpServer::port() const { return listener_->port(); }
size_t HttpServer::connections() const { return listener_->connections(); }
void HttpServer::Stop(std::chrono::milliseconds patience) { listener_->Stop(patience); }

}  // namespace catamaran
