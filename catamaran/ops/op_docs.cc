#include "catamaran/ops/op_docs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "catamaran/base/error.h"
#include "catamaran/ops/op_case.h"
#include "catamaran/tensor/cast.h"

namespace catamaran {
namespace {

// An example is there to be read.
constexpr int64_t kFewElements = 12, kMostElements = 40;

// The groups in the order of the page; groups that are not here follow.
struct Group {
  std::string_view name, title, about;
};
constexpr Group kGroups[] = {
    {"arithmetic", "Arithmetic",
     "Element by element. Shapes broadcast as in NumPy, ragged values lift, and literals take the "
     "dtype of the other operands."},
    {"comparison", "Comparison and logic", "Element by element, as arithmetic."},
    {"activation", "Activations and the softmax family", ""},
    {"matrix", "Matrices", ""},
    {"attention", "Attention and positions", ""},
    {"recurrent", "Recurrent layers", ""},
    {"convolution", "Convolution, pooling and resizing", "Images are [N, C, H, W]."},
    {"normalisation", "Normalisation", ""},
    {"reduction", "Reductions and running results", ""},
    {"sorting", "Sorting, selecting and counting", ""},
    {"shape", "Shape, selection and construction", ""},
    {"loss", "Losses",
     "A loss is one number an element, or one a row; `mean` or `sum` makes it the number that is "
     "differentiated."},
    {"metric", "Metrics",
     "Metrics are pure: (accumulator, prediction, label) gives the next accumulator, which the "
     "caller keeps. An accumulator begins as zeros."},
    {"random", "Random numbers",
     "Everything random is a function of a key: the same key gives the same numbers. `key()` makes "
     "one, `split_key` makes several of one."},
    {"sparse", "Tables, embeddings and crosses", ""},
    {"ragged", "Ragged values",
     "`f32[B, *T, D]`: B sequences of different length. Elementwise and row-wise ops take them "
     "too."},
    {"effect", "Effects", "Ops that change state; they stand in a commit region."},
    {"control", "Loops", "What the gradient of a loop is written with."},
    {"debugging", "Debugging", ""},
};

std::string_view AttrKindText(AttrKind kind) {
  switch (kind) {
    case AttrKind::kInt:
      return "an integer or dimension";
    case AttrKind::kFloat:
      return "a number";
    case AttrKind::kBool:
      return "true or false";
    case AttrKind::kString:
      return "a string";
    case AttrKind::kWord:
      return "one of";
    case AttrKind::kDType:
      return "an element type";
    case AttrKind::kInts:
      return "a list of integers or dimensions";
    case AttrKind::kAny:
      break;
  }
  return "a constant";
}

// In a cell of a table and in running text alike.
std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '*' || c == '<') out += '\\';
    out += c;
  }
  return out;
}

// Four digits: enough to understand, and the same on every machine.
std::string Number(double value) { return fmt::format("{:.4g}", value == 0 ? 0.0 : value); }

std::string Element(const Tensor& tensor, size_t i) {
  if (tensor.dtype() == DType::kBool) return tensor.data<bool>()[i] ? "true" : "false";
  if (IsFloat(tensor.dtype())) return Number(Cast(tensor, DType::kF64).data<double>()[i]);
  if (tensor.dtype() == DType::kU64) return fmt::format("{}", tensor.data<uint64_t>()[i]);
  return fmt::format("{}", Cast(tensor, DType::kI64).data<int64_t>()[i]);
}

std::string Nested(const Tensor& tensor, int axis, size_t& next) {
  if (axis == tensor.rank()) return Element(tensor, next++);
  std::string text = "[";
  for (int64_t i = 0; i < tensor.shape()[axis]; ++i) {
    if (i > 0) text += ", ";
    text += Nested(tensor, axis + 1, next);
  }
  return text + "]";
}

// "f32[2, 2] [[1, 2], [3, 4]]"; of a ragged value "f32[2, *T] lengths [1, 2] [1, 2, 3]".
std::string Shown(const Type& type, const RunnerValue& value) {
  size_t next = 0;
  std::string lengths;
  if (type.is_ragged()) {
    for (const int64_t length : value.lengths) {
      lengths += fmt::format("{}{}", lengths.empty() ? "" : ", ", length);
    }
    lengths = fmt::format(" lengths [{}]", lengths);
  }
  return fmt::format("{}{} {}", type.ToString(), lengths, Nested(value.tensor, 0, next));
}

int64_t ElementsOf(const Sample& sample) {
  int64_t count = 0;
  for (const Tensor& tensor : sample.inputs) count += tensor.num_elements();
  return count;
}

bool HasEmptyInput(const Sample& sample) {
  return std::any_of(sample.inputs.begin(), sample.inputs.end(), [](const Tensor& tensor) {
    return tensor.num_elements() == 0 && tensor.shape() != Shape{0};  // which is one left out
  });
}

