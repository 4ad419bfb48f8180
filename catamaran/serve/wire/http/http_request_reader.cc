#include "catamaran/serve/wire/http/http_request_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace catamaran {
namespace {

constexpr int kBadRequest = 400, kTooLarge = 413, kHeadTooLarge = 431, kNotImplemented = 501,
              kVersionNotSupported = 505;

// Sixteen hexadecimal digits are a size_t.
constexpr int kMostChunkDigits = 16;

// Fields that a request may have once.
enum Field : uint32_t {
  kHost = 1,
  kContentLength = 2,
  kTransferEncoding = 4,
  kAuthorization = 8,
  kOrigin = 16,
  kContentEncoding = 32,
  kInferenceHeaderLength = 64,
  kExpect = 128,
};

constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }
constexpr char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

constexpr bool IsTokenChar(char c) {
  const char lower = Lower(c);
  return IsDigit(c) || (lower >= 'a' && lower <= 'z') ||
         (c != '\0' && std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos);
}

constexpr std::array<bool, 256> kTokenChars = [] {
  std::array<bool, 256> is = {};
  for (int i = 0; i < 256; ++i) is[static_cast<size_t>(i)] = IsTokenChar(static_cast<char>(i));
  return is;
}();

bool IsToken(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return kTokenChars[static_cast<unsigned char>(c)];
  });
}

// What may stand in a line: no control characters but the tab.
bool IsLineChar(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte == '\t' || (byte >= 0x20 && byte != 0x7f);
}

// `lower` is in small letters.
bool Equals(std::string_view text, std::string_view lower) {
  return text.size() == lower.size() && std::equal(text.begin(), text.end(), lower.begin(),
                                                   [](char a, char b) { return Lower(a) == b; });
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// A name or an address, and a port.
bool IsAuthority(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return IsDigit(c) || (Lower(c) >= 'a' && Lower(c) <= 'z') ||
           std::string_view("-._~%:[]").find(c) != std::string_view::npos;
  });
}

int HexDigit(char c) {
  if (IsDigit(c)) return c - '0';
  const char lower = Lower(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// "FIELD: VALUE"; false if it is no such line.
bool SplitField(std::string_view line, std::string_view& name, std::string_view& value) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return false;
  name = line.substr(0, colon);
  value = Trimmed(line.substr(colon + 1));
  return IsToken(name);
}

// For a message: a client's text, cut short.
std::string Shown(std::string_view text) {
  std::string shown;
  for (const char c : text.substr(0, 40)) {
    const auto byte = static_cast<unsigned char>(c);
    shown += byte >= 0x20 && byte < 0x7f ? c : '?';
  }
  return shown;
}

}  // namespace

RequestReader::RequestReader(HttpRequest& request, size_t max_head_bytes, size_t max_body_bytes)
    : request_(request), max_head_bytes_(max_head_bytes), max_body_bytes_(max_body_bytes) {
  HttpHead& head = request_.head;
  for (std::string* text :
       {&head.method, &head.target, &head.authorization, &head.host, &head.origin,
        &head.content_encoding, &head.inference_header_length, &request_.body}) {
    text->clear();
  }
}

void RequestReader::Refuse(int code, std::string why) {
  if (is_refused()) return;  // the first counts
  part_ = Part::kRefused;
  refusal_code_ = code;
  refusal_ = std::move(why);
}

size_t RequestReader::Put(std::string_view bytes) {
  return part_ == Part::kHead ? PutHead(bytes) : PutBody(bytes);
}

// Takes all of the head or nothing.
size_t RequestReader::PutHead(std::string_view bytes) {
  for (; scanned_ < bytes.size(); ++scanned_) {
    const char c = bytes[scanned_];
    const bool after_cr = scanned_ > 0 && bytes[scanned_ - 1] == '\r';
    if (scanned_ >= max_head_bytes_) {
      Refuse(kHeadTooLarge, "the request's headers are too long");
      return 0;
    }
    if ((c == '\n') != after_cr) {
      Refuse(kBadRequest,
             "this is no HTTP request: a line ends in CR LF, and neither stands alone");
      return 0;
    }
    if (c == '\r') continue;
    if (c != '\n') {
      if (!IsLineChar(c)) {
        Refuse(kBadRequest, fmt::format("this is no HTTP request: byte 0x{:02x} in its head",
                                        static_cast<unsigned char>(c)));
        return 0;
      }
      continue;
    }
    const bool empty = scanned_ - line_begin_ == 1;
    if (empty && line_begin_ > (skipped_line_ ? 2 : 0)) {
      const size_t end = scanned_ + 1;
      const size_t begin = skipped_line_ ? 2 : 0;
      ReadHead(bytes.substr(begin, end - 2 - begin));
      return is_refused() ? 0 : end;
    }
    // Some clients send one empty line behind a body.
    if (empty && std::exchange(skipped_line_, true)) {
      Refuse(kBadRequest, "this is no HTTP request: it begins with empty lines");
      return 0;
    }
    line_begin_ = scanned_ + 1;
  }
  return 0;
}

