// serve/wire/http/http_session.h
//
// One connection of an HttpServer. Each runs on a strand of its own:
//
//   (handshake) -> head -> refused? -> body -> RestService -> answer -> head -> ...
//
// and is alive while one of these holds it. For http_server.cc only: it includes Boost.

#pragma once

#include <fmt/format.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream_base.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "catamaran/serve/wire/http/http_server.h"

namespace catamaran::http_internal {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

using PlainStream = beast::tcp_stream;
using TlsStream = beast::ssl_stream<beast::tcp_stream>;

// Whether the client sent something that is no HTTP; not so if it has gone, or was too slow.
inline bool IsNoHttp(const error_code& error) {
  static const auto& category = http::make_error_code(http::error::bad_version).category();
  return error.category() == category && error != http::error::end_of_stream &&
         error != http::error::partial_message;
}

// What connections share.
struct Shared {
  Shared(Gateway& gateway, const HttpOptions& with)
      : options(with),
        rest(gateway, {.max_body_bytes = with.max_body_bytes,
                       .max_json_bytes = with.max_json_bytes,
                       .host = with.host}),
        open(gateway.metrics().AddGauge("catamaran_http_connections", "Connections now.")),
        refused(gateway.metrics().AddCounter("catamaran_http_refused_connections_total",
                                             "Connections beyond the limit.")) {}

  const HttpOptions options;
  const RestService rest;
  const std::shared_ptr<Gauge> open;
  const std::shared_ptr<Counter> refused;
  std::atomic<bool> stopping = false;
  std::atomic<size_t> body_bytes = 0;
  std::atomic<int> watches = 0;

  std::mutex mutex;
  std::condition_variable changed;
  std::unordered_set<class Connection*> connections;
};

// A part of the budget for bodies.
class BodyShare {
 public:
  explicit BodyShare(Shared& shared) : shared_(shared) {}
  ~BodyShare() { Release(); }
  [[nodiscard]] bool Take(size_t bytes) {
    if (shared_.body_bytes.fetch_add(bytes) + bytes > shared_.options.max_bodies_bytes) {
      shared_.body_bytes.fetch_sub(bytes);
      return false;
    }
    taken_ += bytes;
    return true;
  }
  void Release() { shared_.body_bytes.fetch_sub(std::exchange(taken_, 0)); }

 private:
  Shared& shared_;
  size_t taken_ = 0;
};

// What a stop needs to know of a connection.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  explicit Connection(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {
    const std::lock_guard lock(shared_->mutex);
    shared_->connections.insert(this);
    shared_->open->Set(static_cast<double>(shared_->connections.size()));
  }
  virtual ~Connection() {
    const std::lock_guard lock(shared_->mutex);
    shared_->connections.erase(this);
    shared_->open->Set(static_cast<double>(shared_->connections.size()));
    shared_->changed.notify_all();
  }
  // Ends it: at once if it waits for a request or `force`, else once that is answered.
  virtual void End(bool force) = 0;

 protected:
  const std::shared_ptr<Shared> shared_;
};

template <class Stream>
class Session final : public Connection {
 public:
  // For a TlsStream with its context.
  template <class... Context>
  Session(std::shared_ptr<Shared> shared, tcp::socket socket, Context&... context)
      : Connection(std::move(shared)),
        stream_(std::move(socket), context...),
        share_(*shared_),
        tick_(stream_.get_executor()),
        buffer_(shared_->options.max_header_bytes + kReadAhead) {}

  ~Session() override {
    if (watching_) shared_->watches.fetch_sub(1);
  }

  void Start() {
    asio::dispatch(stream_.get_executor(), [self = Self()] {
      error_code ignored;
      self->socket().set_option(tcp::no_delay(true), ignored);
      self->Begin();
    });
  }

  void End(bool force) override {
    asio::post(stream_.get_executor(), [self = Self(), force] {
      if (force) self->cancelled_->store(true);
      if (force || self->waiting_) self->Close();
    });
  }

 private:
  static constexpr bool kTls = std::is_same_v<Stream, TlsStream>;
  static constexpr size_t kReadAhead = 64 << 10;
  static constexpr std::chrono::seconds kSignOfLife{15};
  using Parser = http::request_parser<http::string_body>;

  std::shared_ptr<Session> Self() {
    return std::static_pointer_cast<Session>(this->shared_from_this());
  }
  beast::tcp_stream& tcp_stream() { return beast::get_lowest_layer(stream_); }
  tcp::socket& socket() { return tcp_stream().socket(); }

  void Begin() {
    if (shared_->stopping) return Close();
    if constexpr (kTls) {
      waiting_ = true;
      tcp_stream().expires_after(shared_->options.handshake_timeout);
      stream_.async_handshake(asio::ssl::stream_base::server, [self = Self()](error_code error) {
        self->waiting_ = false;
        if (!error) self->ReadHead(self->shared_->options.header_timeout);
      });
    } else {
      ReadHead(shared_->options.header_timeout);
    }
  }