// The first sample that is easily read, else the first that can be; null when there is none.
const Sample* ExampleOf(const OpDef& def) {
  if (NeedsExecutor(def) || def.traits.keep) return nullptr;
  for (const int64_t most : {kFewElements, kMostElements}) {
    for (const Sample& sample : def.samples) {
      const int64_t count = ElementsOf(sample);
      if (HasEmptyInput(sample) || count > most) continue;
      if (count > 0 || sample.inputs.empty()) return &sample;
    }
  }
  return nullptr;
}

// The names of the operands of the sample, as the signature has them.
std::vector<std::string> OperandNames(const OpDef& def, const Sample& sample) {
  std::vector<std::string> names;
  for (const ArgSpec& arg : def.args) {
    if (names.size() == sample.inputs.size()) break;
    if (arg.kind == ArgKind::kValue || arg.kind == ArgKind::kOptional) names.push_back(arg.name);
    if (arg.kind != ArgKind::kVariadic) continue;
    for (int k = 0; names.size() < sample.inputs.size(); ++k) {
      names.push_back(fmt::format("{}{}", arg.name, k));
    }
  }
  return names;
}

std::string Example(const std::shared_ptr<const OpSet>& ops, const OpDef& def,
                    const Sample& sample) {
  OpCase c(ops, def, sample);
  if (!c.ReturnsTensorsOnly()) return {};
  const std::vector<std::string> names = OperandNames(def, sample);
  std::string text, call;
  size_t argument = 0;
  for (size_t i = 0; i < names.size() && i < static_cast<size_t>(c.op().num_operands()); ++i) {
    const Value* operand = c.op().operand(static_cast<int>(i));
    if (operand == nullptr || operand->owner() == nullptr) continue;  // left out
    text += fmt::format("{} = {}\n", names[i], Shown(operand->type, c.arguments()[argument++]));
    call += (call.empty() ? "" : ", ") + names[i];
  }
  for (const NamedAttr& attr : sample.attrs) {
    call += fmt::format("{}{}={}", call.empty() ? "" : ", ", attr.name, attr.value.ToString());
  }
  c.Return();
  RunnerOptions options;
  options.kernel = "reference";
  const auto results = RunStraightValues(c.function(), c.arguments(), options);
  text += fmt::format("{}({})\n", def.name, call);
  for (size_t i = 0; i < results.size(); ++i) {
    text += fmt::format("  → {}\n", Shown(c.op().result(static_cast<int>(i))->type, results[i]));
  }
  return text;
}

// The dtypes that the op takes, found by asking its type rule about a sample whose inputs of the
// leading dtype are given in another.
std::string DTypesOf(const std::shared_ptr<const OpSet>& ops, const OpDef& def) {
  if (NeedsExecutor(def) || def.samples.empty() || def.samples[0].inputs.empty()) return {};
  const Sample& sample = def.samples[0];
  const DType leading = sample.inputs[0].dtype();
  std::string text;
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI8,
                            DType::kU8, DType::kI32, DType::kI64, DType::kU64, DType::kBool}) {
    Sample other = sample;
    for (Tensor& tensor : other.inputs) {
      if (tensor.dtype() == leading && tensor.raw_data()) tensor = Cast(tensor, dtype);
    }
    try {
      OpCase(ops, def, other);
    } catch (const Error&) {
      continue;
    }
    text += fmt::format("{}{}", text.empty() ? "" : ", ", Name(dtype));
  }
  return text;
}

// The ops that the gradient of the example is written with.
std::string GradientOps(const std::shared_ptr<const OpSet>& ops, const OpDef& def) {
  for (const Sample& sample : def.samples) {
    if (NeedsExecutor(def) || def.traits.keep) break;
    OpCase c(ops, def, sample);
    if (!c.ReturnsTensorsOnly()) continue;
    const Op* last = c.function().body().last();
    std::vector<RunnerValue> arriving(static_cast<size_t>(c.op().num_results()));
    c.Differentiate(arriving);
    std::set<std::string> used;
    for (const Op* op = last->next(); op != nullptr; op = op->next()) {
      if (!op->def().traits.structural) used.insert(op->name());
    }
    std::string text;
    for (const std::string& name : used) {
      text += fmt::format("{}`{}`", text.empty() ? "" : ", ", name);
    }
    if (!text.empty()) return text;
  }
  return {};
}

void AppendOp(const std::shared_ptr<const OpSet>& ops, const OpDef& def, std::string& page) {
  page += fmt::format("### {}\n\n`{}`\n\n{}\n\n", def.name, OpSignature(def), Escaped(def.doc));
  if (!def.formula.empty()) page += fmt::format("Formula: `{}`\n\n", def.formula);
  bool any = false;
  for (const ArgSpec& arg : def.args) {
    if (arg.kind == ArgKind::kValue && arg.doc.empty()) continue;
    if (!any) page += "| argument | |\n| --- | --- |\n";
    any = true;
    page += fmt::format("| `{}` | {} |\n", arg.name, Escaped(OpArgText(arg)));
  }
  if (any) page += "\n";
  if (const std::string dtypes = DTypesOf(ops, def); !dtypes.empty()) {
    page += fmt::format("Types: {}\n\n", dtypes);
  }
  const std::string written = def.grad ? GradientOps(ops, def) : "";
  page += fmt::format("Gradient: {}\n\n",
                      written.empty() ? Escaped(OpGradientText(def)) : "written with " + written);
  if (!def.example.empty()) {
    page += fmt::format("```ctm\n{}\n```\n\n", def.example);
    return;
  }
  const Sample* sample = ExampleOf(def);
  if (sample == nullptr) return;
  const std::string example = Example(ops, def, *sample);
  if (!example.empty()) page += fmt::format("```\n{}```\n\n", example);
}

}  // namespace

