// Training DeepFM on rows in the shape of Criteo's, reading included. With --gemm
// onednn|openblas: the matrix products of a step alone, by that library; the machine's limit.

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/ctr/rows.h"
#include "bench/gemm.h"
#include "bench/worker.h"
#include "bench/workload.h"
#include "catamaran/base/scratch_directory.h"
#include "catamaran/base/thread_pool.h"
#include "catamaran/data/pipeline/pipeline.h"
#include "catamaran/data/records/record_writer.h"
#include "catamaran/exec/compile.h"
#include "catamaran/exec/executable.h"
#include "catamaran/exec/state.h"
#include "catamaran/ir/flatten.h"
#include "catamaran/ir/parser.h"
#include "catamaran/nn/standard.h"
#include "catamaran/table/durable_table.h"

namespace catamaran::bench {
namespace {

constexpr const char* kProgram = R"(program deepfm

table @v : u64 -> f32[16] = zeros { optimizer = adagrad(lr=0.01, initial_accumulator=0.1) }
table @w : u64 -> f32[1] = zeros { optimizer = adagrad(lr=0.01, initial_accumulator=0.1) }
wide = linear(13, 1)
deep = mlp([429, 400, 400, 400, 1])

fn score(dense: f32[B, 13], ids: u64[B, 26]) -> f32[B] {
  e = lookup(@v, ids)
  first = sum(lookup(@w, ids), axes=[1, 2]) + reshape(wide(dense), [B])
  x = concat(reshape(e, [B, 416]), dense, axis=1)
  return first + factorization_machine(e) + reshape(deep(x), [B])
}

fn loss(label: f32[B], dense: f32[B, 13], ids: u64[B, 26]) -> f32[] {
  return mean(binary_cross_entropy_logits(score(dense, ids), label))
}

train = adam(grad(loss), lr=0.001)
)";

constexpr int64_t kSizes[] = {429, 400, 400, 400, 1};
constexpr int kLayers = 4;
constexpr int kChecked = 8;  // losses that all sides compare
int StepsOf(int64_t batch) { return batch <= 128 ? 100 : 10; }

Tensor InitialWeight(uint32_t seed, int64_t fan_in, int64_t fan_out) {
  std::vector<float> w = Uniform(seed, static_cast<size_t>(fan_in * fan_out));
  const float scale = static_cast<float>(std::sqrt(6.0 / static_cast<double>(fan_in)));
  for (float& v : w) v = (v * 2 - 1) * scale;
  return Tensor::FromVector<float>({fan_in, fan_out}, w);
}

void FillEmbeddings(DurableTable& table, bool zeros) {
  const RowLayout::Class& full = table.layout().of(RowClass::kFull);
  std::vector<uint32_t> record(static_cast<size_t>(full.words));
  for (int j = 0; j < full.slot_words[0]; ++j) {
    SetRecordFloat(record.data(), full.slot[0] + j, 0.1f);
  }
  for (int64_t id = 0; id < kIds; ++id) {
    SetRecordKey(record.data(), static_cast<uint64_t>(id));
    for (int j = 0; j < full.columns; ++j) {
      SetRecordFloat(record.data(), full.embedding + j, zeros ? 0 : InitialEmbedding(id, j));
    }
    table.Put(RowClass::kFull, record.data());
  }
}

class Training final : public Case {
 public:
  Training(int64_t batch, int threads) : batch_(batch), steps_(StepsOf(batch)) {
    const std::string path = scratch_.path() + "/rows.rec";
    {
      RecordWriter writer(PosixFileSystem(), path, CtrSchema());
      writer.Add(MakeCtrRows());
      writer.Finish();
    }
    // Reads on the thread that trains, so that all sides have one core.
    const PipelineOptions options = {.threads = 0, .batch_rows = batch, .epochs = 0};
    rows_ = std::make_unique<Pipeline>(PosixFileSystem(), std::vector<std::string>{path},
                                       ReaderOptions(), options);
    const auto builders = StandardBuilders();
    const Program flat =
        Flatten(Parse(kProgram, "deepfm.ctm", StandardOps(), *builders), *builders);
    train_ = Compile(flat, "train", {.threads = threads});
    state_ = State::Create(flat, 1);
    FillEmbeddings(state_->table("v"), false);
    FillEmbeddings(state_->table("w"), true);
    state_->SetTensor("wide.w", InitialWeight(20, kNumbers, 1));
    for (uint32_t k = 0; k < kLayers; ++k) {
      state_->SetTensor(fmt::format("deep.fc{}.w", k + 1),
                        InitialWeight(10 + k, kSizes[k], kSizes[k + 1]));
    }
    for (int k = 0; k < kChecked; ++k) losses_.push_back(Step());
  }

