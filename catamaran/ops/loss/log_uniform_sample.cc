// ops/loss/log_uniform_sample.cc
//
// log_uniform_sample(key, labels): classes drawn with the probabilities of a vocabulary that is
// sorted by falling frequency, and how often each is expected; for nce and sampled_softmax.

#include "catamaran/ops/loss/loss.h"
#include "catamaran/ops/random/random.h"

// reference-begin
namespace catamaran::reference {

struct LogUniformSizes {
  int64_t count, range, unique, labels, table;
};

// Class number `i` that the key draws: k with probability log((k + 2) / (k + 1)) / log(range + 1).
inline int64_t LogUniformDraw(uint64_t key, int64_t i, int64_t range) {
  const PhiloxBlock block = Philox(key, static_cast<uint64_t>(i));
  const double u = UniformDouble(block.words[0], block.words[1]);
  const double x = std::exp(u * std::log1p(static_cast<double>(range)));
  return std::min(std::max<int64_t>(static_cast<int64_t>(x) - 1, 0), range - 1);
}

// How often class k is expected among `tries`: with `unique`, whether it is among them.
inline double LogUniformExpected(int64_t k, int64_t tries, const LogUniformSizes& s) {
  const double p =
      std::log1p(1.0 / (static_cast<double>(k) + 1)) / std::log1p(static_cast<double>(s.range));
  const double n = static_cast<double>(tries);
  return s.unique ? -std::expm1(n * std::log1p(-p)) : n * p;
}

// `table` has room for s.table numbers, a power of two above the count; for `unique` only.
template <class T, class I>
void LogUniformSample(const uint64_t* key, const I* labels, int64_t* ids, T* label_counts,
                      T* counts, int64_t* table, const LogUniformSizes& s) {
  int64_t tries = 0;
  if (s.unique) std::fill_n(table, s.table, int64_t{-1});
  for (int64_t i = 0; i < s.count; ++tries) {
    const int64_t drawn = LogUniformDraw(*key, tries, s.range);
    if (s.unique) {
      const uint64_t mixed = static_cast<uint64_t>(drawn) * 0x9E3779B97F4A7C15u >> 32;
      uint64_t at = mixed & static_cast<uint64_t>(s.table - 1);
      while (table[at] != -1 && table[at] != drawn)
        at = (at + 1) & static_cast<uint64_t>(s.table - 1);
      if (table[at] == drawn) continue;
      table[at] = drawn;
    }
    ids[i++] = drawn;
  }
  for (int64_t i = 0; i < s.count; ++i) {
    counts[i] = static_cast<T>(LogUniformExpected(ids[i], tries, s));
  }
  for (int64_t i = 0; i < s.labels; ++i) {
    label_counts[i] = static_cast<T>(LogUniformExpected(static_cast<int64_t>(labels[i]), tries, s));
  }
}

}  // namespace catamaran::reference
// reference-end

namespace catamaran {
namespace {

using reference::LogUniformSizes;

KernelStatus RunSample(KernelContext& c) {
  LogUniformSizes s = c.sizes<LogUniformSizes>();
  s.labels = c.in(1).size();
  DispatchIndex(
      c.in(1).tensor.dtype,
      [&]<class I>(I) {
        CheckLabels(c.in(1).data<I>(), s.labels, s.range);
        DispatchFloating(
            c.out(1).tensor.dtype,
            [&]<class T>(T) {
              reference::LogUniformSample(c.in(0).data<const uint64_t>(), c.in(1).data<I>(),
                                          c.out(0).data<int64_t>(), c.out(1).data<T>(),
                                          c.out(2).data<T>(), static_cast<int64_t*>(c.scratch), s);
            },
            "log_uniform_sample");
      },
      "log_uniform_sample");
  return KernelStatus::kDone;
}

}  // namespace

void DefineLogUniformSample(OpSet& ops) {
  OpTraits traits = RowwiseTraits();
  traits.random = true;
  OpBuilder op = ops.Define("log_uniform_sample");
  op.Group("loss")
      .Doc(
          "n classes of [0, range), drawn with a probability that falls as that of words sorted by "
          "frequency; and how often each label and each of the drawn ones is expected among them. "
          "With `unique` it draws until n different ones are found.")
      .Formula("p(k) = log((k + 2) / (k + 1)) / log(range + 1)")
      .In("key", "u64, such as key()")
      .In("labels", "integers of any shape, each in [0, range)")
      .RequiredAttr("n", AttrKind::kInt, "how many")
      .RequiredAttr("range", AttrKind::kInt, "the number of classes")
      .WithAttr("unique", AttrKind::kBool, false, "whether no class is drawn twice")
      .WithAttr("dtype", AttrKind::kDType, DType::kF32, "of the expected counts: f32 or f64")
      .Results(3)
      .Traits(traits)
      .Infer([](InferContext& c) {
        if (!WantKey(c, 0) || !c.WantTensor(1)) return;
        if (!IsClassType(c.type(1).dtype())) return (void)c.Fail("labels are i32, i64 or u64");
        const int64_t n = c.op().attr("n").AsInt(), range = c.op().attr("range").AsInt();
        if (n < 0 || range < 1) return (void)c.Fail("n is 0 or more, range at least 1");
        if (c.op().attr("unique").AsBool() && n > range) {
          return (void)c.Fail("there are not n different classes in the range");
        }
        const DType dtype = c.op().attr("dtype").AsDType();
        if (dtype != DType::kF32 && dtype != DType::kF64) {
          return (void)c.Fail("makes f32 or f64; cast the result");
        }
        c.SetResult(0, Type::Tensor(DType::kI64, {Dim(n)}));
        c.SetResult(1, c.type(1).WithDType(dtype));
        c.SetResult(2, Type::Tensor(dtype, {Dim(n)}));
      })
      .Sizes("LogUniformSizes",
             [](const KernelQuery& q, Words& words) {
               const int64_t n = q.op->attr("n").AsInt();
               int64_t table = 2;
               while (table < 2 * n) table *= 2;
               words << n << q.op->attr("range").AsInt() << q.op->attr("unique").AsBool()
                     << q.in[1]->size() << table;
             })
      .StopsGrad()
      .Reference("LogUniformSample", RunSample);
  op.def().kernels.back().scratch = [](const KernelQuery& q) -> size_t {
    const LogUniformSizes s = q.sizes->As<LogUniformSizes>();
    return s.unique ? static_cast<size_t>(s.table) * sizeof(int64_t) : 0;
  };
  const Tensor key = Ints({}, {7}, DType::kU64);
  op.AddSample({.inputs = {key, Ints({2}, {0, 9})}, .attrs = {{"n", 4}, {"range", 10}}})
      .AddSample({.inputs = {key, Ints({2, 1}, {0, 99}, DType::kI32)},
                  .attrs = {{"n", 50}, {"range", 100}, {"unique", true}, {"dtype", DType::kF64}}})
      .AddSample({.inputs = {key, Empty({0}, DType::kI64)},
                  .attrs = {{"n", 5}, {"range", 5}, {"unique", true}}})
      .AddSample({.inputs = {key, Ints({1}, {0})}, .attrs = {{"n", 0}, {"range", 1}}});
}

}  // namespace catamaran
