// nn/random_program_test_util.h
//
// For tests: the text of a random program, valid by construction, whose function `loss` is a
// scalar of params and arguments. A seed gives the same text on every machine. What is in it:
// elementwise ops with broadcasting, products, reductions, ops that move elements, random ops,
// calls, builders in text, static arguments, and branches and loops within each other.
//
// Values stay within a known bound, so that finite differences in f64 mean something.

#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "catamaran/tensor/tensor.h"

namespace catamaran {

struct RandomProgramOptions {
  bool branches = true;  // if
  bool loops = true;     // for, while
  bool kinks = true;     // ops whose derivative jumps: relu, max, where
  bool sparse = true;    // embedding, whose gradient is rows
  int max_ops = 8;       // statements of a block
};

struct RandomProgram {
  std::string text;
  std::map<std::string, Tensor> feeds;  // of `loss`
};

class RandomProgramWriter {
 public:
  explicit RandomProgramWriter(uint32_t seed, RandomProgramOptions options = {})
      : random_(seed), options_(options) {}

  RandomProgram Write() {
    text_ = "program random\n";
    WriteBuilder();
    const int params = Int(1, 3);
    for (int i = 0; i < params; ++i) {
      std::vector<std::string> dims = ConstantDims();
      text_ += fmt::format("param @w{} : f64[{}] = normal(std=0.6)\n", i, Join(dims));
      params_.push_back({fmt::format("@w{}", i), dims, 2});
    }
    if (Chance(60)) {
      const int size = Int(2, 3);
      text_ += fmt::format("b0 = block({}{})\n", size, Chance(50) ? ", scale=0.75" : "");
      callees_.push_back({"b0", {{"B", std::to_string(size)}}, {{"B", std::to_string(size)}}, ""});
      if (Chance(50)) {
        text_ += fmt::format("b1 = block({}, scale=-0.5)\n", size);
        callees_.push_back(
            {"b1", {{"B", std::to_string(size)}}, {{"B", std::to_string(size)}}, ""});
      }
      params_.push_back({"@b0.w", {std::to_string(size), std::to_string(size)}, 2});
    }
    const int helpers = Int(0, 2);
    for (int i = 0; i < helpers; ++i) WriteHelper(fmt::format("f{}", i));
    WriteLoss();
    RandomProgram out{std::move(text_), {}};
    out.feeds["x"] = Uniform({kBatch, 3});
    out.feeds["y"] = Uniform({3});
    out.feeds["s"] = Uniform({});
    out.feeds["n"] = Tensor::Scalar<int64_t>(Int(0, 3));
    out.feeds["up"] = Tensor::Scalar<bool>(Chance(50));
    out.feeds["ids"] =
        Tensor::From<int64_t>(Shape({3}), std::vector<int64_t>{Int(0, 1), Int(0, 1), Int(0, 1)});
    return out;
  }

  static constexpr int64_t kBatch = 2;

 private:
  struct Val {
    std::string name;
    std::vector<std::string> dims;
    double bound = 1;  // of the absolute value, roughly
  };
  struct Callee {
    std::string name;
    std::vector<std::vector<std::string>> args, results;
    std::string statics;  // names of static arguments it has: "kfb"
  };

  int Int(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<uint32_t>(high - low + 1));
  }
  bool Chance(int percent) { return Int(1, 100) <= percent; }
  template <class T>
  const T& Any(const std::vector<T>& list) {
    return list[static_cast<size_t>(Int(0, static_cast<int>(list.size()) - 1))];
  }
  Tensor Uniform(std::vector<int64_t> dims) {
    Tensor t = Tensor::Zeros(DType::kF64, Shape(dims));
    for (double& v : t.mutable_data<double>()) v = Int(-1000, 1000) / 800.0;
    return t;
  }
  static std::string Join(const std::vector<std::string>& parts) {
    return fmt::format("{}", fmt::join(parts, ", "));
  }
  std::string NewName() { return fmt::format("v{}", ++names_); }
  static bool IsNumber(const std::string& dim) { return std::isdigit(dim[0]) != 0; }
  std::vector<std::string> ConstantDims() {
    std::vector<std::string> dims;
    const int rank = Int(0, 3);
    for (int i = 0; i < rank; ++i) dims.push_back(std::to_string(Int(1, 3)));
    return dims;
  }