  Measurement Run() override {
    Step();
    return {Timed(steps_, [&] { Step(); }) / static_cast<double>(batch_), {}};
  }

  std::vector<double> Check() override { return losses_; }

 private:
  float Step() {
    const RowBlock& rows = rows_->Next()->rows;
    const FeedValue feeds[] = {View(rows[0].floats, DType::kF32, {batch_}),
                               View(rows[1].floats, DType::kF32, {batch_, kNumbers}),
                               View(rows[2].ints, DType::kU64, {batch_, kFields})};
    float loss = 0;
    FetchBuffer fetch{.data = &loss, .capacity = sizeof(loss)};
    if (!train_->Run(*state_, feeds, {&fetch, 1}).committed) {
      throw std::runtime_error("the step was not committed");
    }
    return loss;
  }

  template <class T>
  static FeedValue View(const Buffer<T>& values, DType dtype, const Shape& shape) {
    FeedValue feed;
    feed.tensor = TensorView{const_cast<T*>(values.data()), dtype, shape};
    return feed;
  }

  const int64_t batch_;
  const int steps_;
  ScratchDirectory scratch_{PosixFileSystem(), SystemScratch()};
  std::unique_ptr<Pipeline> rows_;
  std::shared_ptr<const Executable> train_;
  std::unique_ptr<State> state_;
  std::vector<double> losses_;
};

class Limit final : public Case {
 public:
  Limit(int64_t batch, GemmLibrary library, int threads)
      : batch_(batch), library_(library), pool_(threads) {
    for (int k = 0; k < kLayers; ++k) {
      const int64_t in = kSizes[k], out = kSizes[k + 1];
      products_.push_back({fmt::format("forward{}", k + 1), {false, false, batch, out, in}});
      products_.push_back({fmt::format("weight{}", k + 1), {true, false, in, out, batch}});
      products_.push_back({fmt::format("input{}", k + 1), {false, true, batch, in, out}});
    }
    for (auto& [name, shape] : products_) memory_.emplace_back(shape);
  }

  Measurement Run() override {
    Measurement m;
    for (size_t i = 0; i < products_.size(); ++i) {
      const auto once = [&] { memory_[i].Multiply(library_, pool_); };
      once();
      m.parts.emplace_back(products_[i].first,
                           Timed(batch_ <= 128 ? 20 : 3, once) / static_cast<double>(batch_));
    }
    for (const auto& [name, seconds] : m.parts) m.seconds += seconds;
    return m;
  }

 private:
  const int64_t batch_;
  const GemmLibrary library_;
  ThreadPool pool_;
  std::vector<std::pair<std::string, GemmShape>> products_;
  std::vector<GemmMemory> memory_;
};

}  // namespace
}  // namespace catamaran::bench

int main(int argc, char** argv) {
  using namespace catamaran::bench;
  const int threads = std::atoi(Option(argc, argv, "--threads", "1").c_str());
  const std::string gemm = Option(argc, argv, "--gemm", "");
  return Serve("", [&](const std::string& name) -> std::unique_ptr<Case> {
    const int64_t batch = std::atoi(name.c_str() + std::string("batch").size());
    if (gemm.empty()) return std::make_unique<Training>(batch, threads);
    return std::make_unique<Limit>(
        batch, gemm == "onednn" ? GemmLibrary::kOneDnn : GemmLibrary::kOpenBlas, threads);
  });
}