// The lines of a head, each with its CR LF.
void RequestReader::ReadHead(std::string_view head) {
  size_t end = head.find("\r\n");
  ReadRequestLine(head.substr(0, end));
  while (!is_refused()) {
    head.remove_prefix(end + 2);
    if (head.empty()) break;
    end = head.find("\r\n");
    ReadField(head.substr(0, end));
  }
  if (!is_refused()) EndHead();
}

void RequestReader::ReadRequestLine(std::string_view line) {
  const size_t first = line.find(' ');
  const size_t second = first == line.npos ? line.npos : line.find(' ', first + 1);
  if (second == line.npos || !IsToken(line.substr(0, first))) {
    return Refuse(kBadRequest,
                  "this is no HTTP request: its first line is a method, a target and a version");
  }
  const std::string_view version = line.substr(second + 1);
  if (version != "HTTP/1.1" && version != "HTTP/1.0") {
    const bool other = version.size() == 8 && version.starts_with("HTTP/") && IsDigit(version[5]) &&
                       version[6] == '.' && IsDigit(version[7]);
    return Refuse(other ? kVersionNotSupported : kBadRequest,
                  fmt::format("'{}' is not HTTP/1.1 or HTTP/1.0", Shown(version)));
  }
  is_old_version_ = version == "HTTP/1.0";
  request_.head.method = line.substr(0, first);
  ReadTarget(line.substr(first + 1, second - first - 1));
}

// "/path?query", "*", or a URI of http: then its host counts, whatever the Host field says.
void RequestReader::ReadTarget(std::string_view target) {
  const bool visible = std::all_of(target.begin(), target.end(),
                                   [](char c) { return c > 0x20 && c < 0x7f && c != '#'; });
  if (visible && (target.starts_with('/') || target == "*")) {
    request_.head.target = target;
    return;
  }
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!visible || !Equals(target.substr(0, scheme.size()), scheme)) continue;
    std::string_view rest = target.substr(scheme.size());
    const std::string_view authority = rest.substr(0, rest.find_first_of("/?"));
    if (!IsAuthority(authority)) break;
    rest.remove_prefix(authority.size());
    authority_ = authority;
    request_.head.target = rest.starts_with('/') ? "" : "/";
    request_.head.target += rest;
    return;
  }
  Refuse(kBadRequest, fmt::format("this is no HTTP request: '{}' is no target", Shown(target)));
}

bool RequestReader::Once(uint32_t field, std::string_view name) {
  if ((fields_ & field) != 0) {
    Refuse(kBadRequest, fmt::format("the request has the field {} twice", Shown(name)));
    return false;
  }
  fields_ |= field;
  return true;
}

void RequestReader::ReadField(std::string_view line) {
  std::string_view name, value;
  if (!SplitField(line, name, value)) {
    return Refuse(
        kBadRequest,
        fmt::format(
            "this is no HTTP request: '{}' is no line 'FIELD: VALUE'{}", Shown(line),
            line.starts_with(' ') || line.starts_with('\t') ? "; lines are not folded" : ""));
  }
  HttpHead& head = request_.head;
  const auto keep = [&](Field field, std::string& text) {
    if (Once(field, name)) text = value;
  };
  switch (name.size()) {
    case 4:
      if (Equals(name, "host")) keep(kHost, head.host);
      break;
    case 6:
      if (Equals(name, "origin")) keep(kOrigin, head.origin);
      if (Equals(name, "expect") && Once(kExpect, name)) {
        expects_continue_ = Equals(value, "100-continue");
      }
      break;
    case 10:
      if (Equals(name, "connection")) ReadConnection(value);
      break;
    case 13:
      if (Equals(name, "authorization")) keep(kAuthorization, head.authorization);
      break;
    case 14:
      if (Equals(name, "content-length") && Once(kContentLength, name)) ReadContentLength(value);
      break;
    case 16:
      if (Equals(name, "content-encoding")) keep(kContentEncoding, head.content_encoding);
      break;
    case 17:
      if (Equals(name, "transfer-encoding") && Once(kTransferEncoding, name)) {
        chunked_ = Equals(value, "chunked");
        if (!chunked_) {
          Refuse(kNotImplemented,
                 fmt::format("Transfer-Encoding '{}' is not known here; 'chunked' alone is",
                             Shown(value)));
        }
      }
      break;
    case 31:
      if (Equals(name, "inference-header-content-length")) {
        keep(kInferenceHeaderLength, head.inference_header_length);
      }
      break;
    default:
      break;
  }
}

void RequestReader::ReadContentLength(std::string_view value) {
  size_t length = 0;
  bool good = !value.empty();
  for (const char c : value) {
    good = good && IsDigit(c) && !__builtin_mul_overflow(length, size_t{10}, &length) &&
           !__builtin_add_overflow(length, static_cast<size_t>(c - '0'), &length);
  }
  if (!good) {
    return Refuse(kBadRequest,
                  fmt::format("Content-Length '{}' is no number of bytes", Shown(value)));
  }
  body_length_ = length;
}

