#include "catamaran/exec/setting_values.h"

#include <cmath>
#include <cstdlib>

#include "catamaran/base/error.h"

namespace catamaran {
namespace {

struct Unit {
  std::string_view name;
  double size;
};

constexpr Unit kTimes[] = {{"days", 86'400}, {"hours", 3'600}, {"minutes", 60}, {"seconds", 1}};
constexpr Unit kSizes[] = {{"", 1},         {"B", 1},       {"KB", 1e3},     {"MB", 1e6},
                           {"GB", 1e9},     {"TB", 1e12},   {"KiB", 0x1p10}, {"MiB", 0x1p20},
                           {"GiB", 0x1p30}, {"TiB", 0x1p40}};

}  // namespace

Choice::Choice(const Attr& attr) : call(attr.call()) {
  // Names of element types are words here: store = bf16.
  name = call ? call->name : attr.get<DType>() ? attr.ToString() : attr.AsWord();
}

const Attr& Choice::Argument(std::string_view key, int position) const {
  static const Attr kNone;
  if (!call) return kNone;
  const Attr& named = FindAttr(call->named, key);
  const auto at = static_cast<size_t>(position);
  if (position < 0 || at >= call->positional.size()) return named;
  if (!named.empty()) Fail(ErrorCode::kInvalidProgram, "{}: {} is given twice", name, key);
  return call->positional[at];
}

double Choice::Number(std::string_view key, int position, double otherwise) const {
  const Attr& given = Argument(key, position);
  return given.empty() ? otherwise : given.AsDouble();
}

int64_t Choice::Integer(std::string_view key, int position, int64_t otherwise) const {
  const Attr& given = Argument(key, position);
  return given.empty() ? otherwise : given.AsInt();
}

int64_t Choice::Time(std::string_view prefix) const {
  double seconds = 0;
  bool any = false;
  for (const Unit& unit : kTimes) {
    const Attr& given = Argument(std::string(prefix) + std::string(unit.name));
    if (given.empty()) continue;
    any = true;
    seconds += given.AsDouble() * unit.size;
  }
  if (!any) return 0;
  if (!(seconds > 0 && seconds < 9e9)) {
    Fail(ErrorCode::kInvalidProgram,
         "{}: wanted a time of more than 0 seconds and less than 285 years", name);
  }
  return std::llround(seconds * 1e9);
}

void Choice::Allow(std::initializer_list<std::string_view> keys, size_t positional) const {
  if (!call) return;
  if (call->positional.size() > positional) {
    Fail(ErrorCode::kInvalidProgram, "{} takes at most {} arguments without a name, found {}", name,
         positional, call->positional.size());
  }
  for (const NamedAttr& given : call->named) {
    bool known = false;
    std::string all;
    for (const std::string_view key : keys) {
      known = known || key == given.name;
      all += (all.empty() ? "" : ", ") + std::string(key);
    }
    if (known) continue;
    if (all.empty())
      Fail(ErrorCode::kInvalidProgram, "{} takes no arguments, found {}", name, given.name);
    Fail(ErrorCode::kInvalidProgram, "{} has no argument {}; it has {}", name, given.name, all);
  }
}

int64_t ParseBytes(const Attr& attr) {
  double bytes = -1;
  if (const std::string* text = attr.get<std::string>()) {
    char* end = nullptr;
    const double number = std::strtod(text->c_str(), &end);
    std::string_view rest(end);
    while (rest.starts_with(' ')) rest.remove_prefix(1);
    for (const Unit& unit : kSizes) {
      if (end != text->c_str() && rest == unit.name) bytes = number * unit.size;
    }
    if (!(bytes >= 0))
      Fail(ErrorCode::kInvalidProgram, "found \"{}\"; wanted a size such as \"64MB\" or \"8GiB\"",
           *text);
  } else {
    bytes = attr.AsDouble();
  }
  if (!(bytes >= 0 && bytes < 9e18))
    Fail(ErrorCode::kInvalidProgram, "found {}; wanted a number of bytes", attr.ToString());
  return static_cast<int64_t>(bytes);
}

}  // namespace catamaran
