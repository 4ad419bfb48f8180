// serve/wire/http/http_session.h
//
// One connection of an HttpServer. Each belongs to one loop, whose thread does all for it:
//
//   (handshake) -> head -> refused? -> body -> RestService -> answer -> head -> ...
//
// and is alive while one of these holds it. An answer that is there at once, and that the socket
// takes at once, costs one read, one write and no timer.
//
// For http_server.cc only: it includes Boost.

#pragma once

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream_base.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/buffers_suffix.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/stream_traits.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "catamaran/serve/wire/http/http_connection.h"
#include "catamaran/serve/wire/http/http_deadline.h"
#include "catamaran/serve/wire/http/http_request_reader.h"

namespace catamaran::http_internal {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;
using boost::system::error_code;

// With the executor's type known, nothing is allocated to pass handlers on.
using PlainStream = asio::basic_stream_socket<tcp, LoopExecutor>;
using TlsStream = beast::ssl_stream<PlainStream>;

template <class Stream>
class Session final : public Connection {
 public:
  // For a TlsStream with its context.
  template <class... Context>
  Session(std::shared_ptr<Shared> shared, std::atomic<int>& of_loop, PlainStream socket,
          Context&... context)
      : Connection(std::move(shared), of_loop),
        stream_(std::move(socket), context...),
        share_(*shared_),
        deadline_(stream_.get_executor()),
        buffer_(shared_->options.max_header_bytes + kMostRead),
        tick_(stream_.get_executor()) {
    request_.cancelled = cancelled_;
  }

  ~Session() override {
    if (watching_) shared_->watches.fetch_sub(1);
  }

  void Start() {
    asio::dispatch(stream_.get_executor(), [self = Self()] {
      error_code ignored;
      self->socket().set_option(tcp::no_delay(true), ignored);
      self->socket().non_blocking(true, ignored);
      self->Begin();
    });
  }

  void End(bool force) override {
    asio::post(stream_.get_executor(), [self = Self(), force] {
      if (force) self->cancelled_->store(true);
      if (force || self->waiting_) self->Close();
    });
  }

  // For Deadline.
  Deadline<Session>& deadline() { return deadline_; }
  void OnDeadline() { Close(); }

 private:
  static constexpr bool kTls = std::is_same_v<Stream, TlsStream>;
  static constexpr size_t kLeastRead = 4 << 10, kMostRead = 64 << 10;
  static constexpr size_t kKeptBytes = 16 << 10;  // of a body's memory, for the next
  static constexpr std::chrono::seconds kSignOfLife{15}, kGoodbye{2};

  std::shared_ptr<Session> Self() {
    return std::static_pointer_cast<Session>(this->shared_from_this());
  }
  PlainStream& socket() { return beast::get_lowest_layer(stream_); }
  void ExpireAfter(std::chrono::milliseconds time) { deadline_.After(time, Self()); }

  void Begin() {
    if (shared_->stopping) return Close();
    if constexpr (kTls) {
      waiting_ = true;
      ExpireAfter(shared_->options.handshake_timeout);
      stream_.async_handshake(asio::ssl::stream_base::server, [self = Self()](error_code error) {
        self->waiting_ = false;
        if (!error) self->NextRequest(self->shared_->options.header_timeout);
      });
    } else {
      NextRequest(shared_->options.header_timeout);
    }
  }

  void NextRequest(std::chrono::milliseconds timeout) {
    if (shared_->stopping) return Close();
    reader_.emplace(request_, shared_->options.max_header_bytes, shared_->options.max_body_bytes);
    waiting_ = true;
    ExpireAfter(timeout);
    if (buffer_.size() == 0) return ReadSome();
    // Sent ahead; others come first.
    asio::post(stream_.get_executor(), [self = Self()] { self->Read(); });
  }

  void ReadSome() {
    const size_t size = ReadSize();
    if (size == 0) return Close();  // not before the reader refuses so long a head
    stream_.async_read_some(buffer_.prepare(size), [self = Self()](error_code error, size_t bytes) {
      if (error) return self->Close();
      self->buffer_.commit(bytes);
      self->Read();
    });
  }

