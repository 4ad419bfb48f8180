// gen_op_functions FILE: writes catamaran/ops/functions.h, one inline C++ function for each op of
// the library. The build runs it. What an op takes by position in the text is a parameter; optional
// operands and attributes with a default are members of a struct, for designated initializers:
// Lookup(table, ids, {.pool = "sum"}).

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <set>
#include <string>

#include "catamaran/base/file.h"
#include "catamaran/ir/op_set.h"
#include "catamaran/ops/op_list.h"

namespace catamaran {
namespace {

std::string CamelCase(const std::string& name) {
  std::string out;
  bool upper = true;
  for (char c : name) {
    if (c == '_') {
      upper = true;
    } else {
      out += upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
      upper = false;
    }
  }
  return out;
}

// Names of arguments that C++ keeps for itself get an underscore.
std::string Identifier(const std::string& name) {
  static const std::set<std::string> kKeywords = {
      "and",      "auto",      "bool",   "break",    "case",     "catch",    "class",    "const",
      "continue", "default",   "delete", "do",       "double",   "else",     "enum",     "explicit",
      "export",   "false",     "float",  "for",      "friend",   "if",       "inline",   "int",
      "long",     "namespace", "new",    "not",      "operator", "or",       "private",  "public",
      "return",   "short",     "signed", "static",   "struct",   "switch",   "template", "this",
      "throw",    "true",      "try",    "typename", "union",    "unsigned", "using",    "virtual",
      "void",     "while",     "xor",    "where",    "args",     "more"};
  return kKeywords.count(name) ? name + "_" : name;
}

// The function of an op. Where a type has that name already it gets an Op behind it: VarOp.
std::string FunctionName(const std::string& op) {
  static const std::set<std::string> kTypes = {
      "Attr",  "Dim",  "DType", "Emitter", "Error",  "Function", "Op",    "Program", "Rows",
      "Shape", "Slot", "State", "Table",   "Tensor", "Type",     "Value", "Var"};
  const std::string name = CamelCase(op);
  return kTypes.count(name) ? name + "Op" : name;
}

std::string AttrType(const ArgSpec& arg) {
  if (!arg.choices.empty()) return "WordArg";
  switch (arg.attr) {
    case AttrKind::kInt:
      return "IntArg";
    case AttrKind::kFloat:
      return "FloatArg";
    case AttrKind::kBool:
      return "BoolArg";
    case AttrKind::kString:
      return "StringArg";
    case AttrKind::kWord:
      return "WordArg";
    case AttrKind::kDType:
      return "DTypeArg";
    case AttrKind::kInts:
      return "DimsArg";
    case AttrKind::kAny:
      return "Attr";
  }
  return "Attr";
}

// A comment of lines that are not too long.
std::string Comment(const std::string& text) {
  constexpr size_t kWidth = 95;
  std::string out, line = "//";
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find_first_of(" \n", begin), text.size());
    if (end > begin) {
      if (line.size() + 1 + end - begin > kWidth && line != "//") {
        out += line + "\n";
        line = "//";
      }
      line += " " + text.substr(begin, end - begin);
    }
    begin = end + 1;
  }
  return out + line + "\n";
}

struct FunctionText {
  std::string members;  // of the struct of what may be left out
  std::string parameters;
  std::string chain;  // calls on the OpCall
};

