// serve/wire/http/http_request_reader.h
//
// Takes a request apart as its bytes come in: Beast's grammar, with what is of use here written
// straight into an HttpRequest, whose memory is used again from one request to the next. Other
// fields are checked and passed over.
//
// For http_session.h only: it includes Boost.

#pragma once

#include <boost/beast/core/string.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>
#include <string>
#include <string_view>

#include "catamaran/serve/wire/http/http_message.h"

namespace catamaran::http_internal {

class RequestReader final : public boost::beast::http::basic_parser<true> {
 public:
  // `request` outlives it; what it said before is gone.
  RequestReader(HttpRequest& request, size_t max_header_bytes, size_t max_body_bytes)
      : request_(request) {
    HttpHead& head = request_.head;
    for (std::string* text :
         {&head.method, &head.target, &head.authorization, &head.host, &head.origin,
          &head.content_encoding, &head.inference_header_length, &request_.body}) {
      text->clear();
    }
    header_limit(static_cast<uint32_t>(max_header_bytes));
    body_limit(max_body_bytes);
  }

  bool is_head() const { return is_head_; }
  bool is_old_version() const { return is_old_version_; }
  bool expects_continue() const { return expects_continue_; }

 private:
  using Error = boost::system::error_code;
  using View = boost::beast::string_view;
  using Field = boost::beast::http::field;

  // Of fields that come twice, the first counts.
  static void Set(std::string& text, View value) {
    if (text.empty()) text.assign(value.data(), value.size());
  }

  void on_request_impl(boost::beast::http::verb verb, View method, View target, int version,
                       Error&) override {
    is_head_ = verb == boost::beast::http::verb::head;
    is_old_version_ = version < 11;
    Set(request_.head.method, method);
    Set(request_.head.target, target);
  }

  void on_field_impl(Field field, View name, View value, Error&) override {
    HttpHead& head = request_.head;
    switch (field) {
      case Field::authorization:
        return Set(head.authorization, value);
      case Field::host:
        return Set(head.host, value);
      case Field::origin:
        return Set(head.origin, value);
      case Field::content_encoding:
        return Set(head.content_encoding, value);
      case Field::expect:
        expects_continue_ = boost::beast::iequals(value, "100-continue");
        return;
      case Field::unknown:
        if (boost::beast::iequals(name, "Inference-Header-Content-Length")) {
          Set(head.inference_header_length, value);
        }
        return;
      default:
        return;
    }
  }

  void on_body_init_impl(const boost::optional<std::uint64_t>& length, Error&) override {
    if (length) request_.body.reserve(*length);
  }
  size_t on_body_impl(View bytes, Error&) override {
    request_.body.append(bytes.data(), bytes.size());
    return bytes.size();
  }
  size_t on_chunk_body_impl(std::uint64_t, View bytes, Error& error) override {
    return on_body_impl(bytes, error);
  }
  void on_response_impl(int, View, int, Error&) override {}
  void on_header_impl(Error&) override {}
  void on_chunk_header_impl(std::uint64_t, View, Error&) override {}
  void on_finish_impl(Error&) override {}

  HttpRequest& request_;
  bool is_head_ = false, is_old_version_ = false, expects_continue_ = false;
};

// Whether the client sent something that is no HTTP.
inline bool IsNoHttp(const boost::system::error_code& error) {
  static const auto& category =
      boost::beast::http::make_error_code(boost::beast::http::error::bad_version).category();
  return error.category() == category;
}

}  // namespace catamaran::http_internal