void RequestReader::ReadConnection(std::string_view value) {
  while (!value.empty()) {
    const std::string_view option = value.substr(0, value.find(','));
    value.remove_prefix(std::min(option.size() + 1, value.size()));
    says_close_ |= Equals(Trimmed(option), "close");
    says_keep_alive_ |= Equals(Trimmed(option), "keep-alive");
  }
}

void RequestReader::EndHead() {
  const bool has_host = (fields_ & kHost) != 0;
  if (!has_host && !is_old_version_) {
    return Refuse(kBadRequest, "the request has no Host field, which HTTP/1.1 wants");
  }
  HttpHead& head = request_.head;
  if (has_host && !IsAuthority(head.host)) {
    return Refuse(kBadRequest, fmt::format("'{}' is no host", Shown(head.host)));
  }
  if (!authority_.empty()) head.host = authority_;
  if (chunked_ && (fields_ & kContentLength) != 0) {
    return Refuse(kBadRequest, "the request has both Transfer-Encoding and Content-Length");
  }
  if (chunked_ && is_old_version_) {
    return Refuse(kBadRequest, "HTTP/1.0 has no Transfer-Encoding");
  }
  keep_alive_ = !says_close_ && (!is_old_version_ || says_keep_alive_);
  part_ = chunked_ ? Part::kChunkSize : body_length_ > 0 ? Part::kBody : Part::kDone;
}

size_t RequestReader::PutBody(std::string_view bytes) {
  std::string& body = request_.body;
  if (part_ == Part::kBody) {
    if (body_length_ > max_body_bytes_) {
      Refuse(kTooLarge, "the body is too large");
      return 0;
    }
    if (body.empty()) body.reserve(body_length_);
    const size_t taken = std::min(bytes.size(), body_length_ - body.size());
    body.append(bytes.substr(0, taken));
    if (body.size() == body_length_) part_ = Part::kDone;
    return taken;
  }
  size_t used = 0;
  while (used < bytes.size() && !is_done() && !is_refused()) {
    if (part_ == Part::kChunk) {
      const size_t taken = std::min(bytes.size() - used, chunk_left_);
      body.append(bytes.substr(used, taken));
      used += taken;
      chunk_left_ -= taken;
      if (chunk_left_ == 0) part_ = Part::kChunkEnd;
    } else {
      PutChunkByte(bytes[used++]);
    }
  }
  return used;
}

void RequestReader::PutChunkByte(char c) {
  const auto bad = [this] { Refuse(kBadRequest, "a chunk of the body is malformed"); };
  switch (part_) {
    case Part::kChunkSize:
      if (const int digit = HexDigit(c); digit >= 0) {
        if (++chunk_digits_ > kMostChunkDigits) return bad();
        chunk_left_ = chunk_left_ * 16 + static_cast<size_t>(digit);
      } else if (chunk_digits_ == 0) {
        bad();
      } else if (c == ';') {
        part_ = Part::kChunkExtension;
      } else if (c == '\r') {
        part_ = Part::kChunkSizeEnd;
      } else {
        bad();
      }
      return;
    case Part::kChunkExtension:  // passed over
      if (c == '\r') {
        part_ = Part::kChunkSizeEnd;
      } else if (!IsLineChar(c) || ++extension_bytes_ > max_head_bytes_) {
        bad();
      }
      return;
    case Part::kChunkSizeEnd:
      return c == '\n' ? EndChunkSize() : bad();
    case Part::kChunkEnd:
      part_ = Part::kChunkEndLine;
      return c == '\r' ? void() : bad();
    case Part::kChunkEndLine:
      part_ = Part::kChunkSize;
      return c == '\n' ? void() : bad();
    case Part::kTrailer:
      if (++trailer_bytes_ > max_head_bytes_) {
        Refuse(kHeadTooLarge, "the fields behind the body are too long");
      } else if (c == '\r') {
        part_ = Part::kTrailerEnd;
      } else if (IsLineChar(c)) {
        trailer_line_ += c;
      } else {
        bad();
      }
      return;
    case Part::kTrailerEnd:
      return c == '\n' ? EndTrailerLine() : bad();
    default:
      return bad();
  }
}

void RequestReader::EndChunkSize() {
  chunk_digits_ = 0;
  if (chunk_left_ > max_body_bytes_ - std::min(request_.body.size(), max_body_bytes_)) {
    return Refuse(kTooLarge, "the body is too large");
  }
  part_ = chunk_left_ > 0 ? Part::kChunk : Part::kTrailer;
}

// Fields behind the body are checked and left: none of them may change what the head said.
void RequestReader::EndTrailerLine() {
  part_ = Part::kTrailer;
  std::string_view name, value;
  if (trailer_line_.empty()) {
    part_ = Part::kDone;
  } else if (!SplitField(trailer_line_, name, value)) {
    Refuse(kBadRequest, "a field behind the body is malformed");
  }
  trailer_line_.clear();
}

}  // namespace catamaran