  void ReadHead(std::chrono::milliseconds timeout) {
    if (shared_->stopping) return Close();
    parser_.emplace();
    parser_->header_limit(static_cast<uint32_t>(shared_->options.max_header_bytes));
    parser_->body_limit(shared_->options.max_body_bytes);
    waiting_ = true;
    tcp_stream().expires_after(timeout);
    http::async_read_header(stream_, buffer_, *parser_, [self = Self()](error_code error, size_t) {
      self->waiting_ = false;
      self->OnHead(error);
    });
  }

  void OnHead(error_code error) {
    if (error == http::error::header_limit) {
      return AnswerLast(ErrorResponse(431, "the request's headers are too long"));
    }
    if (error == http::error::body_limit) {
      return AnswerLast(ErrorResponse(413, "the body is too large"));
    }
    if (IsNoHttp(error)) {
      return AnswerLast(ErrorResponse(400, "this is no HTTP request: " + error.message()));
    }
    if (error) return Close();
    const auto& message = parser_->get();
    head_only_ = message.method() == http::verb::head;
    keep_alive_ = message.keep_alive();
    old_version_ = message.version() < 11;
    const auto text = [](boost::string_view view) { return std::string(view.data(), view.size()); };
    request_ = {};
    HttpHead& head = request_.head;
    head.method = text(message.method_string());
    head.target = text(message.target());
    head.authorization = text(message[http::field::authorization]);
    head.host = text(message[http::field::host]);
    head.origin = text(message[http::field::origin]);
    head.content_encoding = text(message[http::field::content_encoding]);
    head.inference_header_length = text(message["Inference-Header-Content-Length"]);

    size_t max_body = 0;
    std::optional<HttpResponse> refused = shared_->rest.Refuse(head, max_body);
    const auto length = parser_->content_length();
    if (!refused && length && *length > max_body) {
      refused = ErrorResponse(
          413, fmt::format("the body has {} bytes; {} at most are taken", *length, max_body));
    }
    if (!refused && !parser_->is_done()) {
      parser_->body_limit(max_body);
      // A body without a length counts as large as it may be.
      if (!share_.Take(length ? *length : max_body)) {
        refused = ErrorResponse({StatusCode::kResourceExhausted, "too many bodies are under way"});
      }
    }
    if (refused) {
      // What is left of the request is not read, so nothing can follow.
      if (!parser_->is_done()) return AnswerLast(std::move(*refused));
      return Answer(std::move(*refused));
    }
    if (parser_->is_done()) return Handle();
    tcp_stream().expires_after(shared_->options.body_timeout);
    if (boost::beast::iequals(message[http::field::expect], "100-continue")) {
      static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
      asio::async_write(stream_, asio::buffer(kContinue.data(), kContinue.size()),
                        [self = Self()](error_code failed, size_t) {
                          if (!failed) self->ReadBody();
                        });
    } else {
      ReadBody();
    }
  }

  void ReadBody() {
    http::async_read(stream_, buffer_, *parser_, [self = Self()](error_code error, size_t) {
      if (error == http::error::body_limit) {
        return self->AnswerLast(ErrorResponse(413, "the body is too large"));
      }
      if (IsNoHttp(error)) {
        return self->AnswerLast(ErrorResponse(400, "the body is no HTTP: " + error.message()));
      }
      if (error) return self->Close();
      self->Handle();
    });
  }

  void Handle() {
    request_.body = std::move(parser_->get().body());
    parser_.reset();
    cancelled_ = std::make_shared<std::atomic<bool>>(false);
    request_.cancelled = cancelled_;
    tcp_stream().expires_never();
    WatchForGone();
    shared_->rest.Handle(std::move(request_), [self = Self()](HttpResponse response) {
      asio::post(self->stream_.get_executor(), [self, response = std::move(response)]() mutable {
        if (response.events != nullptr) return self->BeginEvents(std::move(response));
        error_code ignored;
        self->socket().cancel(ignored);  // what WatchForGone waits for
        self->Answer(std::move(response));
      });
    });
  }

  // While the request is answered nothing is to be read, unless the client has gone or sends the
  // next one ahead.
  void WatchForGone() {
    socket().async_wait(
        tcp::socket::wait_read, [self = Self(), cancelled = cancelled_](error_code error) {
          if (error) return;
          char byte = 0;
          if (::recv(self->socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0) {
            cancelled->store(true);
          }
        });
  }

  void AnswerLast(HttpResponse response) {
    keep_alive_ = false;
    Answer(std::move(response));
  }

  void Answer(HttpResponse response) {
    response_ = std::move(response);
    if (shared_->stopping) keep_alive_ = false;
    header_ = Head(fmt::format("Content-Length: {}\r\n", response_.body.size()));
    const std::array<asio::const_buffer, 2> parts = {
        asio::buffer(header_),
        asio::buffer(response_.body.data(), head_only_ ? 0 : response_.body.size())};
    tcp_stream().expires_after(shared_->options.write_timeout);
    asio::async_write(stream_, parts, [self = Self()](error_code error, size_t) {
      self->response_ = {};
      self->share_.Release();
      if (error) return self->Close();
      if (!self->keep_alive_) return self->SayGoodbye();
      self->ReadHead(self->shared_->options.idle_timeout);
    });
  }

  std::string Head(const std::string& length) const {
    std::string head = fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\n{}", response_.status,
                                   HttpReason(response_.status), response_.content_type, length);
    for (const auto& [name, value] : response_.headers) head += name + ": " + value + "\r\n";
    if (!keep_alive_) {
      head += "Connection: close\r\n";
    } else if (old_version_) {
      head += "Connection: keep-alive\r\n";
    }
    return head + "X-Content-Type-Options: nosniff\r\n\r\n";
  }