  void Line(const std::string& line) { text_ += std::string(indent_, ' ') + line + "\n"; }

  // Values of late are more likely, so that programs are deep.
  Val Pick() {
    const int size = static_cast<int>(values_.size());
    if (Chance(15) && !params_.empty() && params_visible_) return Any(params_);
    return values_[static_cast<size_t>(Chance(60) ? Int(std::max(0, size - 4), size - 1)
                                                  : Int(0, size - 1))];
  }
  Val PickOfRank(int least) {
    for (int i = 0; i < 12; ++i) {
      Val v = Pick();
      if (static_cast<int>(v.dims.size()) >= least) return v;
    }
    return OfType(std::vector<std::string>(static_cast<size_t>(least), "2"));
  }
  // A value of these dimensions: one that is there, or one made from another.
  Val OfType(const std::vector<std::string>& dims) {
    std::vector<Val> fits;
    for (const Val& v : values_) {
      if (v.dims == dims) fits.push_back(v);
    }
    if (!fits.empty() && Chance(85)) return Any(fits);
    const Val from = Pick();
    const std::string scalar = from.dims.empty() ? from.name : fmt::format("mean({})", from.name);
    if (dims.empty()) return Add(scalar, {}, from.bound);
    return Add(fmt::format("expand({}, [{}])", scalar, Join(dims)), dims, from.bound);
  }

  Val Add(std::string expr, std::vector<std::string> dims, double bound) {
    if (bound > 6) {
      expr = fmt::format("tanh({})", expr);
      bound = 1;
    }
    Val v{NewName(), std::move(dims), std::max(bound, 0.1)};
    Line(fmt::format("{} = {}", v.name, expr));
    values_.push_back(v);
    return v;
  }

  std::string Negative(size_t axis, size_t rank) {
    return Chance(40) ? std::to_string(static_cast<int>(axis) - static_cast<int>(rank))
                      : std::to_string(axis);
  }

  void Unary() {
    const Val v = Pick();
    struct Formula {
      const char* text;
      double bound;
      bool kink;
    };
    static const std::vector<Formula> formulas = {
        {"tanh({})", 1, false},
        {"sin({})", 1, false},
        {"cos({})", 1, false},
        {"sigmoid({})", 1, false},
        {"softplus({})", 7, false},
        {"gelu({})", 6, false},
        {"erf({})", 1, false},
        {"-{}", 0, false},
        {"exp({} * 0.2)", 3.4, false},
        {"log1p(square({}))", 4, false},
        {"log(square({}) + 1.5)", 4, false},
        {"sqrt(square({}) + 0.5)", 6, false},
        {"rsqrt(square({}) + 0.5)", 1.5, false},
        {"pow(square({}) + 0.5, 0.7)", 6, false},
        {"relu({})", 0, true},
        {"abs({})", 0, true},
    };
    Formula f = Any(formulas);
    if (f.kink && !options_.kinks) f = formulas[0];
    Add(fmt::format(fmt::runtime(f.text), v.name), v.dims, f.bound == 0 ? v.bound : f.bound);
  }

  // Another value that broadcasts with v to v's dimensions.
  Val Mate(const Val& v) {
    std::vector<Val> fits;
    for (const Val& c : values_) {
      if (c.dims.size() > v.dims.size()) continue;
      bool ok = true;
      for (size_t i = 0; i < c.dims.size(); ++i) {
        const std::string& mine = v.dims[v.dims.size() - c.dims.size() + i];
        ok &= c.dims[i] == mine || c.dims[i] == "1";
      }
      if (ok) fits.push_back(c);
    }
    return fits.empty() ? v : Any(fits);
  }

