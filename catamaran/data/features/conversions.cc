// From one kind of value to another, and what becomes of missing ones.

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "catamaran/data/features/canonical_text.h"
#include "catamaran/data/features/standard_functions.h"
#include "catamaran/data/text/csv_dialect.h"
#include "catamaran/data/text/numbers.h"
#include "catamaran/data/text/text_reader.h"

namespace catamaran {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

// As a reader of CSV would: whole numbers exactly, others as f32.
double NumberOf(const FeatureArgs& args, int64_t row, std::string_view text) {
  text = Trimmed(text);
  if (IsMissing(text, {})) return kMissing;
  int64_t integer = 0;
  if (ParseI64(text, &integer)) return static_cast<double>(integer);
  float number = 0;
  if (!ParseF32(text, &number)) {
    args.FailRow(row, fmt::format("found {}, wanted a number", Shown(text)));
  }
  return number;
}

FeatureKernel BindNumber(FeatureCall& call) {
  call.NeedValues(1);
  const double missing = call.Number("missing", kMissing);
  if (call.type(0).kind == ValueKind::kText) {
    return {{ValueKind::kNumber, {}}, [missing](const FeatureArgs& args, FeatureValues& out) {
              for (int64_t r = 0; r < args.rows; ++r) {
                const double x = NumberOf(args, r, args[0].texts[static_cast<size_t>(r)]);
                out.numbers.push_back(std::isnan(x) ? missing : x);
              }
            }};
  }
  call.NeedNumber(0);
  return {call.type(0), [missing](const FeatureArgs& args, FeatureValues& out) {
            const auto& x = args[0].numbers;
            double* to = out.numbers.Extend(x.size());
            for (size_t i = 0; i < x.size(); ++i) to[i] = std::isnan(x[i]) ? missing : x[i];
          }};
}

FeatureKernel BindInteger(FeatureCall& call) {
  call.NeedValues(1);
  const std::optional<double> missing = call.Number("missing");
  if (missing && *missing != std::floor(*missing)) call.Fail("missing is no whole number");
  const int64_t instead = missing ? static_cast<int64_t>(*missing) : 0;
  const bool given = missing.has_value();
  const auto convert = [instead, given](const FeatureArgs& args, int64_t row, double x) {
    if (std::isnan(x)) {
      if (given) return instead;
      args.FailRow(row, "the value is missing; integer(…, missing=0) says what it becomes");
    }
    if (!(std::fabs(x) < 0x1p63)) args.FailRow(row, fmt::format("{} is no i64", x));
    return static_cast<int64_t>(std::floor(x));
  };
  if (call.type(0).kind == ValueKind::kInteger) {
    return {call.type(0), [](const FeatureArgs& args, FeatureValues& out) {
              out.ints.Append(args[0].ints.span());
            }};
  }
  if (call.type(0).kind == ValueKind::kText) {
    return {{ValueKind::kInteger, {}}, [convert](const FeatureArgs& args, FeatureValues& out) {
              for (int64_t r = 0; r < args.rows; ++r) {
                const std::string_view text = Trimmed(args[0].texts[static_cast<size_t>(r)]);
                int64_t exact = 0;
                out.ints.push_back(
                    ParseI64(text, &exact) ? exact : convert(args, r, NumberOf(args, r, text)));
              }
            }};
  }
  call.NeedNumber(0);
  const ValueType type{ValueKind::kInteger, call.type(0).shape};
  return {type, [convert, width = type.elements()](const FeatureArgs& args, FeatureValues& out) {
            int64_t i = 0;
            for (const double x : args[0].numbers)
              out.ints.push_back(convert(args, i++ / width, x));
          }};
}

// Each element as its canonical text.
FeatureKernel BindText(FeatureCall& call) {
  call.NeedValues(1);
  const ValueType from = call.type(0);
  if (!from.is_list() && !from.is_single()) call.Fail("a row has several values: wanted one");
  const ValueType type{from.is_list() ? ValueKind::kTexts : ValueKind::kText, {}};
  return {type, [from](const FeatureArgs& args, FeatureValues& out) {
            if (from.is_list()) {
              out.offsets.clear();
              out.offsets.Append(args[0].offsets.span());
            }
            ForEachText(from, args[0],
                        [&](std::string_view text) { out.texts.push_back(out.arena.Copy(text)); });
          }};
}

FeatureKernel BindMissing(FeatureCall& call) {
  call.NeedValues(1);
  const ValueType type = call.type(0);
  if (!type.is_list() && !type.is_single()) call.Fail("a row has several values: wanted one");
  return {{ValueKind::kNumber, {}}, [type](const FeatureArgs& args, FeatureValues& out) {
            const FeatureValues& x = args[0];
            for (size_t r = 0; r < static_cast<size_t>(args.rows); ++r) {
              const bool missing = type.is_list() ? x.offsets[r] == x.offsets[r + 1]
                                   : type.kind == ValueKind::kText   ? x.texts[r].empty()
                                   : type.kind == ValueKind::kNumber ? std::isnan(x.numbers[r])
                                                                     : false;
              out.numbers.push_back(missing ? 1 : 0);
            }
          }};
}

FeatureKernel BindFill(FeatureCall& call) {
  call.NeedValues(2);
  if (call.type(0).kind == ValueKind::kText) {
    call.NeedText(1);
    return {call.type(0), [](const FeatureArgs& args, FeatureValues& out) {
              for (size_t r = 0; r < static_cast<size_t>(args.rows); ++r) {
                const std::string_view text = args[0].texts[r];
                out.texts.push_back(text.empty() ? args[1].texts[r] : text);
              }
            }};
  }
  call.NeedNumber(0);
  call.NeedNumber(1);
  if (!call.type(1).is_single()) call.Fail("value 2 is not a single number");
  const auto width = static_cast<size_t>(call.type(0).elements());
  return {call.type(0), [width](const FeatureArgs& args, FeatureValues& out) {
            const auto& x = args[0].numbers;
            for (size_t i = 0; i < x.size(); ++i) {
              out.numbers.push_back(std::isnan(x[i]) ? args[1].numbers[i / width] : x[i]);
            }
          }};
}

}  // namespace

void AddConversions(FeatureFunctionSet& functions) {
  functions.Add({.name = "number",
                 .usage = "number(x, missing=…)",
                 .about = "x as a number (f32 as an output); text is read, and what is no number "
                          "is an error. Missing stays missing unless said",
                 .bind = BindNumber});
  functions.Add({.name = "integer",
                 .usage = "integer(x, missing=…)",
                 .about = "x as an i64, rounded down; a missing one is an error unless said",
                 .bind = BindInteger});
  functions.Add({.name = "text",
                 .usage = "text(x)",
                 .about = "numbers and ids as the texts that hash would take",
                 .bind = BindText});
  functions.Add({.name = "missing",
                 .usage = "missing(x)",
                 .about = "1 where x is missing: a number that is none, no text, no ids; else 0",
                 .bind = BindMissing});
  functions.Add({.name = "fill",
                 .usage = "fill(x, y)",
                 .about = "x, and y where x is missing",
                 .bind = BindFill});
}

}  // namespace catamaran
