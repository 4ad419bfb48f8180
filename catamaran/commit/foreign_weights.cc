// commit/foreign_weights.cc

#include "catamaran/commit/foreign_weights.h"

#include <cstring>
#include <map>
#include <set>

#include "catamaran/base/error.h"
#include "catamaran/base/suggest.h"
#include "catamaran/tensor/cast.h"

namespace catamaran {
namespace {

Tensor Transposed(const Tensor& x) {
  const int64_t rows = x.shape()[0], columns = x.shape()[1];
  const size_t width = SizeOf(x.dtype());
  Tensor y = Tensor::Allocate(x.dtype(), {columns, rows});
  const auto* from = static_cast<const std::byte*>(x.raw_data());
  auto* to = static_cast<std::byte*>(y.mutable_raw_data());
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      std::memcpy(to + static_cast<size_t>(j * rows + i) * width,
                  from + static_cast<size_t>(i * columns + j) * width, width);
    }
  }
  return y;
}

std::string TypeName(DType dtype, const Shape& shape) {
  return std::string(Name(dtype)) + shape.ToString();
}

// Values that go to the states of a State, gathered and then set together.
class WeightImport {
 public:
  WeightImport(State& state, const std::string& source, const ImportOptions& options)
      : state_(state), source_(source), options_(options) {
    for (size_t i = 0; i < state.size(); ++i) {
      const StateInfo info = state.info(i);
      if (info.kind != StateKind::kParam && info.kind != StateKind::kVar) continue;
      states_.emplace(std::string(info.name), info);
    }
  }

  void Add(const NamedTensor& tensor, const std::string& path, bool transposed) {
    const auto found = states_.find(path);
    if (found == states_.end()) {
      if (options_.allow_missing) {
        summary.left_out.push_back(tensor.name);
      } else {
        std::vector<std::string_view> names;
        for (const auto& [name, info] : states_) names.push_back(name);
        const std::string close = Suggest(path, names);
        Problem(fmt::format("{}: there is no param or var @{}{}", tensor.name, path,
                            close.empty() ? "" : "; did you mean @" + close + "?"));
      }
      return;
    }
    if (const auto other = values_.find(path); other != values_.end()) {
      Problem(fmt::format("{} and {} both go to @{}", other->second.name, tensor.name, path));
      return;
    }
    if (transposed && tensor.tensor.shape().rank() != 2) {
      Problem(fmt::format("{} is {}: only a matrix can be transposed", tensor.name,
                          TypeName(tensor.tensor.dtype(), tensor.tensor.shape())));
      return;
    }
    const StateInfo& info = found->second;
    Tensor value = transposed ? Transposed(tensor.tensor) : tensor.tensor;
    if (value.dtype() != info.dtype && IsFloat(value.dtype()) && IsFloat(info.dtype)) {
      value = Cast(value, info.dtype);
    }
    if (value.dtype() != info.dtype || !(value.shape() == info.shape)) {
      Problem(fmt::format(
          "{} is {}{}, @{} is {}", tensor.name, TypeName(value.dtype(), value.shape()),
          transposed ? " when transposed" : "", path, TypeName(info.dtype, info.shape)));
      return;
    }
    values_.emplace(path, NamedTensor{tensor.name, std::move(value)});
  }

  void Problem(const std::string& text) { problems_.push_back(text); }

  void Finish() {
    for (const auto& [path, info] : states_) {
      if (info.kind != StateKind::kParam || values_.contains(path)) continue;
      if (options_.allow_new) {
        summary.initialised.push_back(path);
      } else {
        Problem(fmt::format("nothing goes to the param @{} : {}", path,
                            TypeName(info.dtype, info.shape)));
      }
    }
    if (!problems_.empty()) FailWithProblems();
    for (const auto& [path, value] : values_) state_.SetTensor(path, value.tensor);
    summary.loaded = values_.size();
  }

  ImportSummary summary;

 private:
  [[noreturn]] void FailWithProblems() const {
    constexpr size_t kShown = 20;
    std::string text = fmt::format("{}: the weights do not fit:", source_);
    for (size_t i = 0; i < problems_.size() && i < kShown; ++i) text += "\n  " + problems_[i];
    if (problems_.size() > kShown) {
      text += fmt::format("\n  and {} more", problems_.size() - kShown);
    }
    Fail("{}", text);
  }

  State& state_;
  const std::string& source_;
  const ImportOptions& options_;
  std::map<std::string, StateInfo> states_;
  std::map<std::string, NamedTensor> values_;
  std::vector<std::string> problems_;
};

}  // namespace

ImportSummary ImportWeights(State& state, const SafetensorsFile& file, const std::string& source,
                            const NameRules* rules, const ImportOptions& options) {
  WeightImport import(state, source, options);
  std::set<size_t> used;
  for (const NamedTensor& tensor : file.tensors) {
    NameRules::Target target{tensor.name, false, 0};
    if (rules != nullptr) {
      const auto found = rules->Find(tensor.name);
      if (found) used.insert(found->rule);
      if (!found && !options.allow_missing) {
        import.Problem(fmt::format("no line of the names fits {}", tensor.name));
        continue;
      }
      if (!found || found->path.empty()) {
        import.summary.left_out.push_back(tensor.name);
        continue;
      }
      target = *found;
    }
    import.Add(tensor, target.path, target.transposed);
  }
  import.Finish();
  if (rules != nullptr) {
    for (size_t i = 0; i < rules->size(); ++i) {
      if (!used.contains(i)) import.summary.unused.push_back(i);
    }
  }
  return std::move(import.summary);
}

}  // namespace catamaran
