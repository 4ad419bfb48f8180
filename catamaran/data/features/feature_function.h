// data/features/feature_function.h
//
// The functions that a features file may call. A function is a FeatureFunction in a
// FeatureFunctionSet: ours are in standard_functions.h, users bring theirs from a shared library
// (feature_library.h). When a file is bound to the columns of some data, each call is asked once
// what it gives, and what computes it:
//
//   functions.Add({.name = "double",
//                  .usage = "double(x)",
//                  .about = "twice x",
//                  .bind = [](FeatureCall& call) -> FeatureKernel {
//                    call.NeedValues(1);
//                    call.NeedNumber(0);
//                    return {call.type(0), [](const FeatureArgs& args, FeatureValues& out) {
//                      for (const double x : args[0].numbers) out.numbers.push_back(2 * x);
//                    }};
//                  }});
//
// A function that learns something from data (a mean, a vocabulary) has `fit` too: then `bind` is
// called only when its FittedValue is there.
//
// Thread safety: sets are as std::map; kernels run on many threads at once.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "catamaran/data/features/feature_syntax.h"
#include "catamaran/data/features/feature_value.h"

namespace catamaran {

// What a kernel gets for one block of rows.
struct FeatureArgs {
  int64_t rows = 0;
  std::span<const FeatureValues* const> values;
  std::string_view place;  // "adult.features:3: output 'age'", for errors

  const FeatureValues& operator[](size_t i) const { return *values[i]; }
  // That row cannot be transformed.
  [[noreturn]] void FailRow(int64_t row, const std::string& message) const;
};

// `run` appends the values of all rows to `out`, which is empty.
struct FeatureKernel {
  ValueType type;
  std::function<void(const FeatureArgs& args, FeatureValues& out)> run;
  // Of one that knows what it was made for, else null: sets the mark of each row whose value is not
  // missing and outside of that, given what `run` has made.
  std::function<void(const FeatureArgs& args, const FeatureValues& out, std::span<uint8_t> marks)>
      mark_outside = nullptr;
};

// Sets the marks of rows for which outside(i) says so of an element i; `offsets` are those of a
// list.
template <class Outside>
void MarkRows(const ValueType& type, const Buffer<int32_t>& offsets, std::span<uint8_t> marks,
              const Outside& outside) {
  const auto width = type.is_list() ? 0 : static_cast<size_t>(type.elements());
  for (size_t r = 0; r < marks.size(); ++r) {
    const size_t begin = type.is_list() ? static_cast<size_t>(offsets[r]) : r * width;
    const size_t end = type.is_list() ? static_cast<size_t>(offsets[r + 1]) : begin + width;
    for (size_t i = begin; i < end && marks[r] == 0; ++i) marks[r] = outside(i) ? 1 : 0;
  }
}

// What was learned from data. Numbers and texts mean what the function says.
struct FittedValue {
  std::vector<double> numbers;
  std::vector<std::string> texts;

  friend bool operator==(const FittedValue&, const FittedValue&) = default;
};

// Hears of all rows, in order, block by block. One thread at a time.
class FeatureFitter {
 public:
  virtual ~FeatureFitter() = default;
  virtual void Add(const FeatureArgs& args) = 0;
  virtual FittedValue Finish() = 0;
};

// One call in a features file, while it is bound. Values are what stands without a name and is
// computed for each row; settings are constants: `name=value`. What does not fit is an Error that
// shows the place in the file. A setting that nobody has asked for is one too.
class FeatureCall {
 public:
  struct Argument {
    ValueType type;
    std::string field;  // the column that the value is made of
    const FeatureExpr* expr = nullptr;
  };

  FeatureCall(const FeatureSource& source, const FeatureExpr& expr, std::string output,
              std::vector<Argument> arguments, const FittedValue* fitted);

  const std::string& name() const { return expr_.text; }
  // The name of the line that it stands in.
  const std::string& output() const { return output_; }
  // What the values are, for salts: the name of a column, also where a conversion stands around it;
  // the expression of what is computed of columns; several with commas. Where no value is made of
  // columns, the output's name.
  std::string field() const;

  size_t values() const { return arguments_.size(); }
  const ValueType& type(size_t i) const { return arguments_[i].type; }
  void NeedValues(size_t count) { NeedValues(count, count); }
  void NeedValues(size_t least, size_t most);
  // The value is a number of any shape; where it is an integer, it is made a number.
  void NeedNumber(size_t i);
  void NeedText(size_t i);
  void NeedInteger(size_t i);
  // Whether NeedNumber was called for a value that is an integer.
  bool converted(size_t i) const { return converted_[i]; }

  // Settings; without the setting, `otherwise`.
  double Number(std::string_view name, double otherwise);
  std::optional<double> Number(std::string_view name);
  int64_t Integer(std::string_view name, int64_t otherwise, int64_t least, int64_t most);
  std::string Text(std::string_view name, std::string_view otherwise);
  bool Flag(std::string_view name, bool otherwise);  // yes, no, true, false
  std::string OneOf(std::string_view name, std::span<const std::string_view> allowed);
  bool Has(std::string_view name);
  // A list that stands as a value or as a setting of that name.
  std::vector<double> Numbers(std::string_view name);
  std::vector<std::string> Texts(std::string_view name);

  // Null while it is not fitted.
  const FittedValue* fitted() const { return fitted_; }

  [[noreturn]] void Fail(const std::string& message) const;
  // Settings that were not asked for are an Error.
  void CheckSettings() const;

 private:
  const FeatureSetting* Find(std::string_view name);
  const FeatureExpr* FindList(std::string_view name);
  [[noreturn]] void FailSetting(const FeatureSetting& setting, std::string_view wanted) const;

  const FeatureSource& source_;
  const FeatureExpr& expr_;
  const std::string output_;
  std::vector<Argument> arguments_;
  std::vector<bool> converted_;
  const FittedValue* fitted_;
  std::vector<std::string> asked_;
};

struct FeatureFunction {
  std::string name;
  std::string usage;  // "bucket(x, [boundaries])"
  std::string about;  // a sentence or two
  std::function<FeatureKernel(FeatureCall& call)> bind;
  std::function<std::unique_ptr<FeatureFitter>(FeatureCall& call)> fit;  // may be null
};

class FeatureFunctionSet {
 public:
  // An Error if the name is taken.
  void Add(FeatureFunction function);
  // Null if there is none.
  const FeatureFunction* Find(std::string_view name) const;
  const std::map<std::string, FeatureFunction, std::less<>>& all() const { return functions_; }

  // Keeps a library loaded as long as the set, or a copy, or what was bound with it, lives.
  void Keep(std::shared_ptr<void> library) { libraries_.push_back(std::move(library)); }

 private:
  std::vector<std::shared_ptr<void>> libraries_;  // first, so that it goes last
  std::map<std::string, FeatureFunction, std::less<>> functions_;
};

}  // namespace catamaran