  void Binary() {
    const Val v = Pick(), m = Mate(v);
    std::string a = v.name, b = m.name;
    if (Chance(50)) std::swap(a, b);
    switch (Int(0, !options_.kinks ? 3 : flags_visible_ ? 6 : 5)) {
      case 0:
        Add(a + " + " + b, v.dims, v.bound + m.bound);
        break;
      case 1:
        Add(a + " - " + b, v.dims, v.bound + m.bound);
        break;
      case 2:
        Add(a + " * " + b, v.dims, v.bound * m.bound);
        break;
      case 3:
        Add(fmt::format("{} / (square({}) + 1.0)", a, b), v.dims, std::max(v.bound, m.bound));
        break;
      case 4:
        Add(fmt::format("maximum({}, {})", a, b), v.dims, std::max(v.bound, m.bound));
        break;
      case 5:
        Add(fmt::format("where({} < {}, {}, {} * 0.5)", a, b, v.name, m.name), v.dims,
            std::max(v.bound, m.bound));
        break;
      case 6:
        Add(fmt::format("where(up and n > 1, {}, sin({}))", a, v.name), v.dims,
            std::max({v.bound, m.bound, 1.0}));
        break;
    }
  }

  void Matmul() {
    const Val a = PickOfRank(2);
    const size_t rank = a.dims.size();
    const bool ta = Chance(30), tb = Chance(30);
    const std::string rows = a.dims[rank - (ta ? 1 : 2)], inner = a.dims[rank - (ta ? 2 : 1)];
    const std::string columns = std::to_string(Int(1, 3));
    std::vector<std::string> b_dims = {inner, columns};
    if (tb) std::swap(b_dims[0], b_dims[1]);
    std::vector<std::string> lead(a.dims.begin(), a.dims.end() - 2);
    if (ta || Chance(30)) b_dims.insert(b_dims.begin(), lead.begin(), lead.end());
    const Val b = OfType(b_dims);
    std::vector<std::string> out = lead;
    out.push_back(rows);
    out.push_back(columns);
    Add(fmt::format("matmul({}, {}{}{})", a.name, b.name, ta ? ", transpose_a=true" : "",
                    tb ? ", transpose_b=true" : ""),
        out, 3 * a.bound * b.bound);
  }

  void Reduction() {
    const Val v = PickOfRank(1);
    const char* name = Any(std::vector<const char*>{"sum", "mean", "max"});
    if (!options_.kinks && name[1] == 'a') name = "mean";
    std::vector<std::string> axes, kept;
    const bool keep = Chance(40);
    for (size_t i = 0; i < v.dims.size(); ++i) {
      if (Chance(50)) {
        axes.push_back(Negative(i, v.dims.size()));
        if (keep) kept.push_back("1");
      } else {
        kept.push_back(v.dims[i]);
      }
    }
    const double bound = name[0] == 's' ? v.bound * 9 : v.bound;
    if (axes.empty()) {
      Add(fmt::format("{}({})", name, v.name), {}, bound);
    } else {
      Add(fmt::format("{}({}, axes=[{}]{})", name, v.name, Join(axes),
                      keep ? ", keepdims=true" : ""),
          kept, bound);
    }
  }

  void Rows() {
    const Val v = PickOfRank(1);
    if (Chance(25)) {
      const Val scale = OfType({v.dims.back()}), offset = OfType({v.dims.back()});
      // The variance of near-equal numbers is all rounding: spread them.
      Add(fmt::format("layer_norm({}, {}, {}, eps=0.1)", v.name, scale.name, offset.name), v.dims,
          2 * scale.bound + offset.bound);
      return;
    }
    const bool log = Chance(40);
    Add(fmt::format("{}({})", log ? "log_softmax" : "softmax", v.name), v.dims,
        log ? 2 * v.bound + 1 : 1);
  }