std::string OpSignature(const OpDef& def) {
  std::string text = def.name + "(";
  bool first = true;
  for (const ArgSpec& arg : def.args) {
    if (!first) text += ", ";
    first = false;
    switch (arg.kind) {
      case ArgKind::kValue:
        text += arg.name;
        break;
      case ArgKind::kOptional:
        text += arg.name + "=…";
        break;
      case ArgKind::kVariadic:
        text += arg.name + "…";
        break;
      case ArgKind::kState:
        text += "@" + arg.name;
        break;
      case ArgKind::kStates:
        text += "@" + arg.name + "…";
        break;
      case ArgKind::kAttr:
        text += arg.name + "=";
        text += arg.default_value.empty() ? "…" : arg.default_value.ToString();
        break;
    }
  }
  return text + ")";
}

std::string OpArgText(const ArgSpec& arg) {
  std::string text;
  switch (arg.kind) {
    case ArgKind::kValue:
      text = "a value";
      break;
    case ArgKind::kOptional:
      text = arg.default_value.empty()
                 ? "a value; may be left out"
                 : fmt::format("a value; {} unless given", arg.default_value.ToString());
      break;
    case ArgKind::kVariadic:
      text = "any number of values";
      break;
    case ArgKind::kState:
      text = "a state";
      break;
    case ArgKind::kStates:
      text = "any number of states";
      break;
    case ArgKind::kAttr:
      text = AttrKindText(arg.attr);
      for (size_t i = 0; i < arg.choices.size(); ++i) {
        text += (i == 0 ? " " : ", ") + arg.choices[i];
      }
      if (!arg.default_value.empty()) {
        text += "; " + arg.default_value.ToString() + " unless given";
      } else {
        text += arg.optional ? "; may be left out" : "; required";
      }
      break;
  }
  return arg.doc.empty() ? text : text + ". " + arg.doc;
}

std::string OpGradientText(const OpDef& def) {
  if (def.grad) return "yes";
  if (def.stops_grad) return "zero: nothing flows back";
  if (!def.no_grad.empty()) return "no: " + def.no_grad;
  return def.traits.structural ? "of what it holds" : "no";
}

std::string OpsMarkdown(const std::shared_ptr<const OpSet>& ops) {
  std::map<std::string, std::vector<const OpDef*>> groups;
  size_t count = 0;
  for (const OpDef* def : ops->All()) {
    if (def->traits.structural) continue;
    groups[def->group].push_back(def);
    ++count;
  }
  // What only gradients are written with comes last.
  for (auto& [name, defs] : groups) {
    std::stable_partition(defs.begin(), defs.end(), [](const OpDef* def) {
      return def->name.find("_grad") == std::string::npos;
    });
  }
  std::vector<Group> order;
  for (const Group& group : kGroups) {
    if (groups.contains(std::string(group.name))) order.push_back(group);
  }
  for (const auto& [name, defs] : groups) {
    const auto known = [&name = name](const Group& group) { return group.name == name; };
    if (std::none_of(order.begin(), order.end(), known)) order.push_back({name, name, ""});
  }
  std::string page = fmt::format(
      "# The ops\n\n{} ops, made from their definitions in `catamaran/ops` by "
      "`catamaran ops --markdown`; a test fails when this page is stale. `catamaran ops NAME` "
      "shows "
      "one in the terminal, [adding-an-op.md](adding-an-op.md) says how to write one, and "
      "[language.md](language.md) has control flow, calls and state.\n\n"
      "Wherever f32 is taken, f64 is, and f16 and bf16 too: they are widened to f32, computed and "
      "rounded. Negative axes count from the end. In examples the lines before the call are its "
      "operands, the lines after it its results.\n\n",
      count);
  for (const Group& group : order) {
    std::string names;
    for (const OpDef* def : groups[std::string(group.name)]) {
      names += fmt::format("{}[{}](#{})", names.empty() ? "" : ", ", def->name, def->name);
    }
    page += fmt::format("- **{}**: {}\n", group.title, names);
  }
  for (const Group& group : order) {
    page += fmt::format("\n## {}\n\n", group.title);
    if (!group.about.empty()) page += fmt::format("{}\n\n", group.about);
    for (const OpDef* def : groups[std::string(group.name)]) AppendOp(ops, *def, page);
  }
  while (page.ends_with("\n\n")) page.pop_back();
  return page;
}

}  // namespace catamaran
