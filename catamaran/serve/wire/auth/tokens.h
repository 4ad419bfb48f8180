// serve/wire/auth/tokens.h
//
// Who may do what: bearer tokens, each with rights of its own. A file of tokens has lines
//
//   # name   rights        token
//   web      infer         4f7c…
//   trainer  learn,infer   sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
//
// where the token stands as it is, or as its SHA-256. Rights are separate: admin does not include
// the others. Without any token everybody has every right, which is for loopback addresses.
//
// Thread safety: immutable once made.

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/base/file.h"
#include "catamaran/serve/status.h"

namespace catamaran {

// What a call needs.
enum class Right : uint8_t {
  kNone,   // nothing: health
  kAny,    // a token, whatever it is for: metrics
  kInfer,  // predictions, and what models are like
  kLearn,  // examples, feedback, the state of learning
  kAdmin,  // commit, pause, resume, roll back, load, unload
};

class Tokens {
 public:
  Tokens() = default;  // everybody may do everything

  // An Error that begins with `name` and the line if a line is wrong, or if there is no token.
  static Tokens Parse(std::string_view text, std::string_view name);
  static Tokens Load(const FileSystem& fs, const std::string& path);

  bool empty() const { return entries_.empty(); }

  // `authorization` is the header's value, "Bearer …"; empty if there was none. kUnauthenticated if
  // that is no token of ours, kPermissionDenied if it has not the right. How long it takes does not
  // tell which tokens there are.
  Status Check(std::string_view authorization, Right needed) const;

 private:
  using Digest = std::array<unsigned char, 32>;
  struct Entry {
    std::string name;
    uint32_t rights = 0;  // bits by Right
    Digest digest = {};
  };

  static Digest DigestOf(std::string_view token);

  std::vector<Entry> entries_;
};

// Whether only this machine reaches `host`: "localhost", "127.0.0.1", "::1", "[::1]" and the like.
bool IsLoopback(std::string_view host);

// An Error if `host` can be reached from other machines and there are no tokens, unless
// `allow_anonymous`.
void CheckExposure(std::string_view host, const Tokens& tokens, bool allow_anonymous);

}  // namespace catamaran
