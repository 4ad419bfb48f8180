#include "catamaran/exec/initializer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "catamaran/base/error.h"
#include "catamaran/base/hash.h"
#include "catamaran/base/random.h"
#include "catamaran/tensor/cast.h"

namespace catamaran {
namespace {

enum class Distribution { kConstant, kUniform, kNormal, kTruncatedNormal, kOrthogonal };

struct Initializer {
  Distribution distribution = Distribution::kConstant;
  double a = 0;    // constant: the value; uniform: low; normal: mean; orthogonal: gain
  double b = 0;    // uniform: high; normal: standard deviation
  double cut = 0;  // truncated normal: the most standard deviations from the mean
};

[[noreturn]] void FailAt(const StateDecl& decl, const SourceTable& sources,
                         const std::string& message) {
  Fail(ErrorCode::kInvalidProgram, "{}: @{}: {}", sources.ToString(decl.at), decl.name, message);
}

struct Fans {
  double in = 1, out = 1;
};

// [in, out] of a matrix; [out, in, window…] of a convolution.
Fans FansOf(const Shape& shape) {
  Fans fans;
  const int rank = shape.rank();
  if (rank == 0) return fans;
  if (rank == 1) {
    fans.in = fans.out = static_cast<double>(std::max<int64_t>(1, shape[0]));
    return fans;
  }
  double window = 1;
  for (int axis = 2; axis < rank; ++axis) window *= static_cast<double>(shape[axis]);
  fans.in = std::max(1.0, window * static_cast<double>(shape[rank == 2 ? 0 : 1]));
  fans.out = std::max(1.0, window * static_cast<double>(shape[rank == 2 ? 1 : 0]));
  return fans;
}

// Reads the arguments of `normal(std=0.01)`: by name, or by position in the order of `names`.
class Arguments {
 public:
  Arguments(const AttrCall* call, std::initializer_list<std::string_view> names,
            const StateDecl& decl, const SourceTable& sources)
      : call_(call), names_(names), decl_(decl), sources_(sources) {
    if (!call_) return;
    if (call_->positional.size() > names_.size()) {
      FailAt(decl, sources, "too many arguments in " + Attr(*call_).ToString());
    }
    for (const NamedAttr& given : call_->named) {
      if (std::find(names_.begin(), names_.end(), given.name) == names_.end()) {
        FailAt(decl, sources, call_->name + " has no argument " + given.name);
      }
    }
  }

  const Attr& Find(std::string_view name) const {
    static const Attr kNone;
    if (!call_) return kNone;
    const Attr& named = FindAttr(call_->named, name);
    if (!named.empty()) return named;
    const size_t index =
        static_cast<size_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
    return index < call_->positional.size() ? call_->positional[index] : kNone;
  }

  double Number(std::string_view name, double otherwise) const {
    const Attr& given = Find(name);
    if (given.empty()) return otherwise;
    try {
      return given.AsDouble();
    } catch (const Error& error) {
      FailAt(decl_, sources_, std::string(name) + ": " + error.what());
    }
  }

  // One that must not be negative.
  double Positive(std::string_view name, double otherwise) const {
    const double value = Number(name, otherwise);
    if (!(value >= 0)) {
      FailAt(decl_, sources_,
             fmt::format("{}: {} is negative: {}", call_ ? call_->name : "", name,
                         FormatDouble(value)));
    }
    return value;
  }

