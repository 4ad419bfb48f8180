#include "catamaran/serve/wire/http/http_message.h"

#include <fmt/format.h>

#include <iterator>

#include "catamaran/serve/wire/json_text.h"

namespace catamaran {
namespace {

int HttpCode(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return 200;
    case StatusCode::kInvalidArgument:
      return 400;
    case StatusCode::kNotFound:
      return 404;
    case StatusCode::kFailedPrecondition:
      return 409;
    case StatusCode::kResourceExhausted:
      return 429;
    case StatusCode::kDeadlineExceeded:
      return 504;
    case StatusCode::kUnavailable:
      return 503;
    case StatusCode::kCancelled:
      return 499;
    case StatusCode::kUnauthenticated:
      return 401;
    case StatusCode::kPermissionDenied:
      return 403;
    case StatusCode::kInternal:
      return 500;
  }
  return 500;
}

}  // namespace

HttpResponse ErrorResponse(const Status& status) {
  HttpResponse response = ErrorResponse(
      HttpCode(status.code), status.message.empty() ? Name(status.code) : status.message);
  if (status.code == StatusCode::kUnauthenticated) {
    response.headers.emplace_back("WWW-Authenticate", "Bearer");
  }
  if (status.code == StatusCode::kResourceExhausted || status.code == StatusCode::kUnavailable) {
    response.headers.emplace_back("Retry-After", "1");
  }
  return response;
}

HttpResponse ErrorResponse(int code, const std::string& message) {
  HttpResponse response;
  response.status = code;
  response.body = "{\"error\":";
  AppendJsonMessage(response.body, message);
  response.body += '}';
  return response;
}

const char* HttpReason(int code) {
  switch (code) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    case 413:
      return "Payload Too Large";
    case 415:
      return "Unsupported Media Type";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 499:
      return "Client Closed Request";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "";
  }
}

void AppendHead(const HttpResponse& response, bool old_version, std::string& out) {
  if (response.status == 200) {
    out += "HTTP/1.1 200 OK\r\nContent-Type: ";
  } else {
    fmt::format_to(std::back_inserter(out), "HTTP/1.1 {} {}\r\nContent-Type: ", response.status,
                   HttpReason(response.status));
  }
  out += response.content_type;
  if (response.events == nullptr) {
    out += "\r\nContent-Length: ";
    out += fmt::format_int(response.body.size()).c_str();
  } else if (!old_version) {
    out += "\r\nTransfer-Encoding: chunked";
  }
  for (const auto& [name, value] : response.headers) {
    out += "\r\n";
    out += name;
    out += ": ";
    out += value;
  }
  out += "\r\nX-Content-Type-Options: nosniff\r\n";
}

}  // namespace catamaran