  void Move() {
    const Val v = PickOfRank(1);
    const size_t rank = v.dims.size();
    const size_t axis = static_cast<size_t>(Int(0, static_cast<int>(rank) - 1));
    std::vector<std::string> dims = v.dims;
    switch (Int(0, 6)) {
      case 0: {  // an axis of size 1 comes or goes
        const auto one = std::find(dims.begin(), dims.end(), "1");
        if (one != dims.end()) {
          dims.erase(one);
        } else if (rank < 4) {
          dims.insert(dims.begin() + static_cast<int>(axis), "1");
        }
        Add(fmt::format("reshape({}, [{}])", v.name, Join(dims)), dims, v.bound);
        break;
      }
      case 1: {
        std::vector<std::string> factors;
        for (const std::string& d : v.dims) factors.push_back(d);
        const std::string all = fmt::format("{}", fmt::join(factors, "*"));
        int64_t product = 1;
        bool numbers = true;
        for (const std::string& d : v.dims) {
          numbers &= IsNumber(d);
          if (numbers) product *= std::stoll(d);
        }
        if (!numbers && rank > 1) {  // B*3: another dimension, and back
          const Val flat{NewName(), {}, v.bound};
          Line(fmt::format("{} = reshape({}, [{}])", flat.name, v.name, Chance(50) ? "-1" : all));
          Add(fmt::format("reshape(sin({}), [{}])", flat.name, Join(dims)), dims, 1);
        } else if (numbers && product <= 9) {
          Add(fmt::format("reshape({}, [{}])", v.name, product), {std::to_string(product)},
              v.bound);
        }
        break;
      }
      case 2: {
        std::vector<std::string> perm;
        std::vector<size_t> order(rank);
        for (size_t i = 0; i < rank; ++i) order[i] = i;
        for (size_t i = rank; i > 1; --i) {
          std::swap(order[i - 1], order[static_cast<size_t>(Int(0, static_cast<int>(i) - 1))]);
        }
        for (size_t i = 0; i < rank; ++i) {
          perm.push_back(std::to_string(order[i]));
          dims[i] = v.dims[order[i]];
        }
        Add(fmt::format("transpose({}, perm=[{}])", v.name, Join(perm)), dims, v.bound);
        break;
      }
      case 3: {
        std::vector<Val> parts = {v};
        while (Chance(50) && parts.size() < 3) parts.push_back(OfType(v.dims));
        if (!IsNumber(dims[axis])) return;
        const int64_t total = std::stoll(dims[axis]) * static_cast<int64_t>(parts.size());
        if (total > 9) return;
        dims[axis] = std::to_string(total);
        std::vector<std::string> names;
        double bound = 0;
        for (const Val& p : parts) {
          names.push_back(p.name);
          bound = std::max(bound, p.bound);
        }
        Add(fmt::format("concat({}, axis={})", Join(names), Negative(axis, rank)), dims, bound);
        break;
      }
      case 4: {
        if (!IsNumber(dims[axis])) return;
        const int size = std::stoi(dims[axis]), begin = Int(0, size - 1),
                  end = Int(begin + 1, size);
        dims[axis] = std::to_string(end - begin);
        Add(fmt::format("slice({}, axis={}, begin={}{})", v.name, Negative(axis, rank),
                        Chance(30) ? begin - size : begin,
                        end == size && Chance(50) ? "" : fmt::format(", end={}", end)),
            dims, v.bound);
        break;
      }
      case 5: {
        if (rank > 3) return;
        dims.insert(dims.begin(), "2");
        for (size_t i = 1; i < dims.size(); ++i) {
          if (dims[i] == "1") dims[i] = "3";
        }
        Add(fmt::format("expand({}, [{}])", v.name, Join(dims)), dims, v.bound);
        break;
      }
      case 6: {
        if (!IsNumber(dims[axis]) || dims[axis] == "1" || !ids_visible_) return;
        dims[axis] = "3";
        if (axis == 0 && rank > 1 && options_.sparse && Chance(50)) {
          Add(fmt::format("embedding({}, ids)", v.name), dims, v.bound);
        } else {
          Add(fmt::format("gather({}, ids, axis={})", v.name, Negative(axis, rank)), dims, v.bound);
        }
        break;
      }
    }
  }