 private:
  const AttrCall* call_;
  std::vector<std::string_view> names_;
  const StateDecl& decl_;
  const SourceTable& sources_;
};

Initializer Scaled(double fan_sum, bool normal, double gain = 1) {
  // A variance of gain² * 2 / fan_sum; a uniform variable on [-l, l] has variance l * l / 3.
  const double variance = gain * gain * 2.0 / fan_sum;
  if (normal) return {Distribution::kNormal, 0, std::sqrt(variance)};
  const double limit = std::sqrt(3 * variance);
  return {Distribution::kUniform, -limit, limit};
}

Initializer Parse(const StateDecl& decl, const Shape& shape, const SourceTable& sources) {
  const Attr& init = decl.init;
  const Fans fans = FansOf(shape);
  if (init.empty()) {
    const bool weight = decl.kind == StateKind::kParam && shape.rank() >= 2;
    return weight && IsFloat(decl.type.dtype()) ? Scaled(fans.in + fans.out, false) : Initializer{};
  }
  if (const bool* b = init.get<bool>()) return {Distribution::kConstant, *b ? 1.0 : 0.0, 0};
  if (init.get<double>() || init.get<Dim>()) {
    return {Distribution::kConstant, init.AsDouble(), 0};
  }
  const AttrCall* call = init.call();
  const std::string name = call ? call->name : init.AsWord();
  const auto args = [&](std::initializer_list<std::string_view> names) {
    return Arguments(call, names, decl, sources);
  };
  if (name == "zeros" || name == "ones") {
    args({});
    return {Distribution::kConstant, name == "ones" ? 1.0 : 0.0, 0};
  }
  if (name == "constant") {
    return {Distribution::kConstant, args({"value"}).Number("value", 0), 0};
  }
  if (name == "normal") {
    const Arguments given = args({"mean", "std"});
    return {Distribution::kNormal, given.Number("mean", 0), given.Positive("std", 1)};
  }
  if (name == "truncated_normal") {
    const Arguments given = args({"mean", "std", "cut"});
    const Initializer result = {Distribution::kTruncatedNormal, given.Number("mean", 0),
                                given.Positive("std", 1), given.Number("cut", 2)};
    if (!(result.cut >= 0.1)) {
      FailAt(decl, sources,
             "truncated_normal: cut is at least 0.1 standard deviations; found " +
                 FormatDouble(result.cut));
    }
    return result;
  }
  if (name == "orthogonal") {
    if (shape.rank() < 2) {
      FailAt(decl, sources, "orthogonal: wants a matrix; found " + decl.type.ToString());
    }
    return {Distribution::kOrthogonal, args({"gain"}).Number("gain", 1)};
  }
  if (name == "uniform") {
    const Arguments given = args({"low", "high"});
    const Initializer result = {Distribution::kUniform, given.Number("low", 0),
                                given.Number("high", 1)};
    if (result.b < result.a) {
      FailAt(decl, sources,
             "uniform: high (" + FormatDouble(result.b) + ") is below low (" +
                 FormatDouble(result.a) + ")");
    }
    return result;
  }
  if (name == "xavier" || name == "glorot" || name == "he") {
    const Arguments given = args({"kind", "gain", "fan"});
    const Attr& kind = given.Find("kind");
    const bool he = name == "he";
    bool normal = he;
    if (!kind.empty()) {
      const std::string word = kind.AsWord();
      if (word != "normal" && word != "uniform") {
        FailAt(decl, sources, name + ": kind is normal or uniform; found " + word);
      }
      normal = word == "normal";
    }
    const double gain = given.Positive("gain", 1);
    if (!he) {
      if (!given.Find("fan").empty()) FailAt(decl, sources, name + " has no argument fan");
      return Scaled(fans.in + fans.out, normal, gain);
    }
    const std::string fan = given.Find("fan").empty() ? "in" : given.Find("fan").AsWord();
    if (fan != "in" && fan != "out") {
      FailAt(decl, sources, "he: fan is in or out; found " + fan);
    }
    return Scaled(fan == "in" ? fans.in : fans.out, normal, gain);
  }
  FailAt(
      decl, sources,
      "there is no initialiser " + name +
          "; there are zeros, ones, constant, normal, truncated_normal, uniform, xavier, glorot, "
          "he, orthogonal and numbers");
}

// Element i is drawn again until it is near enough to the mean; with a cut of 0.1 that takes more
// than 300 draws once in 10^12 elements, and the mean is taken then.
float TruncatedFloat(const Initializer& init, uint64_t key, int64_t i) {
  for (uint64_t draw = 0; draw < 300; draw += 4) {
    const PhiloxBlock block = Philox(Mix64(key + draw), static_cast<uint64_t>(i));
    for (int lane = 0; lane < 4; lane += 2) {
      const NormalPair pair = NormalFloats(block.words[lane], block.words[lane + 1]);
      for (const double z : {static_cast<double>(pair.first), static_cast<double>(pair.second)}) {
        if (std::abs(z) <= init.cut) return static_cast<float>(init.a + init.b * z);
      }
    }
  }
  return static_cast<float>(init.a);
}

// Element i of a random tensor comes from Philox block i / 4, or i / 2 for doubles.
float RandomFloat(const Initializer& init, uint64_t key, int64_t i) {
  const PhiloxBlock block = Philox(key, static_cast<uint64_t>(i) / 4);
  const int lane = static_cast<int>(i % 4);
  if (init.distribution == Distribution::kUniform) {
    const double u = UniformFloat(block.words[lane]);
    return static_cast<float>(init.a + (init.b - init.a) * u);
  }
  if (init.distribution == Distribution::kTruncatedNormal) return TruncatedFloat(init, key, i);
  const NormalPair pair = NormalFloats(block.words[lane & 2], block.words[(lane & 2) + 1]);
  return static_cast<float>(init.a +
                            init.b * static_cast<double>(lane & 1 ? pair.second : pair.first));
}

}  // namespace

namespace {

// Rows of normal numbers, each made orthogonal to those before it and brought to length 1. As a
// matrix [rows, columns] where there are at most as many rows as columns, else its transpose.
template <class T>
void FillOrthogonal(const Initializer& init, uint64_t key, const Shape& shape, T* out) {
  const int64_t n = shape.num_elements();
  if (n == 0) return;
  const int64_t rows = shape[0], columns = n / rows;
  const bool tall = rows > columns;
  const int64_t count = tall ? columns : rows, width = tall ? rows : columns;
  const Initializer normal = {Distribution::kNormal, 0, 1};
  std::vector<double> all(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    all[static_cast<size_t>(i)] = static_cast<double>(RandomFloat(normal, key, i));
  }
  for (int64_t r = 0; r < count; ++r) {
    double* row = all.data() + r * width;
    // Twice: what rounding leaves of the first time goes in the second.
    for (int time = 0; time < 2; ++time) {
      for (int64_t q = 0; q < r; ++q) {
        const double* other = all.data() + q * width;
        double dot = 0;
        for (int64_t j = 0; j < width; ++j) dot += row[j] * other[j];
        for (int64_t j = 0; j < width; ++j) row[j] -= dot * other[j];
      }
    }
    double square = 0;
    for (int64_t j = 0; j < width; ++j) square += row[j] * row[j];
    const double scale = 1 / std::sqrt(std::max(square, 1e-300));
    for (int64_t j = 0; j < width; ++j) row[j] *= scale;
  }
  for (int64_t r = 0; r < count; ++r) {
    for (int64_t j = 0; j < width; ++j) {
      out[tall ? j * columns + r : r * columns + j] =
          static_cast<T>(init.a * all[static_cast<size_t>(r * width + j)]);
    }
  }
}

}  // namespace

Shape StateShape(const StateDecl& decl, const SourceTable& sources) {
  Shape shape;
  for (const Dim& dim : decl.type.dims()) {
    if (!dim.is_constant()) {
      FailAt(decl, sources,
             "the shape of a state is made of integers; found " + decl.type.ToString());
    }
    shape.Append(dim.constant());
  }
  shape.num_elements();  // an Error when it does not fit
  return shape;
}

Tensor InitialValue(const StateDecl& decl, uint64_t seed, const SourceTable& sources) {
  const Shape shape = StateShape(decl, sources);
  const Initializer init = Parse(decl, shape, sources);
  const DType dtype = decl.type.dtype();
  if (init.distribution != Distribution::kConstant && !IsFloat(dtype)) {
    FailAt(decl, sources,
           "a random initialiser needs a floating-point type; found " + decl.type.ToString());
  }
  if (const Dim* number = decl.init.get<Dim>(); number && IsInteger(dtype)) {
    // Not by way of a double, which holds integers up to 2^53 only.
    Tensor integers = Tensor::Allocate(DType::kI64, shape);
    for (int64_t& out : integers.mutable_data<int64_t>()) out = decl.init.AsInt();
    return Cast(integers, dtype);
  }
  const bool wide = dtype == DType::kF64 || !IsFloat(dtype);
  Tensor values = Tensor::Allocate(wide ? DType::kF64 : DType::kF32, shape);
  const int64_t n = shape.num_elements();
  const uint64_t key = HashString(decl.name, Mix64(seed));
  const auto fill = [&]<class T>(T) {
    T* out = values.mutable_data<T>().data();
    if (init.distribution == Distribution::kConstant) {
      std::fill(out, out + n, static_cast<T>(init.a));
      return;
    }
    if (init.distribution == Distribution::kOrthogonal) {
      FillOrthogonal(init, key, shape, out);
      return;
    }
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(RandomFloat(init, key, i));
  };
  if (wide) {
    fill(double{});
  } else {
    fill(float{});
  }
  return values.dtype() == dtype ? values : Cast(values, dtype);
}

}  // namespace catamaran
