#include "catamaran/serve/wire/json_text.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <type_traits>

#include "catamaran/base/error.h"
#include "catamaran/base/json_text.h"
#include "catamaran/data/text/utf8.h"
#include "catamaran/tensor/dtype.h"

namespace catamaran {
namespace {

template <class T>
void AppendFloat(std::string& out, T value) {
  if (std::isnan(value)) {
    out += "\"NaN\"";
  } else if (std::isinf(value)) {
    out += value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  } else {
    fmt::format_to(std::back_inserter(out), "{}", value);
  }
}

template <class T>
void AppendElement(std::string& out, T value) {
  if constexpr (std::is_same_v<T, bool>) {
    out += value ? "true" : "false";
  } else if constexpr (std::is_same_v<T, F16> || std::is_same_v<T, BF16>) {
    AppendFloat(out, static_cast<float>(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    AppendFloat(out, value);
  } else if constexpr (sizeof(T) == 1) {
    fmt::format_to(std::back_inserter(out), "{}", static_cast<int>(value));
  } else {
    fmt::format_to(std::back_inserter(out), "{}", value);
  }
}

}  // namespace

void AppendJsonText(std::string& out, std::string_view text) {
  const size_t bad = FindBadUtf8(text);
  if (bad < text.size()) Fail("a text is not UTF-8: its byte {} is wrong", bad);
  AppendJsonQuoted(out, text);
}

void AppendJsonMessage(std::string& out, std::string_view text) {
  if (FindBadUtf8(text) >= text.size()) return AppendJsonQuoted(out, text);
  std::string clean;
  while (true) {
    const size_t bad = FindBadUtf8(text);
    clean += text.substr(0, bad);
    if (bad >= text.size()) break;
    clean += '?';
    text.remove_prefix(bad + 1);
  }
  AppendJsonQuoted(out, clean);
}

void AppendJsonNumber(std::string& out, double value) { AppendFloat(out, value); }
void AppendJsonNumber(std::string& out, float value) { AppendFloat(out, value); }

void AppendJsonElement(std::string& out, const Tensor& tensor, int64_t i) {
  DispatchAll(tensor.dtype(),
              [&]<class T>(T) { AppendElement(out, tensor.data<T>()[static_cast<size_t>(i)]); });
}

void AppendJsonElements(std::string& out, const Tensor& tensor) {
  DispatchAll(tensor.dtype(), [&]<class T>(T) {
    bool first = true;
    for (const T value : tensor.data<T>()) {
      if (!first) out += ',';
      first = false;
      AppendElement(out, value);
    }
  });
}

}  // namespace catamaran
