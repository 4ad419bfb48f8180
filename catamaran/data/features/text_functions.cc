// Texts: their case, their parts and their pieces.

#include <fmt/format.h>

#include <algorithm>

#include "catamaran/data/features/standard_functions.h"

namespace catamaran {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string_view LowerCopy(std::string_view text, TextArena& arena) {
  char* to = arena.Allocate(text.size());
  std::ranges::transform(text, to, Lower);
  return {to, text.size()};
}

// Letters and digits; bytes of other characters than ASCII's belong to words.
bool InWord(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || (c >= '0' && c <= '9') || (Lower(c) >= 'a' && Lower(c) <= 'z') ||
         c == '_' || c == '\'';
}

// Texts of any form, one for one.
template <class F>
FeatureKernel EachText(FeatureCall& call, F f) {
  call.NeedValues(1);
  const ValueType type = call.type(0);
  if (type.kind != ValueKind::kText && type.kind != ValueKind::kTexts) call.NeedText(0);
  return {type, [f, list = type.is_list()](const FeatureArgs& args, FeatureValues& out) {
            if (list) {
              out.offsets.clear();
              out.offsets.Append(args[0].offsets.span());
            }
            for (const std::string_view text : args[0].texts)
              out.texts.push_back(f(text, out.arena));
          }};
}

FeatureKernel BindTrim(FeatureCall& call) {
  const std::string characters = call.Text("characters", " \t");
  return EachText(call, [characters](std::string_view text, TextArena&) {
    const size_t begin = std::min(text.find_first_not_of(characters), text.size());
    const size_t end = text.find_last_not_of(characters);
    return end == std::string_view::npos ? std::string_view() : text.substr(begin, end + 1 - begin);
  });
}

FeatureKernel BindPrefix(FeatureCall& call) {
  const auto size = static_cast<size_t>(call.Integer("bytes", 0, 1, 1 << 20));
  if (size == 0) call.Fail("wanted bytes=…");
  return EachText(call, [size](std::string_view text, TextArena&) { return text.substr(0, size); });
}

FeatureKernel BindSplit(FeatureCall& call) {
  const std::string by = call.Text("by", " ");
  if (by.empty()) call.Fail("by is empty");
  call.NeedValues(1);
  call.NeedText(0);
  return {{ValueKind::kTexts, {}}, [by](const FeatureArgs& args, FeatureValues& out) {
            for (std::string_view text : args[0].texts) {
              while (!text.empty()) {
                const size_t end = std::min(text.find(by), text.size());
                if (end > 0) out.texts.push_back(text.substr(0, end));
                text.remove_prefix(std::min(end + by.size(), text.size()));
              }
              out.EndList();
            }
          }};
}

// Joins `count` texts that follow one another, with a space between them.
std::string_view Joined(const std::string_view* texts, int64_t count, TextArena& arena) {
  size_t size = static_cast<size_t>(count) - 1;
  for (int64_t i = 0; i < count; ++i) size += texts[i].size();
  char* const to = arena.Allocate(size);
  char* at = to;
  for (int64_t i = 0; i < count; ++i) {
    if (i > 0) *at++ = ' ';
    at = std::ranges::copy(texts[i], at).out;
  }
  return {to, size};
}

FeatureKernel BindTokens(FeatureCall& call) {
  const bool lower = call.Flag("lower", true);
  const int64_t ngrams = call.Integer("ngrams", 1, 1, 8);
  call.NeedValues(1);
  call.NeedText(0);
  return {{ValueKind::kTexts, {}}, [=](const FeatureArgs& args, FeatureValues& out) {
            for (std::string_view text : args[0].texts) {
              if (lower) text = LowerCopy(text, out.arena);
              const size_t first = out.texts.size();
              for (size_t i = 0; i < text.size();) {
                const size_t begin = i;
                while (i < text.size() && InWord(text[i])) ++i;
                if (i > begin) {
                  out.texts.push_back(text.substr(begin, i - begin));
                } else {
                  ++i;
                }
              }
              const auto words = static_cast<int64_t>(out.texts.size() - first);
              for (int64_t n = 2; n <= ngrams; ++n) {
                for (int64_t w = 0; w + n <= words; ++w) {
                  const std::string_view joined =
                      Joined(&out.texts[first + static_cast<size_t>(w)], n, out.arena);
                  out.texts.push_back(joined);
                }
              }
              out.EndList();
            }
          }};
}

// Where the character after the one at `at` begins.
size_t NextCharacter(std::string_view text, size_t at) {
  for (++at; at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;) ++at;
  return std::min(at, text.size());
}

FeatureKernel BindCharacters(FeatureCall& call) {
  const int64_t size = call.Integer("ngrams", 1, 1, 32);
  call.NeedValues(1);
  call.NeedText(0);
  return {{ValueKind::kTexts, {}}, [size](const FeatureArgs& args, FeatureValues& out) {
            for (const std::string_view text : args[0].texts) {
              size_t end = 0;
              int64_t inside = 0;
              for (size_t begin = 0; begin < text.size(); begin = NextCharacter(text, begin)) {
                for (; inside < size && end < text.size(); ++inside) end = NextCharacter(text, end);
                if (inside < size) break;
                out.texts.push_back(text.substr(begin, end - begin));
                --inside;
              }
              out.EndList();
            }
          }};
}

}  // namespace

void AddTextFunctions(FeatureFunctionSet& functions) {
  functions.Add({.name = "lower",
                 .usage = "lower(text)",
                 .about = "A to Z as a to z",
                 .bind = [](FeatureCall& call) { return EachText(call, LowerCopy); }});
  functions.Add({.name = "trim",
                 .usage = "trim(text, characters=\" \\t\")",
                 .about = "without such characters at both ends",
                 .bind = BindTrim});
  functions.Add({.name = "prefix",
                 .usage = "prefix(text, bytes=…)",
                 .about = "no more than the first bytes",
                 .bind = BindPrefix});
  functions.Add({.name = "split",
                 .usage = "split(text, by=\" \")",
                 .about = "the parts between separators, as texts; empty ones are left out",
                 .bind = BindSplit});
  functions.Add({.name = "tokens",
                 .usage = "tokens(text, lower=yes, ngrams=1)",
                 .about = "its words, as texts, and up to so many words that follow one another, "
                          "joined by spaces",
                 .bind = BindTokens});
  functions.Add({.name = "characters",
                 .usage = "characters(text, ngrams=1)",
                 .about = "its characters (UTF-8), so many at a time, as texts",
                 .bind = BindCharacters});
}

}  // namespace catamaran
