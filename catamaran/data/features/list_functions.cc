// Values put together: single ones to vectors, lists to longer lists.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "catamaran/data/features/standard_functions.h"

namespace catamaran {
namespace {

// Row after row, `width` elements of each of the values, which are as wide as `widths` says.
template <class T, class Get>
void Interleave(const FeatureArgs& args, const std::vector<int64_t>& widths, int64_t width, Get get,
                Buffer<T>& out) {
  T* const to = out.Extend(static_cast<size_t>(args.rows * width));
  int64_t at = 0;
  for (size_t i = 0; i < widths.size(); ++i) {
    const T* from = get(args[i]).data();
    for (int64_t r = 0; r < args.rows; ++r) {
      std::copy_n(from + r * widths[i], widths[i], to + r * width + at);
    }
    at += widths[i];
  }
}

// Numbers and integers side by side: integers if all are, else numbers.
FeatureKernel SideBySide(FeatureCall& call) {
  bool integers = true;
  for (size_t i = 0; i < call.values(); ++i) {
    integers = integers && call.type(i).kind == ValueKind::kInteger;
  }
  std::vector<int64_t> widths;
  int64_t width = 0;
  for (size_t i = 0; i < call.values(); ++i) {
    if (!integers) call.NeedNumber(i);
    widths.push_back(call.type(i).elements());
    width += widths.back();
  }
  if (integers) {
    return {{ValueKind::kInteger, {width}}, [=](const FeatureArgs& args, FeatureValues& out) {
              const auto get = [](const FeatureValues& v) -> const auto& { return v.ints; };
              Interleave(args, widths, width, get, out.ints);
            }};
  }
  return {{ValueKind::kNumber, {width}}, [=](const FeatureArgs& args, FeatureValues& out) {
            const auto get = [](const FeatureValues& v) -> const auto& { return v.numbers; };
            Interleave(args, widths, width, get, out.numbers);
          }};
}

FeatureKernel BindStack(FeatureCall& call) {
  call.NeedValues(1, SIZE_MAX);
  for (size_t i = 0; i < call.values(); ++i) {
    if (call.type(i).is_dense() && call.type(i).is_single()) continue;
    call.Fail(fmt::format("value {} is {}, wanted a single number or id{}", i + 1,
                          call.type(i).ToString(),
                          call.type(i).is_list()    ? "; concat puts lists together"
                          : call.type(i).is_dense() ? "; concat puts vectors together"
                                                    : "; hash(…) makes an id of text"));
  }
  return SideBySide(call);
}

// Lists one after another; integers of any shape are lists of as many.
FeatureKernel Lists(FeatureCall& call) {
  bool texts = false, weighted = false;
  std::vector<ValueType> types;
  for (size_t i = 0; i < call.values(); ++i) {
    types.push_back(call.type(i));
    texts = texts || types[i].kind == ValueKind::kTexts;
    weighted = weighted || types[i].kind == ValueKind::kWeightedIds;
  }
  for (size_t i = 0; i < types.size(); ++i) {
    const ValueKind kind = types[i].kind;
    const bool fits = texts ? kind == ValueKind::kTexts || kind == ValueKind::kText
                            : kind != ValueKind::kNumber && kind != ValueKind::kText;
    if (!fits) {
      call.Fail(fmt::format("value {} is {}, wanted {}", i + 1, types[i].ToString(),
                            texts ? "texts" : "ids"));
    }
  }
  const ValueKind kind = texts      ? ValueKind::kTexts
                         : weighted ? ValueKind::kWeightedIds
                                    : ValueKind::kIds;
  return {{kind, {}}, [=](const FeatureArgs& args, FeatureValues& out) {
            for (int64_t r = 0; r < args.rows; ++r) {
              for (size_t i = 0; i < types.size(); ++i) {
                const FeatureValues& from = args[i];
                size_t begin = 0, end = 0;
                if (types[i].is_list()) {
                  begin = static_cast<size_t>(from.offsets[static_cast<size_t>(r)]);
                  end = static_cast<size_t>(from.offsets[static_cast<size_t>(r) + 1]);
                } else {
                  begin = static_cast<size_t>(r * types[i].elements());
                  end = begin + static_cast<size_t>(types[i].elements());
                }
                if (texts) {
                  for (size_t e = begin; e < end; ++e) {
                    out.texts.push_back(from.texts[e]);
                  }
                  continue;
                }
                out.ints.Append({from.ints.data() + begin, end - begin});
                if (!weighted) continue;
                if (types[i].kind == ValueKind::kWeightedIds) {
                  out.weights.Append({from.weights.data() + begin, end - begin});
                } else {
                  std::fill_n(out.weights.Extend(end - begin), end - begin, 1.0F);
                }
              }
              out.EndList();
            }
          }};
}

FeatureKernel BindConcat(FeatureCall& call) {
  call.NeedValues(1, SIZE_MAX);
  bool lists = false;
  for (size_t i = 0; i < call.values(); ++i) lists = lists || !call.type(i).is_dense();
  return lists ? Lists(call) : SideBySide(call);
}

FeatureKernel BindIds(FeatureCall& call) {
  call.NeedValues(1, SIZE_MAX);
  return Lists(call);
}

// The places of what is neither 0 nor missing.
FeatureKernel BindNonzero(FeatureCall& call) {
  call.NeedValues(1, SIZE_MAX);
  for (size_t i = 0; i < call.values(); ++i) call.NeedNumber(i);
  const FeatureKernel together = SideBySide(call);
  const int64_t width = together.type.elements();
  return {{ValueKind::kIds, {}},
          [run = together.run, width](const FeatureArgs& args, FeatureValues& out) {
            run(args, out);
            for (int64_t r = 0; r < args.rows; ++r) {
              for (int64_t i = 0; i < width; ++i) {
                const double x = out.numbers[static_cast<size_t>(r * width + i)];
                if (x != 0 && !std::isnan(x)) out.ints.push_back(i);
              }
              out.EndList();
            }
          }};
}

// The first (or last) elements of each list.
FeatureKernel BindTake(FeatureCall& call) {
  call.NeedValues(1);
  const ValueType type = call.type(0);
  if (!type.is_list()) call.Fail(fmt::format("found {}, wanted a list", type.ToString()));
  const int64_t most = call.Integer("count", 0, 1, INT32_MAX);
  if (most == 0) call.Fail("wanted count=…");
  constexpr std::string_view kFrom[] = {"begin", "end"};
  const bool last = call.OneOf("from", kFrom) == "end";
  return {type, [=](const FeatureArgs& args, FeatureValues& out) {
            const FeatureValues& x = args[0];
            for (size_t r = 0; r < static_cast<size_t>(args.rows); ++r) {
              auto begin = static_cast<size_t>(x.offsets[r]);
              auto end = static_cast<size_t>(x.offsets[r + 1]);
              const size_t count = std::min(end - begin, static_cast<size_t>(most));
              (last ? begin : end) = last ? end - count : begin + count;
              if (type.kind == ValueKind::kTexts) {
                for (size_t e = begin; e < end; ++e) {
                  out.texts.push_back(x.texts[e]);
                }
              } else {
                out.ints.Append({x.ints.data() + begin, count});
                if (type.kind == ValueKind::kWeightedIds) {
                  out.weights.Append({x.weights.data() + begin, count});
                }
              }
              out.EndList();
            }
          }};
}

FeatureKernel BindLength(FeatureCall& call) {
  call.NeedValues(1);
  const ValueType type = call.type(0);
  if (!type.is_list() && type.kind != ValueKind::kText) {
    call.Fail(fmt::format("found {}, wanted a list or text", type.ToString()));
  }
  return {{ValueKind::kNumber, {}}, [type](const FeatureArgs& args, FeatureValues& out) {
            for (size_t r = 0; r < static_cast<size_t>(args.rows); ++r) {
              out.numbers.push_back(type.is_list() ? args[0].offsets[r + 1] - args[0].offsets[r]
                                                   : static_cast<double>(args[0].texts[r].size()));
            }
          }};
}

// Ids with a weight each: that of their row.
FeatureKernel BindWeighted(FeatureCall& call) {
  call.NeedValues(2);
  call.NeedNumber(1);
  const ValueType type = call.type(0);
  const bool list = type.kind == ValueKind::kIds;
  if (!list && type.kind != ValueKind::kInteger) {
    call.Fail(fmt::format("value 1 is {}, wanted ids", type.ToString()));
  }
  const auto width = list ? size_t{0} : static_cast<size_t>(type.elements());
  if (!call.type(1).is_single() && (list || !(call.type(1).shape == type.shape))) {
    call.Fail("wanted one weight a row, or as many as ids");
  }
  const bool single = call.type(1).is_single();
  return {{ValueKind::kWeightedIds, {}}, [=](const FeatureArgs& args, FeatureValues& out) {
            out.ints.Append(args[0].ints.span());
            for (size_t r = 0; r < static_cast<size_t>(args.rows); ++r) {
              const size_t begin = out.weights.size();
              const size_t end = list ? static_cast<size_t>(args[0].offsets[r + 1]) : begin + width;
              for (size_t e = begin; e < end; ++e) {
                out.weights.push_back(static_cast<float>(args[1].numbers[single ? r : e]));
              }
              out.offsets.push_back(static_cast<int32_t>(end));
            }
          }};
}

}  // namespace

void AddListFunctions(FeatureFunctionSet& functions) {
  functions.Add({.name = "stack",
                 .usage = "stack(a, b, …)",
                 .about = "single numbers or ids as one vector: f32[K], or i64[K] of ids",
                 .bind = BindStack});
  functions.Add({.name = "concat",
                 .usage = "concat(a, b, …)",
                 .about = "numbers and vectors as one vector; lists of ids or texts as one list",
                 .bind = BindConcat});
  functions.Add({.name = "ids",
                 .usage = "ids(a, b, …)",
                 .about = "single ids, vectors of them and lists as one list",
                 .bind = BindIds});
  functions.Add({.name = "nonzero",
                 .usage = "nonzero(a, b, …)",
                 .about = "the places, from 0, of the numbers that are neither 0 nor missing",
                 .bind = BindNonzero});
  functions.Add({.name = "take",
                 .usage = "take(list, count=…, from=begin or end)",
                 .about = "no more than that many of each list",
                 .bind = BindTake});
  functions.Add({.name = "length",
                 .usage = "length(x)",
                 .about = "of a list in elements, of text in bytes",
                 .bind = BindLength});
  functions.Add({.name = "weighted",
                 .usage = "weighted(ids, weight)",
                 .about = "ids with a weight each",
                 .bind = BindWeighted});
}

}  // namespace catamaran
