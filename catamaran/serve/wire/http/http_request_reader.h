// serve/wire/http/http_request_reader.h
//
// Takes a request apart as its bytes come in, by the grammar of RFC 9112 and nothing wider. Where
// two readers of one stream disagree about where a request ends, one client's bytes become part of
// another's request. So whatever RFC 9112 leaves to the reader's goodwill is refused: lines that do
// not end in CR LF, folded lines, blanks before a colon, two lengths, codings other than `chunked`.
// After a refusal nothing more of the connection may be read.
//
// An HttpRequest's memory is used again from one request to the next.
//
// Thread safety: one thread at a time.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "catamaran/serve/wire/http/http_message.h"

namespace catamaran {

class RequestReader {
 public:
  // `request` outlives it and is cleared.
  RequestReader(HttpRequest& request, size_t max_head_bytes, size_t max_body_bytes);

  // Takes what it can use of `bytes` and returns how much that was. What it did not take stands at
  // the beginning of the next call's bytes. It stops behind the head, and behind the request.
  // Nothing taken, not done and not refused: it needs more. REQUIRES: neither done nor refused.
  size_t Put(std::string_view bytes);

  bool is_head_done() const { return part_ != Part::kHead && part_ != Part::kRefused; }
  bool is_done() const { return part_ == Part::kDone; }
  bool is_refused() const { return part_ == Part::kRefused; }
  // Of a refused request: HTTP's code, and what is wrong, for the client.
  int refusal_code() const { return refusal_code_; }
  const std::string& refusal() const { return refusal_; }

  // Once the head is done.
  bool is_head() const { return request_.head.method == "HEAD"; }
  bool is_old_version() const { return is_old_version_; }  // HTTP/1.0
  bool keep_alive() const { return keep_alive_; }
  bool expects_continue() const { return expects_continue_ && !is_old_version_; }
  // Of the body; nothing if it comes in chunks.
  std::optional<size_t> body_length() const {
    return chunked_ ? std::nullopt : std::optional(body_length_);
  }
  // A lower limit of the body, before it is read.
  void LimitBody(size_t bytes) { max_body_bytes_ = bytes; }

 private:
  enum class Part : uint8_t {
    kHead,
    kBody,
    kChunkSize,
    kChunkExtension,
    kChunkSizeEnd,
    kChunk,
    kChunkEnd,
    kChunkEndLine,
    kTrailer,
    kTrailerEnd,
    kDone,
    kRefused,
  };

  void Refuse(int code, std::string why);
  size_t PutHead(std::string_view bytes);
  size_t PutBody(std::string_view bytes);
  void PutChunkByte(char c);
  void EndChunkSize();
  void EndTrailerLine();
  void ReadHead(std::string_view head);
  void ReadRequestLine(std::string_view line);
  void ReadTarget(std::string_view target);
  void ReadField(std::string_view line);
  void ReadContentLength(std::string_view value);
  void ReadConnection(std::string_view value);
  void EndHead();
  // False, and refused, if the field was there before.
  bool Once(uint32_t field, std::string_view name);

  HttpRequest& request_;
  const size_t max_head_bytes_;
  size_t max_body_bytes_;
  Part part_ = Part::kHead;
  int refusal_code_ = 0;
  std::string refusal_;

  // The head, as far as it has come.
  size_t scanned_ = 0, line_begin_ = 0;
  bool skipped_line_ = false;  // an empty one in front

  uint32_t fields_ = 0;  // that were there
  bool is_old_version_ = false, keep_alive_ = false, expects_continue_ = false, chunked_ = false;
  bool says_close_ = false, says_keep_alive_ = false;
  std::string authority_;  // of a target that is a whole URI
  size_t body_length_ = 0;

  // The chunk, and its lines.
  size_t chunk_left_ = 0;
  int chunk_digits_ = 0;
  size_t extension_bytes_ = 0, trailer_bytes_ = 0;
  std::string trailer_line_;
};

}  // namespace catamaran
