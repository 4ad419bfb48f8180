// commit/state_test_util.h
//
// What the tests of this folder share: programs out of declarations, steps that change everything,
// and all that a State holds, to compare.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "catamaran/base/error.h"
#include "catamaran/base/random.h"
#include "catamaran/exec/state.h"
#include "catamaran/ir/op_set.h"
#include "catamaran/ir/type_parser.h"

namespace catamaran::test {

// A flat program out of declarations alone, one a line of the file `name`.ctm.
struct TestProgram {
  explicit TestProgram(const std::string& name)
      : flat(name, std::make_shared<OpSet>()), file(flat.sources().AddFile(name + ".ctm")) {
    flat.flat = true;
  }
  TestProgram& Add(StateKind kind, const std::string& path, const std::string& type, Attr init = {},
                   std::vector<NamedAttr> settings = {}) {
    StateDecl decl;
    decl.kind = kind;
    decl.name = path;
    decl.type = ParseType(type);
    decl.init = std::move(init);
    decl.settings = std::move(settings);
    decl.at = {file, ++line, 1, 0};
    flat.items.Add(std::move(decl));
    return *this;
  }
  TestProgram& Param(const std::string& path, const std::string& type) {
    return Add(StateKind::kParam, path, type, Attr(AttrCall{"normal", {}, {{"std", 0.5}}, {}}));
  }
  TestProgram& Table(const std::string& path, const std::string& type,
                     const std::string& optimizer = "rowwise_adagrad",
                     std::vector<NamedAttr> settings = {}) {
    settings.insert(settings.begin(),
                    {"optimizer", Attr(AttrCall{optimizer, {}, {{"lr", 0.05}}, {}})});
    return Add(StateKind::kTable, path, type, Attr(AttrCall{"normal", {}, {{"std", 0.01}}, {}}),
               std::move(settings));
  }

  Program flat;
  uint32_t file;
  uint32_t line = 0;
};

inline TestProgram Ctr() {
  TestProgram program("ctr");
  program.Param("fc1.w", "f32[3, 4]")
      .Param("fc1.b", "f32[4]")
      .Add(StateKind::kVar, "seen", "i64[]", 0)
      .Table("feat", "f32[2]");
  return program;
}

// One step of table @path: gradients for `keys`, no observations. REQUIRES: the caller has the
// State's turn, or nobody else uses it.
inline void PushWithTurn(State& state, const std::string& path, int64_t step, int64_t event_time,
                         const std::vector<uint64_t>& keys) {
  DurableTable& table = state.table(path);
  const auto width = static_cast<size_t>(table.width());
  std::vector<float> gradients(keys.size() * width);
  for (size_t i = 0; i < gradients.size(); ++i) {
    gradients[i] = static_cast<float>((static_cast<int64_t>(i) * 7 + step * 3) % 11) - 5.0f;
  }
  RowsValue rows;
  rows.width = table.width();
  rows.segments.push_back({.keys = keys.data(),
                           .num_keys = static_cast<int64_t>(keys.size()),
                           .gradients = gradients.data()});
  const TablePush push{&rows};
  table.Apply({step, event_time, {}, {&push, 1}});
}

inline void Push(State& state, const std::string& path, int64_t step, int64_t event_time,
                 const std::vector<uint64_t>& keys) {
  state.TakeTurn();
  PushWithTurn(state, path, step, event_time, keys);
  state.GiveTurn();
}

// One step of Ctr() that changes everything, differently for each `i`.
inline void Advance(State& state, int64_t i) {
  std::vector<float> w(12);
  for (size_t k = 0; k < w.size(); ++k) w[k] = static_cast<float>(100 * i) + static_cast<float>(k);
  state.SetTensor("fc1.w", Tensor::FromVector<float>({3, 4}, w));
  state.SetTensor("seen", Tensor::Scalar<int64_t>(i));
  Push(state, "feat", i, i * kNanosecondsPerSecond, {static_cast<uint64_t>(i), 7});
  state.SetStep(i, i * kNanosecondsPerSecond);
}

// Everything a State holds, as named bytes. Not while it is being saved.
using Contents = std::map<std::string, std::string>;

inline Contents ContentsOf(State& state) {
  Contents all;
  all["step"] = std::to_string(state.step());
  all["time"] = std::to_string(state.event_time());
  for (size_t i = 0; i < state.size(); ++i) {
    const std::string name(state.info(i).name);
    if (state.info(i).kind != StateKind::kTable) {
      const Tensor value = state.GetTensor(name);
      all[name].assign(static_cast<const char*>(value.raw_data()), value.num_bytes());
      continue;
    }
    DurableTable& table = state.table(name);
    std::unique_ptr<TableCut> cut = table.Cut(/*full=*/true);
    for (int c = 0; c < kRowClasses; ++c) {
      std::string& bytes = all[name + " rows " + std::to_string(c)];
      cut->ForEachRow(static_cast<RowClass>(c), [&](const uint32_t* record) {
        bytes.append(reinterpret_cast<const char*>(record),
                     table.layout().bytes(static_cast<RowClass>(c)));
      });
    }
    for (const auto& [extra, bytes] : cut->extras()) all[name + " " + extra] = bytes;
    table.EndCut(std::move(cut), /*kept=*/false);
  }
  return all;
}

// Empty if they are equal; else what differs.
inline std::string Difference(const Contents& a, const Contents& b) {
  std::string names;
  for (const auto& [name, bytes] : a) {
    const auto other = b.find(name);
    if (other == b.end() || other->second != bytes) names += name + "; ";
  }
  for (const auto& [name, bytes] : b) {
    if (!a.contains(name)) names += name + "; ";
  }
  return names;
}

inline std::string MessageOf(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace catamaran::test