  void Noise() {
    const Val v = PickOfRank(1);
    if (Chance(60)) {
      Add(fmt::format("dropout({}, key(), rate=0.4)", v.name), v.dims, v.bound * 1.7);
    } else {
      Add(fmt::format("{} + uniform(key(), shape=[{}], dtype=f64)", v.name, Join(v.dims)), v.dims,
          v.bound + 1);
    }
  }

  void Call() {
    if (callees_.empty()) return Unary();
    const Callee& c = Any(callees_);
    std::vector<std::string> args;
    for (const auto& dims : c.args) args.push_back(OfType(dims).name);
    std::string statics;
    for (char s : c.statics) {
      if (Chance(40)) continue;
      const char* text = s == 'k' ? "k=3" : s == 'f' ? "f=0.25" : Chance(50) ? "b=true" : "b=false";
      if (Chance(50)) {
        args.push_back(text);
      } else {
        statics += (statics.empty() ? "" : ", ") + std::string(text);
      }
    }
    if (!statics.empty()) statics = "[" + statics + "]";
    const std::string call = fmt::format("{}{}({})", c.name, statics, Join(args));
    if (c.results.size() == 1) {
      Add(call, c.results[0], 6);
      return;
    }
    std::vector<std::string> targets;
    for (const auto& dims : c.results) {
      Val v{NewName(), dims, 6};
      targets.push_back(v.name);
      values_.push_back(v);
    }
    Line(Join(targets) + " = " + call);
  }

  std::string Condition() {
    const Val v = Pick();
    const std::string scalar = v.dims.empty() ? v.name : fmt::format("sum({})", v.name);
    switch (Int(0, 3)) {
      case 0:
        return fmt::format("{} < {}", scalar, Int(-9, 9) / 8.0);
      case 1:
        return flags_visible_ ? "up" : "true";
      case 2:
        return flags_visible_ ? "not up or n >= 2" : "1 < 2";
      default:
        return fmt::format("{} > 0.125 and {} < 2.5", scalar, scalar);
    }
  }

  // What a block yields for values of these types.
  void Yield(const std::vector<Val>& like, const std::string& also = "") {
    std::vector<std::string> names;
    for (const Val& l : like) {
      Val v = OfType(l.dims);
      // Carried values must not grow from round to round.
      if (v.bound > l.bound) v = Add(fmt::format("tanh({})", v.name), v.dims, 1);
      names.push_back(v.name);
    }
    if (!also.empty()) names.push_back(also);
    Line("yield " + Join(names));
  }

