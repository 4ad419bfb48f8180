#include "catamaran/serve/wire/auth/tokens.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

constexpr std::string_view kSpace = " \t\r";
constexpr size_t kMinToken = 8, kMaxToken = 4096;
constexpr std::pair<std::string_view, Right> kRights[] = {
    {"infer", Right::kInfer}, {"learn", Right::kLearn}, {"admin", Right::kAdmin}};

constexpr uint32_t Bit(Right right) { return uint32_t{1} << static_cast<int>(right); }

// The next word of `line`, which is left behind; empty at the end.
std::string_view Word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(kSpace), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(kSpace));
  line.remove_prefix(word.size());
  return word;
}

std::optional<unsigned> HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

}  // namespace

Tokens::Digest Tokens::DigestOf(std::string_view token) {
  Digest digest;
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(), digest.data());
  return digest;
}

Tokens Tokens::Parse(std::string_view text, std::string_view name) {
  Tokens tokens;
  for (int number = 1; !text.empty(); ++number) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    Entry entry;
    entry.name = Word(line);
    if (entry.name.empty() || entry.name[0] == '#') continue;
    std::string_view rights = Word(line);
    const std::string_view token = Word(line);
    if (token.empty() || !Word(line).empty()) {
      Fail("{}:{}: wanted three words: a name, rights, a token", name, number);
    }
    while (!rights.empty()) {
      const std::string_view one = rights.substr(0, rights.find(','));
      rights.remove_prefix(std::min(one.size() + 1, rights.size()));
      const auto* known = std::find_if(std::begin(kRights), std::end(kRights),
                                       [&](const auto& right) { return right.first == one; });
      if (known == std::end(kRights)) {
        Fail("{}:{}: '{}' is no right; infer, learn and admin are", name, number, one);
      }
      entry.rights |= Bit(known->second);
    }
    constexpr std::string_view kHash = "sha256:";
    if (token.starts_with(kHash)) {
      const std::string_view hex = token.substr(kHash.size());
      if (hex.size() != 2 * entry.digest.size()) {
        Fail("{}:{}: a SHA-256 has 64 digits, here are {}", name, number, hex.size());
      }
      for (size_t i = 0; i < entry.digest.size(); ++i) {
        const auto high = HexDigit(hex[2 * i]), low = HexDigit(hex[2 * i + 1]);
        if (!high || !low) Fail("{}:{}: a SHA-256 has digits 0-9 and a-f only", name, number);
        entry.digest[i] = static_cast<unsigned char>(*high << 4 | *low);
      }
    } else {
      if (token.size() < kMinToken || token.size() > kMaxToken) {
        Fail("{}:{}: a token has {} to {} characters, this one has {}", name, number, kMinToken,
             kMaxToken, token.size());
      }
      entry.digest = DigestOf(token);
    }
    for (const Entry& other : tokens.entries_) {
      if (other.digest == entry.digest) {
        Fail("{}:{}: '{}' and '{}' have the same token", name, number, other.name, entry.name);
      }
    }
    tokens.entries_.push_back(std::move(entry));
  }
  if (tokens.entries_.empty()) Fail("{}: there is no token in it", name);
  return tokens;
}

Tokens Tokens::Load(const FileSystem& fs, const std::string& path) {
  return Parse(fs.ReadAll(path, size_t{1} << 20), path);
}

Status Tokens::Check(std::string_view authorization, Right needed) const {
  if (needed == Right::kNone || entries_.empty()) return {};
  constexpr std::string_view kBearer = "bearer ";
  const bool bearer =
      authorization.size() > kBearer.size() &&
      std::equal(kBearer.begin(), kBearer.end(), authorization.begin(),
                 [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b - 'A' + 'a' : b); });
  if (!bearer) {
    return {StatusCode::kUnauthenticated,
            "a token is needed: the header 'authorization: Bearer TOKEN'"};
  }
  std::string_view token = authorization.substr(kBearer.size());
  token.remove_prefix(std::min(token.find_first_not_of(kSpace), token.size()));
  const Digest digest = DigestOf(token);
  const Entry* found = nullptr;
  for (const Entry& entry : entries_) {
    if (CRYPTO_memcmp(entry.digest.data(), digest.data(), digest.size()) == 0) found = &entry;
  }
  if (found == nullptr) return {StatusCode::kUnauthenticated, "the token is not known here"};
  if (needed == Right::kAny || (found->rights & Bit(needed)) != 0) return {};
  for (const auto& [name, right] : kRights) {
    if (right == needed) {
      return {StatusCode::kPermissionDenied,
              fmt::format("the token '{}' has not the right '{}'", found->name, name)};
    }
  }
  return {StatusCode::kPermissionDenied, "the token has not that right"};
}

bool IsLoopback(std::string_view host) {
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host == "localhost" || host == "::1") return true;
  // 127.0.0.0/8, as four numbers: "127.0.0.1.example.org" is a name.
  return host.starts_with("127.") && std::count(host.begin(), host.end(), '.') == 3 &&
         host.find_first_not_of("0123456789.") == std::string_view::npos;
}

void CheckExposure(std::string_view host, const Tokens& tokens, bool allow_anonymous) {
  if (!tokens.empty() || allow_anonymous || IsLoopback(host)) return;
  Fail(
      "'{}' can be reached from other machines, and there are no tokens: everybody could do "
      "everything. Give tokens, listen on 127.0.0.1, or allow it explicitly",
      host);
}

}  // namespace catamaran
