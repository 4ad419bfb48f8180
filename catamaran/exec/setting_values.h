// exec/setting_values.h
//
// The values of settings as a program spells them: a choice with arguments, a time, a size.
// Everything throws an Error that says what was found and wanted.

#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "catamaran/ir/attr.h"

namespace catamaran {

// `name(args)` or a bare `name`. The Attr must outlive it.
struct Choice {
  explicit Choice(const Attr& attr);

  std::string name;
  const AttrCall* call = nullptr;  // null: a bare name

  // The argument `key`, or the one at `position` (none: -1); empty when it was not given.
  const Attr& Argument(std::string_view key, int position = -1) const;
  double Number(std::string_view key, int position, double otherwise) const;
  int64_t Integer(std::string_view key, int position, int64_t otherwise) const;
  // Of the arguments days, hours, minutes and seconds, after `prefix`: nanoseconds, 0 when none of
  // them was given.
  int64_t Time(std::string_view prefix = "") const;

  // Fails when there are other arguments than these, or more than `positional` without a name.
  void Allow(std::initializer_list<std::string_view> keys, size_t positional) const;
};

// A number of bytes: an integer, or text such as "64MB" or "8 GiB".
int64_t ParseBytes(const Attr& attr);

}  // namespace catamaran