  void Control(int depth) {
    if (!options_.branches && !options_.loops) return;
    const int kind = Int(options_.branches ? 0 : 1, options_.loops ? 2 : 0);
    std::vector<Val> like;
    const int count = Int(1, 3);
    for (int i = 0; i < count; ++i) {
      Val v = Pick();
      v.bound = std::max(v.bound, 1.0);
      like.push_back(v);
    }
    std::vector<Val> results;
    for (const Val& l : like) results.push_back({NewName(), l.dims, l.bound});
    const size_t visible = values_.size();
    std::vector<std::string> targets, inits;
    for (size_t i = 0; i < like.size(); ++i) {
      targets.push_back(results[i].name);
      // Half of the carried values take the name of what they start from.
      const bool path = like[i].name[0] == '@';
      const std::string inner = !path && Chance(30) ? like[i].name : NewName();
      const bool taken = std::any_of(inits.begin(), inits.end(), [&](const std::string& s) {
        return s.starts_with(inner + " ");
      });
      inits.push_back((taken ? NewName() : inner) + " = " + like[i].name);
    }
    const auto carried_name = [&](size_t i) { return inits[i].substr(0, inits[i].find(' ')); };
    const auto body = [&](bool carried) {
      indent_ += 2;
      if (carried) {
        for (size_t i = 0; i < like.size(); ++i) {
          values_.push_back({carried_name(i), like[i].dims, like[i].bound});
        }
      }
      Fill(depth - 1, Int(0, 4));
    };
    const auto end = [&] {
      indent_ -= 2;
      values_.resize(visible);
    };
    if (kind == 0) {
      Line(fmt::format("{} = if {} {{", Join(targets), Condition()));
      body(false);
      Yield(like);
      end();
      Line("} else {");
      body(false);
      Yield(like);
      end();
      Line("}");
    } else if (kind == 1) {
      const std::string index = fmt::format("i{}", ++names_);
      const std::string range = flags_visible_ && Chance(40) ? "n" : Chance(50) ? "2" : "1, 3";
      Line(fmt::format("{} = for {} in range({}) with ({}) {{", Join(targets), index, range,
                       Join(inits)));
      body(true);
      if (Chance(40)) {
        const Val v = OfType(like[0].dims);
        Add(fmt::format("{} * cast({}, f64) * 0.25", v.name, index), v.dims, v.bound);
      }
      Yield(like);
      end();
      Line("}");
    } else {
      const std::string round = fmt::format("k{}", ++names_), result = fmt::format("k{}", ++names_);
      inits.insert(inits.begin(), fmt::format("{} = 0", round));
      std::vector<std::string> all = targets;
      all.insert(all.begin(), result);
      const bool block = Chance(30);
      std::string condition = fmt::format("{} < {}", round, Int(0, 3));
      if (block)
        condition = fmt::format("{{\n{}  m = {}\n{}  yield m\n{}}}", std::string(indent_, ' '),
                                condition, std::string(indent_, ' '), std::string(indent_, ' '));
      Line(fmt::format("{} = while {} with ({}) {{", Join(all), condition, Join(inits)));
      inits.erase(inits.begin());
      body(true);
      std::vector<std::string> names;
      for (const Val& l : like) {
        Val v = OfType(l.dims);
        if (v.bound > l.bound) v = Add(fmt::format("tanh({})", v.name), v.dims, 1);
        names.push_back(v.name);
      }
      Line(fmt::format("yield {} + 1, {}", round, Join(names)));
      end();
      Line("}");
    }
    values_.insert(values_.end(), results.begin(), results.end());
  }

  void Fill(int depth, int count) {
    for (int i = 0; i < count; ++i) {
      switch (Int(0, 14)) {
        case 0:
        case 1:
        case 2:
          Unary();
          break;
        case 3:
        case 4:
        case 5:
          Binary();
          break;
        case 6:
          Matmul();
          break;
        case 7:
          Reduction();
          break;
        case 8:
          Rows();
          break;
        case 9:
        case 10:
          Move();
          break;
        case 11:
          Noise();
          break;
        case 12:
          Call();
          break;
        case 13:
        case 14:
          if (depth > 0) Control(depth);
          break;
      }
    }
  }

  void BeginFunction() {
    values_.clear();
    indent_ = 2;
  }

  void WriteBuilder() {
    text_ += "builder block(D: int, scale: float = 0.5) {\n";
    text_ += "  param @w : f64[D, D] = normal(std=0.5)\n  param @s : f64[D] = ones\n";
    text_ += "  fn (x: f64[B, D]) -> f64[B, D] {\n";
    BeginFunction();
    indent_ = 4;
    flags_visible_ = ids_visible_ = params_visible_ = false;
    values_ = {{"x", {"B", "D"}, 6}};
    Add("matmul(x, @w) * scale", {"B", "D"}, 6);
    Add("@s + 0.5", {"D"}, 2);
    Fill(1, Int(0, 4));
    Line(fmt::format("return tanh({}) * 3.0", OfType({"B", "D"}).name));
    text_ += "  }\n}\n";
  }