FunctionText Describe(const OpDef& op) {
  FunctionText f;
  bool has_function = false;  // an argument that tells which function the op goes to
  std::string constants;      // required attributes come after the operands
  const auto parameter = [&](const std::string& type, const std::string& name,
                             bool constant = false) {
    std::string& list = constant ? constants : f.parameters;
    list += (list.empty() ? "" : ", ") + type + " " + name;
  };
  for (const ArgSpec& arg : op.args) {
    const std::string name = Identifier(arg.name);
    std::string doc = arg.doc.empty() ? "" : "  // " + arg.doc;
    std::replace(doc.begin(), doc.end(), '\n', ' ');
    switch (arg.kind) {
      case ArgKind::kValue:
        parameter("const OperandArg&", name);
        f.chain += ".In(" + name + ")";
        has_function = true;
        break;
      case ArgKind::kOptional:
        f.members += "  std::optional<OperandArg> " + name + " = {};" + doc + "\n";
        f.chain += ".OptionalIn(args." + name + ")";
        break;
      case ArgKind::kVariadic:
        parameter("const std::vector<OperandArg>&", name);
        f.chain += ".VariadicIn(" + name + ")";
        has_function = true;
        break;
      case ArgKind::kState:
        parameter("const StateRef&", name);
        f.chain += ".State(" + name + ")";
        has_function = true;
        break;
      case ArgKind::kStates:
        parameter("const std::vector<StateRef>&", name);
        f.chain += ".States(" + name + ")";
        break;
      case ArgKind::kAttr:
        if (arg.optional || !arg.default_value.empty()) {
          std::string default_text;
          if (!arg.default_value.empty())
            default_text = "; default " + arg.default_value.ToString();
          f.members += "  " + AttrType(arg) + " " + name + " = {};" +
                       (doc.empty() && !default_text.empty() ? "  // " + default_text.substr(2)
                                                             : doc + default_text) +
                       "\n";
          f.chain += ".Set(\"" + arg.name + "\", args." + name + ")";
        } else {
          parameter("const " + AttrType(arg) + "&", name, true);
          f.chain += ".Set(\"" + arg.name + "\", " + name + ")";
        }
        break;
    }
  }
  if (!constants.empty()) f.parameters += (f.parameters.empty() ? "" : ", ") + constants;
  if (!has_function) {
    f.parameters =
        "Emitter& function" + std::string(f.parameters.empty() ? "" : ", ") + f.parameters;
    f.chain = ".To(function)" + f.chain;
  }
  return f;
}

std::string FunctionOf(const OpDef& op) {
  FunctionText f = Describe(op);
  const std::string name = FunctionName(op.name);
  std::string result = "Var", call = "Result()";
  if (op.num_results == 0) {
    result = "void";
    call = "Effect()";
  } else if (op.num_results > 1) {
    result = fmt::format("std::array<Var, {}>", op.num_results);
    call = fmt::format("Array<{}>()", op.num_results);
  } else if (op.num_results < 0) {
    result = "std::vector<Var>";
    call = "Results(num_results)";
    f.parameters = "int num_results" + std::string(f.parameters.empty() ? "" : ", ") + f.parameters;
  }
  std::string out;
  if (!f.members.empty()) {
    out += fmt::format("struct {}Args {{\n{}}};\n", name, f.members);
    f.parameters += fmt::format(", const {}Args& args = {{}}", name);
  }
  if (op.traits.open_attrs) {
    f.parameters += ", std::vector<NamedAttr> more = {}";
    f.chain += ".More(std::move(more))";
  }
  out += Comment(op.doc);
  out += fmt::format(
      "inline {} {}({},\n    std::source_location where = std::source_location::current()) {{\n"
      "  {}OpCall(\"{}\", where){}.{};\n}}\n\n",
      result, name, f.parameters, result == "void" ? "" : "return ", op.name, f.chain, call);
  return out;
}

std::string Header(const OpSet& ops) {
  std::string out =
      "// ops/functions.h\n//\n"
      "// One C++ function for each op, for programs written in C++ (ir/program_builder.h). Made "
      "from "
      "the\n// op set by gen_op_functions.\n\n"
      "#pragma once\n\n#include <array>\n#include <optional>\n#include <source_location>\n"
      "#include <utility>\n#include <vector>\n\n#include \"catamaran/ir/op_call.h\"\n\n"
      "namespace catamaran {\n\n";
  for (const OpDef* op : ops.All()) {
    if (!op->traits.structural) out += FunctionOf(*op);
  }
  return out + "}  // namespace catamaran\n";
}

}  // namespace
}  // namespace catamaran

int main(int argc, char** argv) {
  using namespace catamaran;
  if (argc != 2) {
    fmt::print(stderr, "usage: gen_op_functions FILE\n");
    return 2;
  }
  try {
    OpSet ops;
    DefineAllOps(ops);
    const std::string text = Header(ops);
    // An unchanged file keeps its time, so that nothing is compiled again.
    FileSystem& fs = PosixFileSystem();
    if (!fs.Exists(argv[1]) || fs.ReadAll(argv[1]) != text) {
      fs.MakeDirectories(ParentDirectory(argv[1]));
      WriteFileAtomically(fs, argv[1], text);
    }
  } catch (const std::exception& e) {
    fmt::print(stderr, "gen_op_functions: {}\n", e.what());
    return 1;
  }
  return 0;
}