  // Events until there are no more, the client has gone, or the server stops; then the connection
  // ends too.
  void BeginEvents(HttpResponse response) {
    if (shared_->watches.fetch_add(1) >= shared_->options.max_watches) {
      shared_->watches.fetch_sub(1);
      return Answer(ErrorResponse({StatusCode::kResourceExhausted, "there are too many watches"}));
    }
    watching_ = true;
    keep_alive_ = false;
    response_ = std::move(response);
    header_ = Head(old_version_ ? "" : "Transfer-Encoding: chunked\r\n");
    if (head_only_) return Write(header_, [](Session& self) { self.SayGoodbye(); });
    Write(header_, [](Session& self) { self.NextEvent(); });
  }

  void NextEvent() {
    const auto now = std::chrono::steady_clock::now();
    std::string data;
    if (*cancelled_) return Close();
    if (shared_->stopping || (now >= next_event_ && !response_.events->look(data))) {
      header_ = old_version_ ? "" : "0\r\n\r\n";
      return Write(header_, [](Session& self) { self.SayGoodbye(); });
    }
    if (now >= next_event_ && data != last_event_) {
      last_event_ = std::move(data);
      next_event_ = now + response_.events->interval;
      return SendEvent("data: " + last_event_ + "\n\n");
    }
    // A client that has gone without a word is only noticed when something is sent: a comment.
    if (now >= last_sent_ + kSignOfLife) return SendEvent(":\n\n");
    WaitForEvent();
  }

  void SendEvent(const std::string& event) {
    last_sent_ = std::chrono::steady_clock::now();
    header_ = old_version_ ? event : fmt::format("{:x}\r\n{}\r\n", event.size(), event);
    Write(header_, [](Session& self) { self.WaitForEvent(); });
  }

  void WaitForEvent() {
    tcp_stream().expires_never();
    tick_.expires_after(std::chrono::milliseconds(100));
    tick_.async_wait([self = Self()](error_code error) {
      if (!error) self->NextEvent();
    });
  }

  // `text` stays as it is until `then(*this)`, which is not called if the client does not take it.
  template <class Then>
  void Write(const std::string& text, Then then) {
    tcp_stream().expires_after(shared_->options.write_timeout);
    asio::async_write(stream_, asio::buffer(text), [self = Self(), then](error_code error, size_t) {
      if (error) return self->Close();
      then(*self);
    });
  }

  // Closes so that the client can still read the answer: what it goes on sending is read and
  // dropped for a moment, since closing with bytes unread would reset the connection.
  void SayGoodbye() {
    if constexpr (kTls) {
      tcp_stream().expires_after(std::chrono::seconds(2));
      stream_.async_shutdown([self = Self()](error_code) { self->FinishSending(); });
    } else {
      FinishSending();
    }
  }

  void FinishSending() {
    error_code ignored;
    socket().shutdown(tcp::socket::shutdown_send, ignored);
    goodbye_until_ = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    Drop();
  }

  void Drop() {
    if (std::chrono::steady_clock::now() > goodbye_until_) return Close();
    tcp_stream().expires_after(std::chrono::seconds(2));
    dropped_.resize(kReadAhead);
    tcp_stream().async_read_some(asio::buffer(dropped_), [self = Self()](error_code error, size_t) {
      if (error) return self->Close();
      self->Drop();
    });
  }

  void Close() {
    tick_.cancel();
    error_code ignored;
    socket().close(ignored);
  }

  Stream stream_;
  BodyShare share_;
  asio::steady_timer tick_;
  std::string last_event_;
  std::chrono::steady_clock::time_point next_event_, last_sent_;
  bool watching_ = false;
  beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  HttpRequest request_;
  HttpResponse response_;
  std::string header_;
  std::vector<char> dropped_;
  std::chrono::steady_clock::time_point goodbye_until_;
  std::shared_ptr<std::atomic<bool>> cancelled_ = std::make_shared<std::atomic<bool>>(false);
  bool waiting_ = false;  // for a request, or a handshake
  bool keep_alive_ = false, old_version_ = false, head_only_ = false;
};

}  // namespace catamaran::http_internal
