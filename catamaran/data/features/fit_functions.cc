// Functions that learn from data: what each has as its FittedValue stands at it. The same rows in
// the same order give the same values.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "catamaran/data/features/bucket.h"
#include "catamaran/data/features/canonical_text.h"
#include "catamaran/data/features/standard_functions.h"

namespace catamaran {
namespace {

// For each of `width` numbers of a row, what `Of` keeps.
template <class Of>
class PerElement : public FeatureFitter {
 public:
  PerElement(int64_t width, Of start) : parts_(static_cast<size_t>(width), std::move(start)) {}

  void Add(const FeatureArgs& args) override {
    size_t i = 0;
    for (const double x : args[0].numbers) {
      if (std::isfinite(x)) parts_[i].Add(x);
      if (++i == parts_.size()) i = 0;
    }
  }

  FittedValue Finish() override {
    FittedValue fitted;
    for (Of& part : parts_) part.Finish(fitted.numbers);
    return fitted;
  }

 private:
  std::vector<Of> parts_;
};

template <class Of>
std::unique_ptr<FeatureFitter> FitNumbers(FeatureCall& call, Of start) {
  call.NeedValues(1);
  call.NeedNumber(0);
  return std::make_unique<PerElement<Of>>(call.type(0).elements(), std::move(start));
}

// Fitted numbers of a call: `each` for every element of a row.
const std::vector<double>& FittedNumbers(const FeatureCall& call, size_t each) {
  const auto& numbers = call.fitted()->numbers;
  if (numbers.size() != each * static_cast<size_t>(call.type(0).elements())) {
    call.Fail(fmt::format("{} numbers were fitted, wanted {} for each of {}; fit again",
                          numbers.size(), each, call.type(0).elements()));
  }
  return numbers;
}

// (x - fitted[2 i]) * scale(fitted[2 i + 1]), and `missing` where x is. Results below `low` and
// above `high` are outside of what was seen in fitting.
FeatureKernel ShiftAndScale(FeatureCall& call, double low, double high) {
  call.NeedValues(1);
  call.NeedNumber(0);
  const double missing = call.Number("missing", 0);
  std::vector<double> fitted = FittedNumbers(call, 2);
  for (size_t i = 1; i < fitted.size(); i += 2) fitted[i] = fitted[i] > 0 ? 1 / fitted[i] : 0;
  return {call.type(0),
          [fitted, missing](const FeatureArgs& args, FeatureValues& out) {
            const auto& x = args[0].numbers;
            double* to = out.numbers.Extend(x.size());
            for (size_t i = 0, at = 0; i < x.size(); ++i) {
              to[i] = std::isnan(x[i]) ? missing : (x[i] - fitted[at]) * fitted[at + 1];
              if ((at += 2) == fitted.size()) at = 0;
            }
          },
          [type = call.type(0), low, high](const FeatureArgs& args, const FeatureValues& out,
                                           std::span<uint8_t> marks) {
            MarkRows(type, out.offsets, marks, [&](size_t i) {
              return !std::isnan(args[0].numbers[i]) &&
                     !(out.numbers[i] >= low && out.numbers[i] <= high);
            });
          }};
}

// Nothing is known of the extremes: what is this many standard deviations away was hardly there.
constexpr double kFarAway = 6;
FeatureKernel BindNormalize(FeatureCall& call) { return ShiftAndScale(call, -kFarAway, kFarAway); }
// A little more, for what was computed in other steps.
FeatureKernel BindScale(FeatureCall& call) { return ShiftAndScale(call, -1e-9, 1 + 1e-9); }

// normalize: mean and standard deviation.
struct Moments {
  double count = 0, mean = 0, squares = 0;

  void Add(double x) {
    count += 1;
    const double from_mean = x - mean;
    mean += from_mean / count;
    squares += from_mean * (x - mean);
  }
  void Finish(std::vector<double>& numbers) const {
    numbers.push_back(mean);
    numbers.push_back(count > 0 ? std::sqrt(squares / count) : 0);
  }
};

// scale: the smallest, and how far the largest is from it.
struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;

  void Add(double x) {
    low = std::min(low, x);
    high = std::max(high, x);
  }
  void Finish(std::vector<double>& numbers) const {
    numbers.push_back(low <= high ? low : 0);
    numbers.push_back(low <= high ? high - low : 0);
  }
};

// quantiles: boundaries that cut the values into parts with about as many each. Beyond kMost values
// every second, fourth, … one is looked at.
struct Sample {
  static constexpr size_t kMost = size_t{1} << 21;
  int64_t parts = 0;
  std::vector<double> values;
  uint64_t seen = 0, step = 1;

