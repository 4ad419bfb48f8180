#include "catamaran/ops/reduction/scan.h"

#include "catamaran/ops/reduction/scan_simd.h"

namespace catamaran {

const ScanFunctions& ScanFunctionsFor([[maybe_unused]] Isa isa) {
#if CATAMARAN_HAS_X86_ISAS
  if (isa == Isa::kAvx512) return avx512::kScanFunctions;
  if (isa == Isa::kAvx2) return avx2::kScanFunctions;
#endif
  return plain::kScanFunctions;
}

namespace {

using reference::ScanSizes;

class ScanPlan : public Prepared {
 public:
  const ScanFunctions* functions = nullptr;
  bool product = false;
};

template <class T>
void Run(KernelContext& c, const ScanFunctionsOf<T>& f, const ScanSizes& s) {
  const T* x = c.in(0).data<const T>();
  T* y = c.out().data<T>();
  const ScanWay way{s.reverse != 0, s.exclusive != 0};
  if (s.inner == 1) {
    Split(c.pool, s.outer, s.size, [&](int64_t begin, int64_t end) {
      f.along(x + begin * s.size, y + begin * s.size, end - begin, s.size, way);
    });
    return;
  }
  const int64_t tiles = (s.inner + kScanColumns - 1) / kScanColumns;
  const int64_t width = std::min(s.inner, kScanColumns);
  Split(c.pool, s.outer * tiles, s.size * width / 4, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t i = t % tiles * kScanColumns;
      const int64_t at = t / tiles * s.size * s.inner + i;
      f.across(x + at, y + at, s.size, s.inner, std::min(kScanColumns, s.inner - i), way);
    }
  });
}

KernelStatus RunVectorScan(KernelContext& c) {
  const auto& plan = *static_cast<const ScanPlan*>(c.prepared);
  const ScanSizes s = ScanSizesNow(c);
  if (c.out().size() == 0) return KernelStatus::kDone;
  const ScanFunctions& f = *plan.functions;
  if (c.in(0).tensor.dtype == DType::kF32) {
    Run<float>(c, plan.product ? f.product_f32 : f.sum_f32, s);
  } else {
    Run<double>(c, plan.product ? f.product_f64 : f.sum_f64, s);
  }
  return KernelStatus::kDone;
}

}  // namespace

void ScanSignature(OpBuilder& op, bool exclusive_too) {
  op.Group("reduction")
      .WithAttr("axis", AttrKind::kInt, -1, "along which it runs")
      .WithAttr("reverse", AttrKind::kBool, false, "from the end to the begin");
  if (exclusive_too) {
    op.WithAttr("exclusive", AttrKind::kBool, false, "each result leaves out its own element");
  }
  op.Traits(RaggedTraits())
      .Sizes("ScanSizes", [exclusive_too](const KernelQuery& query, Words& words) {
        const AxisSplit s = SplitOf(query);
        words << s.outer << s.size << s.inner << query.op->attr("reverse").AsBool()
              << (exclusive_too && query.op->attr("exclusive").AsBool());
      });
}

ScanSizes ScanSizesNow(const KernelContext& context) {
  ScanSizes s = context.sizes<ScanSizes>();
  const AxisSplit now = SplitNow(context);
  s.outer = now.outer;
  s.size = now.size;
  return s;
}

std::vector<NamedAttr> ScanAttrs(const GradContext& context, bool turned) {
  std::vector<NamedAttr> attrs = {{"axis", context.attr("axis")},
                                  {"reverse", context.attr("reverse").AsBool() != turned}};
  if (!context.attr("exclusive").empty()) {
    attrs.push_back({"exclusive", context.attr("exclusive")});
  }
  return attrs;
}

Kernel VectorScanKernel(bool product) {
  Kernel kernel = FastKernel("vector", RunVectorScan, [](const KernelQuery& query) {
    const DType dtype = query.in[0]->tensor.dtype;
    return dtype == query.out[0]->tensor.dtype && (dtype == DType::kF32 || dtype == DType::kF64);
  });
  kernel.prepare = [product](const KernelQuery& query) {
    auto plan = std::make_unique<ScanPlan>();
    plan->functions = &ScanFunctionsFor(query.isa);
    plan->product = product;
    return plan;
  };
  return kernel;
}

}  // namespace catamaran
