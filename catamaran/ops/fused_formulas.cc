#include "catamaran/ops/fused_formulas.h"

#include <vector>

#include "catamaran/ops/vector_isa.h"

namespace catamaran {

namespace {

struct Entry {
  ScalarFunction formula;
  FusedFormula fused;
  unsigned scalars;
};

// As the ops' files have them; a formula that has changed there is not found, and interpreted.
std::vector<Entry> MakeEntries() {
  const Expr x = Expr::Input(0), second = Expr::Input(1);
  std::vector<Entry> entries;
  const auto add = [&](const Expr& formula, int inputs, FusedFormula fused, unsigned scalars) {
    const ExprNodePtr roots[] = {formula.node()};
    entries.push_back(
        {ScalarFunction(std::vector<bool>(static_cast<size_t>(inputs)), roots), fused, scalars});
  };
  add(0.5 * x * (1 + Erf(x * 0.7071067811865476)), 1, FusedFormula::kGelu, 0);
  add(0.5 * x * (1 + Tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))), 1,
      FusedFormula::kGeluTanh, 0);
  add(x * Sigmoid(x), 1, FusedFormula::kSilu, 0);
  add(x * Min(Max(x + 3, 0), 6) * (1.0 / 6), 1, FusedFormula::kHardSwish, 0);
  add(Where(x > 0, x, second * x), 2, FusedFormula::kLeakyRelu, 2);
  return entries;
}

}  // namespace

VectorFn FindFusedFormula(const ScalarFunction& f, Isa isa, unsigned scalars) {
  static const std::vector<Entry> entries = MakeEntries();
  for (const Entry& entry : entries) {
    if (entry.scalars != scalars || entry.formula.num_inputs() != f.num_inputs() ||
        entry.formula.root() != f.root()) {
      continue;
    }
    if (entry.formula.nodes() == f.nodes()) return FindFused(isa, entry.fused);
  }
  return nullptr;
}

}  // namespace catamaran