  void Add(double x) {
    if (seen++ % step != 0) return;
    if (values.size() == kMost) {
      for (size_t i = 0; 2 * i < values.size(); ++i) values[i] = values[2 * i];
      values.resize(kMost / 2);
      step *= 2;
      if ((seen - 1) % step != 0) return;
    }
    values.push_back(x);
  }
  // As many numbers as boundaries, that count first: equal boundaries are one.
  void Finish(std::vector<double>& numbers) {
    std::ranges::sort(values);
    std::vector<double> boundaries;
    for (int64_t i = 1; i < parts && !values.empty(); ++i) {
      const double at = values[static_cast<size_t>(i) * values.size() / static_cast<size_t>(parts)];
      if (at > values.front() && (boundaries.empty() || at > boundaries.back())) {
        boundaries.push_back(at);
      }
    }
    numbers.insert(numbers.end(), boundaries.begin(), boundaries.end());
  }
};

std::unique_ptr<FeatureFitter> FitQuantiles(FeatureCall& call) {
  const int64_t parts = call.Integer("count", 10, 2, 100'000);
  call.NeedValues(1);
  if (!call.type(0).is_single()) call.Fail("wanted a single number");
  return FitNumbers(call, Sample{.parts = parts});
}

FeatureKernel BindQuantiles(FeatureCall& call) {
  call.NeedValues(1);
  call.Integer("count", 10, 2, 100'000);
  const auto& boundaries = call.fitted()->numbers;
  if (!std::ranges::is_sorted(boundaries, std::less_equal<>())) {
    call.Fail("the fitted boundaries do not rise; fit again");
  }
  return BucketKernel(call, boundaries);
}

struct VocabularySettings {
  int64_t min_count, max_size;

  explicit VocabularySettings(FeatureCall& call)
      : min_count(call.Integer("min_count", 1, 1, INT64_MAX >> 11)),
        max_size(call.Integer("max_size", 1'000'000, 1, 1 << 30)) {
    call.NeedValues(1);
  }
};

// vocabulary: the words, the most frequent first, and how often each was there.
class Words : public FeatureFitter {
 public:
  Words(ValueType type, VocabularySettings settings)
      : type_(std::move(type)), settings_(settings) {}

  void Add(const FeatureArgs& args) override {
    ForEachText(type_, args[0], [&](std::string_view text) {
      if (text.empty()) return;
      word_ = text;
      ++counts_[word_];
    });
  }

  FittedValue Finish() override {
    std::vector<std::pair<int64_t, std::string_view>> order;
    for (const auto& [word, count] : counts_) {
      if (count >= settings_.min_count) order.emplace_back(-count, word);
    }
    std::ranges::sort(order);
    order.resize(std::min(order.size(), static_cast<size_t>(settings_.max_size)));
    FittedValue fitted;
    for (const auto& [count, word] : order) {
      fitted.numbers.push_back(static_cast<double>(-count));
      fitted.texts.emplace_back(word);
    }
    return fitted;
  }

 private:
  const ValueType type_;
  const VocabularySettings settings_;
  std::unordered_map<std::string, int64_t> counts_;
  std::string word_;
};

// So that a view is found without a copy.
struct ViewHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

// The words 1, 2, …; 0 for others and for missing.
FeatureKernel BindVocabulary(FeatureCall& call) {
  const VocabularySettings settings(call);
  const ValueType from = call.type(0);
  auto ids =
      std::make_shared<std::unordered_map<std::string, int64_t, ViewHash, std::equal_to<>>>();
  for (const std::string& word : call.fitted()->texts) {
    if (!ids->try_emplace(word, static_cast<int64_t>(ids->size()) + 1).second) {
      call.Fail(fmt::format("the fitted vocabulary has {} twice; fit again", QuotedText(word)));
    }
  }
  const ValueType type{from.is_list() ? ValueKind::kIds : ValueKind::kInteger, from.shape};
  return {type,
          [from, ids](const FeatureArgs& args, FeatureValues& out) {
            if (from.is_list()) {
              out.offsets.clear();
              out.offsets.Append(args[0].offsets.span());
            }
            ForEachText(from, args[0], [&](std::string_view text) {
              const auto found = ids->find(text);
              out.ints.push_back(found == ids->end() ? 0 : found->second);
            });
          },
          [from](const FeatureArgs& args, const FeatureValues& out, std::span<uint8_t> marks) {
            const bool texts = from.kind == ValueKind::kText || from.kind == ValueKind::kTexts;
            const FeatureValues& x = args[0];
            MarkRows(from, out.offsets, marks, [&](size_t i) {
              if (out.ints[i] != 0) return false;
              return texts ? !x.texts[i].empty()
                           : from.kind != ValueKind::kNumber || !std::isnan(x.numbers[i]);
            });
          }};
}

}  // namespace

void AddFitFunctions(FeatureFunctionSet& functions) {
  functions.Add({.name = "normalize",
                 .usage = "normalize(x, missing=0)",
                 .about = "(x - mean) / standard deviation, both fitted; 0 where x is missing",
                 .bind = BindNormalize,
                 .fit = [](FeatureCall& call) {
                   call.Number("missing", 0);
                   return FitNumbers(call, Moments());
                 }});
  functions.Add({.name = "scale",
                 .usage = "scale(x, missing=0)",
                 .about = "(x - min) / (max - min), both fitted; 0 where x is missing",
                 .bind = BindScale,
                 .fit = [](FeatureCall& call) {
                   call.Number("missing", 0);
                   return FitNumbers(call, Range());
                 }});
  functions.Add({.name = "quantiles",
                 .usage = "quantiles(x, count=10)",
                 .about = "as bucket, with fitted boundaries that cut the values into parts of "
                          "about equal size",
                 .bind = BindQuantiles,
                 .fit = FitQuantiles});
  functions.Add({.name = "vocabulary",
                 .usage = "vocabulary(x, min_count=1, max_size=1000000)",
                 .about = "1 for the most frequent value, 2 for the next, …, fitted; 0 for others "
                          "and for missing ones",
                 .bind = BindVocabulary,
                 .fit = [](FeatureCall& call) -> std::unique_ptr<FeatureFitter> {
                   const VocabularySettings settings(call);
                   return std::make_unique<Words>(call.type(0), settings);
                 }});
}

}  // namespace catamaran