  void WriteHelper(const std::string& name) {
    Callee c{name, {}, {}, ""};
    std::vector<std::string> params;
    BeginFunction();
    flags_visible_ = ids_visible_ = false;
    params_visible_ = true;
    const int count = Int(1, 2);
    for (int i = 0; i < count; ++i) {
      std::vector<std::string> dims = ConstantDims();
      if (Chance(50)) dims.insert(dims.begin(), "B");
      values_.push_back({fmt::format("a{}", i), dims, 6});
      params.push_back(fmt::format("a{}: f64[{}]", i, Join(dims)));
      c.args.push_back(dims);
    }
    // A B in the results must be bound by an argument.
    values_.push_back({"bind", {"B", "3"}, 6});
    params.push_back("bind: f64[B, 3]");
    c.args.push_back({"B", "3"});
    if (Chance(50)) {
      c.statics += "k";
      params.push_back("k: static int = 2");
    }
    if (Chance(40)) {
      c.statics += "f";
      params.push_back("f: static float = 0.5");
    }
    if (Chance(40)) {
      c.statics += "b";
      params.push_back("b: static bool = false");
    }
    const std::string body_before = std::move(text_);
    text_.clear();
    for (char s : c.statics) {
      const Val v = Pick();
      if (s == 'k')
        Add(fmt::format("{} * cast(dim(k * 2 - 1), f64) * 0.2", v.name), v.dims, v.bound);
      if (s == 'f') Add(fmt::format("{} * f", v.name), v.dims, v.bound);
      if (s == 'b') {
        Val r{NewName(), v.dims, std::max(1.0, v.bound)};
        Line(fmt::format("{} = if b {{ yield sin({}) }} else {{ yield {} * 0.5 }}", r.name, v.name,
                         v.name));
        values_.push_back(r);
      }
    }
    Fill(1, Int(1, options_.max_ops / 2));
    std::vector<std::string> returned, types;
    const int results = Int(1, 2);
    for (int i = 0; i < results; ++i) {
      const Val v = Pick();
      c.results.push_back(v.dims);
      returned.push_back(v.name);
      types.push_back(fmt::format("f64[{}]", Join(v.dims)));
    }
    Line("return " + Join(returned));
    const std::string declared =
        Chance(70) ? fmt::format(" -> ({})", Join(types)) : "";  // or inferred
    text_ =
        body_before + fmt::format("fn {}({}){} {{\n", name, Join(params), declared) + text_ + "}\n";
    callees_.push_back(std::move(c));
  }

  void WriteLoss() {
    text_ +=
        "fn loss(x: f64[B, 3], y: f64[3], s: f64[], n: i64[], up: bool[], ids: i64[3]) -> "
        "(value: f64[], other: f64[B, 3]) {\n";
    BeginFunction();
    flags_visible_ = ids_visible_ = params_visible_ = true;
    values_ = {{"x", {"B", "3"}, 1.3}, {"y", {"3"}, 1.3}, {"s", {}, 1.3}};
    for (const Val& p : params_) values_.push_back(p);
    Fill(2, Int(options_.max_ops / 2, 2 * options_.max_ops));
    // Everything of late has a part in the result, with weights that tell elements apart.
    std::string total = "s";
    for (size_t i = values_.size() > 5 ? values_.size() - 5 : 0; i < values_.size(); ++i) {
      total +=
          fmt::format(" + mean(sin({} + {}))", values_[i].name, 0.1 * static_cast<double>(i + 1));
    }
    for (const Val& p : params_) total += fmt::format(" + mean(square({})) * 0.3", p.name);
    Line("return " + total + ", " + OfType({"B", "3"}).name);
    text_ += "}\n";
  }

  std::mt19937 random_;
  RandomProgramOptions options_;
  std::string text_;
  std::vector<Val> values_;  // visible here
  std::vector<Val> params_;
  std::vector<Callee> callees_;
  size_t indent_ = 2;
  int names_ = 0;
  bool flags_visible_ = false, ids_visible_ = false, params_visible_ = false;
};

}  // namespace catamaran
