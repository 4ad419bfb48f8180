// A program as a graph for Graphviz.

#include <fmt/format.h>

#include <iterator>
#include <unordered_map>

#include "cli/show.h"

namespace catamaran::cli {
namespace {

std::string Quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + '"';
}

class DotWriter {
 public:
  std::string Write(const Program& flat, const std::vector<ShownFunction>& functions) {
    Line("digraph {} {{", Quote(flat.name));
    Line("  node [shape=box, fontname=\"sans-serif\", fontsize=10];");
    Line("  edge [fontname=\"sans-serif\", fontsize=9];");
    for (const ShownFunction& shown : functions) {
      cost_ = shown.cost;
      const Function& f = *shown.function;
      Line("  subgraph cluster_{} {{", next_++);
      Line("    label={};", Quote(f.name));
      for (int i = 0; i < f.num_params(); ++i) Argument(*f.param(i));
      WriteBlock(f.body(), 4);
      Line("  }}");
    }
    out_ += edges_;
    Line("}}");
    return std::move(out_);
  }

 private:
  template <class... Args>
  void Line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    out_ += '\n';
  }

  int NodeOf(const Value* value) const { return node_of_value_.at(value); }

  void Argument(const Value& value) {
    node_of_value_[&value] = next_;
    Line("    n{} [shape=ellipse, label={}];", next_++,
         Quote(value.name + "\n" + value.type.ToString()));
  }

  void WriteBlock(const Block& block, int indent) {
    for (const Op* op = block.first(); op != nullptr; op = op->next()) WriteOp(*op, indent);
  }

  void WriteOp(const Op& op, int indent) {
    const int node = next_++;
    std::string label = op.Is("call") ? "call " + op.callee : op.name();
    for (const std::string& state : op.states) label += " @" + state;
    if (op.Is("constant") || op.Is("dim")) label += " " + op.attr("value").ToString();
    if (op.num_results() > 0) label += "\n" + op.result()->type.ToString();
    if (cost_ != nullptr) {
      const OpCost& cost = cost_->ops.at(&op);
      if (cost.bytes > 0) {
        label += fmt::format("\n{} op, {} B", Amount(cost.operations), Amount(cost.bytes));
      }
    }
    Line("{:{}}n{} [label={}{}];", "", indent, node, Quote(label),
         op.def().traits.effect ? ", style=bold" : "");
    for (int i = 0; i < op.num_operands(); ++i) {
      const Value* value = op.operand(i);
      if (value == nullptr) continue;
      edges_ += fmt::format("  n{} -> n{}{};\n", NodeOf(value), node,
                            value->name.empty() ? "" : " [label=" + Quote(value->name) + "]");
    }
    for (const auto& block : op.blocks) {
      Line("{:{}}subgraph cluster_{} {{", "", indent, next_++);
      Line("{:{}}label={};", "", indent + 2, Quote(op.name()));
      for (int i = 0; i < block->num_args(); ++i) {
        Argument(*block->arg(i));
        edges_ += fmt::format("  n{} -> n{} [style=dotted];\n", node, NodeOf(block->arg(i)));
      }
      WriteBlock(*block, indent + 2);
      Line("{:{}}}}", "", indent);
      // What a block yields is what the op gives.
      if (const Op* last = block->terminator()) {
        edges_ += fmt::format("  n{} -> n{} [style=dotted];\n", node_of_op_.at(last), node);
      }
    }
    node_of_op_[&op] = node;
    for (int i = 0; i < op.num_results(); ++i) node_of_value_[op.result(i)] = node;
  }

  std::string out_, edges_;
  std::unordered_map<const Value*, int> node_of_value_;
  std::unordered_map<const Op*, int> node_of_op_;
  const CostTable* cost_ = nullptr;
  int next_ = 0;
};

}  // namespace

std::string ToDot(const Program& flat, const std::vector<ShownFunction>& functions) {
  return DotWriter().Write(flat, functions);
}

}  // namespace catamaran::cli
