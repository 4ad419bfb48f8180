// catamaran data batches IN... OUT --batch N [--shuffle N] [--seed N] [--epochs N] …

#include "catamaran/data/npy.h"
#include "catamaran/data/pipeline/pipeline.h"
#include "cli/data/commands.h"
#include "cli/table/words.h"

namespace catamaran::cli {
namespace {

struct BatchesCommand {
  DataInput input;  // the last of its paths is where the arrays go, until Batches takes it away
  PipelineOptions pipeline;
  int64_t limit = 0;
};

template <class T>
Tensor ArrayOf(const Buffer<T>& values, Shape shape) {
  return Tensor::FromVector<T>(std::move(shape), std::vector<T>(values.begin(), values.end()));
}

// The rows of all batches, one after another, as arrays.
class Arrays {
 public:
  explicit Arrays(const Schema& schema) : all_(schema) {}

  void Add(const RowBlock& rows) {
    all_.AppendRows(rows, 0, rows.rows());
    ends_.push_back(all_.rows());
  }

  void Write(FileSystem& fs, const std::string& folder) const {
    const auto write = [&](const std::string& name, const Tensor& array) {
      WriteNpy(fs, JoinPath(folder, name + ".npy"), array);
    };
    for (int c = 0; c < all_.schema().size(); ++c) {
      const Column& column = all_.schema()[c];
      const ColumnBlock& values = all_[c];
      if (!column.has_offsets()) {
        write(column.name, Dense(column, values));
        continue;
      }
      const auto count = static_cast<int64_t>(values.ints.size() + values.bytes.size());
      write(column.name, column.kind == ColumnKind::kString ? ArrayOf(values.bytes, {count})
                                                            : ArrayOf(values.ints, {count}));
      if (column.kind == ColumnKind::kWeightedIds) {
        write(column.name + ".weights", ArrayOf(values.floats, {count}));
      }
      write(column.name + ".offsets", ArrayOf(values.offsets, {all_.rows() + 1}));
    }
    write("batches", Tensor::FromVector<int64_t>({static_cast<int64_t>(ends_.size())}, ends_));
  }

  int64_t rows() const { return all_.rows(); }
  size_t batches() const { return ends_.size() - 1; }

 private:
  Tensor Dense(const Column& column, const ColumnBlock& values) const {
    std::vector<int64_t> dims = {all_.rows()};
    for (int i = 0; i < column.shape.rank(); ++i) dims.push_back(column.shape[i]);
    const Shape shape(dims);
    if (column.dtype == DType::kF32) return ArrayOf(values.floats, shape);
    if (column.dtype == DType::kI64) return ArrayOf(values.ints, shape);
    return ArrayOf(values.bytes, shape);
  }

  RowBlock all_;
  std::vector<int64_t> ends_ = {0};
};

ExitCode Batches(const Session& session, BatchesCommand command) {
  if (command.input.paths.size() < 2) throw CommandError(kUsage, "wanted IN... OUT");
  const std::string out = command.input.paths.back();
  command.input.paths.pop_back();
  if (session.fs.Exists(out)) {
    throw CommandError(kUsage, fmt::format("{}: is there already; wanted a new folder", out));
  }
  Pipeline pipeline(session.fs, InputFiles(session, command.input),
                    MakeReaderOptions(session, command.input), command.pipeline);
  Arrays arrays(pipeline.schema());
  while (command.limit == 0 || static_cast<int64_t>(arrays.batches()) < command.limit) {
    const Batch* batch = pipeline.Next();
    if (batch == nullptr) break;
    arrays.Add(batch->rows);
  }
  Outside([&] {
    session.fs.MakeDirectories(out);
    arrays.Write(session.fs, out);
  });
  fmt::print("{} of {} batches in {}\n", CountText(arrays.rows(), "row"), arrays.batches(), out);
  return kOk;
}

}  // namespace

void AddDataBatches(CLI::App& data, Session& session) {
  auto* sub = data.add_subcommand("batches", "The batches that training sees, as NumPy's arrays");
  const auto command = std::make_shared<BatchesCommand>();
  PipelineOptions& pipeline = command->pipeline;
  pipeline.shuffle_window = 65'536;
  pipeline.seed = 1;
  sub->add_option("IN", command->input.paths, "files of rows; then a new folder for the arrays")
      ->required()
      ->type_name("... OUT");
  AddInputOptions(*sub, command->input);
  AddBadRowsOption(*sub, command->input);
  sub->add_option("--batch", pipeline.batch_rows, "rows a batch (128)")->check(CLI::PositiveNumber);
  sub->add_option("--shuffle", pipeline.shuffle_window, "rows a window (65536); 0: in order")
      ->check(CLI::NonNegativeNumber);
  sub->add_option("--seed", pipeline.seed, "of the order (1)");
  sub->add_option("--epochs", pipeline.epochs, "times through the data (1)")
      ->check(CLI::PositiveNumber);
  sub->add_flag("--drop-last", pipeline.drop_last, "without an epoch's last batch if not full");
  sub->add_option("--limit", command->limit, "no more batches than these (0: all)")
      ->check(CLI::NonNegativeNumber);
  sub->footer(
      "\nOUT gets NAME.npy for each column, with the rows of all batches one after another, and\n"
      "batches.npy: batch i has the rows from batches[i] to batches[i + 1]. Of lists and strings\n"
      "NAME.npy has the elements and NAME.offsets.npy where each row's begin; NAME.weights.npy "
      "the\n"
      "weights. With the options of `catamaran train` they are the batches that it learns from, "
      "so\n"
      "that another system can be given the same.\n"
      "\nExamples:\n"
      "  catamaran data batches train.rec order --batch 128 --epochs 3 --seed 7");
  sub->callback([&session, command] {
    session.action = [&session, command] { return Batches(session, *command); };
  });
}

}  // namespace catamaran::cli
