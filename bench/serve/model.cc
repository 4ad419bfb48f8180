#include "bench/serve/model.h"

#include <fmt/format.h>

#include <memory>

#include "bench/ctr/rows.h"
#include "bench/table/keys.h"
#include "bench/train/training.h"
#include "bench/workload.h"
#include "catamaran/base/error.h"
#include "catamaran/base/file.h"
#include "catamaran/commit/state_file.h"
#include "catamaran/exec/state.h"
#include "catamaran/ir/flatten.h"
#include "catamaran/ir/parser.h"
#include "catamaran/nn/standard.h"
#include "catamaran/table/durable_table.h"

namespace catamaran::bench {
namespace {

void FillTable(DurableTable& table, int64_t ids) {
  const RowLayout::Class& full = table.layout().of(RowClass::kFull);
  std::vector<uint32_t> record(static_cast<size_t>(full.words));
  for (int j = 0; j < full.slot_words[0]; ++j) {
    SetRecordFloat(record.data(), full.slot[0] + j, 0.1f);
  }
  for (int64_t id = 0; id < ids; ++id) {
    SetRecordKey(record.data(), static_cast<uint64_t>(id));
    for (int j = 0; j < full.columns; ++j) {
      SetRecordFloat(record.data(), full.embedding + j, InitialEmbedding(id, j));
    }
    table.Put(RowClass::kFull, record.data());
  }
}

template <class T>
LoadTensor Tensor2(std::string name, std::string datatype, int64_t rows, const std::vector<T>& v) {
  return {std::move(name),
          std::move(datatype),
          {rows, static_cast<int64_t>(v.size()) / rows},
          std::string(reinterpret_cast<const char*>(v.data()), v.size() * sizeof(T))};
}

// Made-up values, different from call to call.
class Values {
 public:
  explicit Values(int64_t ids)
      : ids_(static_cast<uint64_t>(ids)), ranks_(MakeRanks("power", ids_, 1 << 20, 100)) {}

  // By a power law; those that are asked for often do not lie side by side.
  LoadTensor Ids(const std::string& name, int64_t rows, int64_t columns) {
    std::vector<uint64_t> ids(static_cast<size_t>(rows * columns));
    for (uint64_t& id : ids) id = ranks_[next_++ % ranks_.size()] * 73'687 % ids_;
    return Tensor2(name, "UINT64", rows, ids);
  }
  LoadTensor Numbers(const std::string& name, int64_t rows, int64_t columns) {
    return Tensor2(name, "FP32", rows, Uniform(++seed_, static_cast<size_t>(rows * columns)));
  }

 private:
  const uint64_t ids_;
  const std::vector<uint64_t> ranks_;
  size_t next_ = 0;
  uint32_t seed_ = 100;
};

std::vector<LoadRequest> Requests(const BenchModel& model, int64_t items, int count) {
  Values values(model.ids);
  std::vector<LoadRequest> all(static_cast<size_t>(count));
  for (LoadRequest& request : all) {
    request.model = model.name;
    if (model.name == "deepfm") {
      request.inputs = {values.Ids("user", 1, 13), values.Ids("item", items, 13),
                        values.Numbers("dense", 1, 13)};
    } else {
      request.inputs = {values.Ids("history", 1, 200), values.Numbers("profile", 1, 16),
                        values.Ids("item", items, 4), values.Numbers("dense", items, 8)};
    }
  }
  return all;
}

}  // namespace

const BenchModel& FindModel(const std::string& name) {
  static const BenchModel kModels[] = {
      {"deepfm", "bench/serve/deepfm.ctm", 2'600'000, 17, {{"deep", 10, {455, 128, 64, 1}}}},
      {"user_heavy",
       "bench/serve/user_heavy.ctm",
       1'000'000,
       16,
       {{"user_tower", 30, {32, 256, 128, 32}}, {"item_tower", 40, {72, 64, 32}}}},
  };
  for (const BenchModel& model : kModels) {
    if (model.name == name) return model;
  }
  Fail("there is no model {}", name);
}

void WriteState(const BenchModel& model, const std::string& directory) {
  FileSystem& fs = PosixFileSystem();
  const auto builders = StandardBuilders();
  const Program flat =
      Flatten(Parse(fs.ReadAll(model.program), model.program, StandardOps(), *builders), *builders);
  const std::unique_ptr<State> state = State::Create(flat, 1);
  FillTable(state->table("feat"), model.ids);
  for (const BenchModel::Layers& layers : model.layers) {
    for (size_t k = 0; k + 1 < layers.sizes.size(); ++k) {
      const int64_t in = layers.sizes[k], out = layers.sizes[k + 1];
      state->SetTensor(fmt::format("{}.fc{}.w", layers.path, k + 1),
                       FirstWeight(layers.seed + static_cast<uint32_t>(k), {in, out}, in));
    }
  }
  SaveState(fs, directory, flat, *state);
}

std::vector<LoadRequest> SingleRows(const BenchModel& model, int count) {
  return Requests(model, 1, count);
}

std::vector<LoadRequest> RankRequests(const BenchModel& model, int64_t items, int count) {
  return Requests(model, items, count);
}

}  // namespace catamaran::bench