  // Little for a head, so that connections that wait for one cost little.
  size_t ReadSize() const {
    size_t wanted = buffer_.capacity() - buffer_.size();
    if (reader_->is_head_done()) {
      const auto length = reader_->body_length();
      wanted = std::max(wanted, length ? *length - request_.body.size() : kMostRead);
    }
    return std::min(std::clamp(wanted, kLeastRead, kMostRead), buffer_.max_size() - buffer_.size());
  }

  // Takes what was read apart, and handles the request once all of it is there.
  void Read() {
    while (!reader_->is_done()) {
      if (buffer_.size() == 0) return ReadSome();
      const bool in_head = !reader_->is_head_done();
      const size_t used =
          reader_->Put({static_cast<const char*>(buffer_.data().data()), buffer_.size()});
      buffer_.consume(used);
      if (reader_->is_refused()) return Reject();
      if (in_head && !reader_->is_head_done()) return ReadSome();
      if (in_head && !OnHead()) return;
    }
    Handle();
  }

  // Where this request ends nobody knows, so nothing can follow.
  void Reject() {
    waiting_ = false;
    shared_->malformed->Add();
    AnswerLast(ErrorResponse(reader_->refusal_code(), reader_->refusal()));
  }

  // False if the body is not to be read, or not yet.
  bool OnHead() {
    waiting_ = false;
    head_only_ = reader_->is_head();
    keep_alive_ = reader_->keep_alive();
    old_version_ = reader_->is_old_version();
    std::optional<HttpResponse> refused = shared_->rest.Refuse(request_.head, admitted_);
    const auto length = reader_->body_length();
    if (!refused && length && *length > admitted_.max_body) {
      refused = ErrorResponse(413, fmt::format("the body has {} bytes; {} at most are taken",
                                               *length, admitted_.max_body));
    }
    if (!refused && !reader_->is_done()) {
      reader_->LimitBody(admitted_.max_body);
      // A body without a length counts as large as it may be.
      if (!share_.Take(length ? *length : admitted_.max_body)) {
        refused = ErrorResponse({StatusCode::kResourceExhausted, "too many bodies are under way"});
      }
    }
    if (refused) {
      // What is left of the request is not read, so nothing can follow.
      if (!reader_->is_done()) keep_alive_ = false;
      Answer(std::move(*refused));
      return false;
    }
    if (reader_->is_done() || (length && *length <= buffer_.size())) return true;
    ExpireAfter(shared_->options.body_timeout);
    if (!reader_->expects_continue()) return true;
    static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    asio::async_write(stream_, asio::buffer(kContinue.data(), kContinue.size()),
                      [self = Self()](error_code failed, size_t) {
                        if (!failed) self->Read();
                      });
    return false;
  }

  void Handle() {
    deadline_.Never();
    in_handle_ = true;
    shared_->rest.Handle(request_, admitted_.route, [self = Self()](HttpResponse response) {
      self->OnAnswer(std::move(response));
    });
    in_handle_ = false;
    if (request_.body.capacity() > kKeptBytes) request_.body = std::string();
    if (!answer_) return WatchForGone();
    HttpResponse answer = std::move(*answer_);
    answer_.reset();
    Send(std::move(answer));
  }

  // From any thread; mostly from within Handle.
  void OnAnswer(HttpResponse response) {
    if (stream_.get_executor().running_in_this_thread() && in_handle_) {
      answer_ = std::move(response);
      return;
    }
    asio::post(stream_.get_executor(), [self = Self(), response = std::move(response)]() mutable {
      if (response.events == nullptr) {
        error_code ignored;
        self->socket().cancel(ignored);  // what WatchForGone waits for
      }
      self->Send(std::move(response));
    });
  }

  void Send(HttpResponse response) {
    if (response.events == nullptr) return Answer(std::move(response));
    if (!watched_) WatchForGone();
    BeginEvents(std::move(response));
  }

  // While the request is answered nothing is to be read, unless the client has gone or sends the
  // next one ahead.
  void WatchForGone() {
    watched_ = true;
    socket().async_wait(tcp::socket::wait_read, [self = Self()](error_code error) {
      self->watched_ = false;
      if (error) return;
      char byte = 0;
      if (::recv(self->socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0) {
        self->cancelled_->store(true);
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
    WriteHead();
    const std::array<asio::const_buffer, 2> parts = {
        asio::buffer(header_),
        asio::buffer(response_.body.data(), head_only_ ? 0 : response_.body.size())};
    beast::buffers_suffix<std::array<asio::const_buffer, 2>> rest(parts);
    if constexpr (!kTls) {
      // Mostly the socket takes all of it.
      error_code error;
      const size_t sent = stream_.write_some(parts, error);
      if (error && error != asio::error::would_block) return Close();
      if (sent == asio::buffer_size(parts)) return OnAnswered();
      rest.consume(sent);
    }
    ExpireAfter(shared_->options.write_timeout);
    asio::async_write(stream_, rest, [self = Self()](error_code error, size_t) {
      if (error) return self->Close();
      self->OnAnswered();
    });
  }

  void OnAnswered() {
    response_ = {};
    share_.Release();
    if (!keep_alive_) return SayGoodbye();
    NextRequest(shared_->options.idle_timeout);
  }

  void WriteHead() {
    header_.clear();
    AppendHead(response_, old_version_, header_);
    if (!keep_alive_) {
      header_ += "Connection: close\r\n";
    } else if (old_version_) {
      header_ += "Connection: keep-alive\r\n";
    }
    header_ += "\r\n";
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
    WriteHead();
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
    deadline_.Never();
    tick_.expires_after(std::chrono::milliseconds(100));
    tick_.async_wait([self = Self()](error_code error) {
      if (!error) self->NextEvent();
    });
  }

  // `text` stays as it is until `then(*this)`, which is not called if the client does not take it.
  template <class Then>
  void Write(const std::string& text, Then then) {
    ExpireAfter(shared_->options.write_timeout);
    asio::async_write(stream_, asio::buffer(text), [self = Self(), then](error_code error, size_t) {
      if (error) return self->Close();
      then(*self);
    });
  }

  // Closes so that the client can still read the answer: what it goes on sending is read and
  // dropped for a moment, since closing with bytes unread would reset the connection.
  void SayGoodbye() {
    if constexpr (kTls) {
      ExpireAfter(kGoodbye);
      stream_.async_shutdown([self = Self()](error_code) { self->FinishSending(); });
    } else {
      FinishSending();
    }
  }

  void FinishSending() {
    error_code ignored;
    socket().shutdown(tcp::socket::shutdown_send, ignored);
    ExpireAfter(kGoodbye);
    Drop();
  }

  void Drop() {
    dropped_.resize(kMostRead);
    socket().async_read_some(asio::buffer(dropped_), [self = Self()](error_code error, size_t) {
      if (error) return self->Close();
      self->Drop();
    });
  }

  void Close() {
    tick_.cancel();
    deadline_.Cancel();
    error_code ignored;
    socket().close(ignored);
  }

  Stream stream_;
  BodyShare share_;
  Deadline<Session> deadline_;

  // The request.
  beast::flat_buffer buffer_;
  HttpRequest request_;
  std::optional<RequestReader> reader_;
  AdmittedCall admitted_;
  // Nobody waits for answers on this connection any more.
  const std::shared_ptr<std::atomic<bool>> cancelled_ = std::make_shared<std::atomic<bool>>(false);
  bool waiting_ = false;  // for a request, or a handshake
  bool keep_alive_ = false, old_version_ = false, head_only_ = false;

  // Its answer.
  bool in_handle_ = false;
  std::optional<HttpResponse> answer_;  // that came in Handle
  bool watched_ = false;
  HttpResponse response_;
  std::string header_;

  // Events.
  LoopTimer tick_;
  std::string last_event_;
  std::chrono::steady_clock::time_point next_event_, last_sent_;
  bool watching_ = false;

  std::vector<char> dropped_;
};

}  // namespace catamaran::http_internal
