// Records until they are on the disk: by our log with a join that follows it (--side ours), by
// RocksDB (--side rocksdb), and by the file alone (--side file).

#include <fcntl.h>
#include <fmt/format.h>
#include <rocksdb/db.h>
#include <rocksdb/version.h>
#include <rocksdb/write_batch.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "bench/worker.h"
#include "catamaran/base/scratch_directory.h"
#include "catamaran/stream/join/example_stream.h"
#include "catamaran/stream/log/log.h"

namespace catamaran::bench {
namespace {

struct Shape {
  int callers = 1;
  int together = 1;  // records that a caller has on their way at a time
  int records = 0;   // of a round, all callers together
};

Shape ShapeOf(const std::string& name) {
  if (name == "callers8") return {8, 1, 1600};
  return {1, 1000, 40'000};
}

// Impressions and their feedback in turn, as a server writes them.
class Records {
 public:
  Records() {
    schema_.columns = Schema::Parse("dense: f32[13]\nids: i64[26]\n");
    schema_.id = SchemaId(schema_.columns, 1, 0);
    schema_.join.labels = {{.label = "label", .event = "click", .window_ns = 60'000'000'000}};
  }

  std::string schema() const { return Encode(schema_); }

  struct One {
    RecordType type;
    int64_t time_ns;
    std::string payload;
  };
  // The next `count`, different from all before.
  std::vector<One> Make(int count) {
    std::vector<One> made;
    RowBlock row(schema_.columns);
    for (int i = 0; i < 13; ++i) row[0].floats.push_back(static_cast<float>(i) / 8);
    for (int64_t i = 0; i < 26; ++i) row[1].ints.push_back(i * 0x9e3779b97f4a7c15);
    row.FinishRow();
    const LoggedRows rows = EncodeRows(schema_.id, row, 1);
    for (int i = 0; i < count; i += 2) {
      const std::string id = fmt::format("request-{}", next_++);
      time_ns_ += 1'000'000;
      made.push_back(
          {RecordType::kImpression, time_ns_, Encode(ImpressionRecord{id, "", rows, {0.5F}, 1})});
      made.push_back({RecordType::kFeedback, time_ns_,
                      Encode(FeedbackRecord{{{id, 0, "click", 1, "", time_ns_}}})});
    }
    return made;
  }

 private:
  SchemaRecord schema_;
  int64_t next_ = 0;
  int64_t time_ns_ = 1'700'000'000'000'000'000;
};

std::span<const std::byte> BytesOf(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// Somewhere that records are durable when Write returns.
class Store {
 public:
  virtual ~Store() = default;
  virtual void Write(std::span<const Records::One> records) = 0;
  // Everything that follows from what was written.
  virtual void Finish() {}
};

class OurLog final : public Store {
 public:
  OurLog(const std::string& directory, const std::string& schema)
      : log_(Log::Open(PosixFileSystem(), directory + "/log")), follower_([this] { Follow(); }) {
    log_->Append(static_cast<uint8_t>(RecordType::kSchema), 0, BytesOf(schema));
  }
  ~OurLog() override {
    log_->Close();
    follower_.join();
  }

  void Write(std::span<const Records::One> records) override {
    LogOffset end = 0;
    for (const Records::One& record : records) {
      end =
          log_->Append(static_cast<uint8_t>(record.type), record.time_ns, BytesOf(record.payload));
    }
    log_->WaitDurable(end);
  }
  void Finish() override {
    const LogOffset end = log_->end();
    std::unique_lock lock(mutex_);
    joined_.wait(lock, [&] { return position_ >= end; });
  }

 private:
  void Follow() {
    ExampleStream stream;
    StreamAction action;
    LogRecord record;
    LogCursor cursor = log_->Follow(0);
    while (cursor.Next(record, std::chrono::hours(1)) == LogCursor::Result::kRecord) {
      stream.Apply(record, action);
      if (cursor.position() < log_->end()) continue;
      std::lock_guard lock(mutex_);
      position_ = cursor.position();
      joined_.notify_all();
    }
  }

  const std::unique_ptr<Log> log_;
  std::mutex mutex_;
  std::condition_variable joined_;
  LogOffset position_ = 0;
  std::thread follower_;
};

class Rocks final : public Store {
 public:
  explicit Rocks(const std::string& directory) {
    rocksdb::Options options;
    options.create_if_missing = true;
    options.compression = rocksdb::kNoCompression;
    rocksdb::DB* db = nullptr;
    Check(rocksdb::DB::Open(options, directory + "/rocksdb", &db));
    db_.reset(db);
  }

  void Write(std::span<const Records::One> records) override {
    rocksdb::WriteBatch batch;
    for (const Records::One& record : records) {
      const uint64_t key = __builtin_bswap64(next_.fetch_add(1));
      batch.Put(rocksdb::Slice(reinterpret_cast<const char*>(&key), 8), record.payload);
    }
    rocksdb::WriteOptions write;
    write.sync = true;
    Check(db_->Write(write, &batch));
  }

 private:
  static void Check(const rocksdb::Status& status) {
    if (!status.ok()) throw std::runtime_error(status.ToString());
  }

  std::unique_ptr<rocksdb::DB> db_;
  std::atomic<uint64_t> next_ = 0;
};

// What cannot be avoided: the bytes to a file, and a sync for all callers at once.
class PlainFile final : public Store {
 public:
  PlainFile(const std::string& directory, int callers)
      : callers_(callers),
        fd_(open((directory + "/file").c_str(), O_CREAT | O_WRONLY | O_APPEND, 0666)) {
    if (fd_ < 0) throw std::runtime_error("cannot make a file in " + directory);
  }
  ~PlainFile() override { close(fd_); }

  void Write(std::span<const Records::One> records) override {
    std::string bytes;
    for (const Records::One& record : records) bytes += record.payload;
    if (write(fd_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
      throw std::runtime_error("cannot write");
    }
    if (written_.fetch_add(1) % callers_ == callers_ - 1) fsync(fd_);
  }

 private:
  const int callers_;
  const int fd_;
  std::atomic<int> written_ = 0;
};

class Append final : public Case {
 public:
  Append(std::unique_ptr<Store> store, Records& records, Shape shape, bool one_caller)
      : store_(std::move(store)), records_(records), shape_(shape), one_caller_(one_caller) {}

  Measurement Run() override {
    const auto all = records_.Make(shape_.records);
    const auto together = static_cast<size_t>(shape_.together);
    std::vector<std::thread> callers;
    std::atomic<size_t> next = 0;
    const double begin = Now();
    for (int i = 0; i < (one_caller_ ? 1 : shape_.callers); ++i) {
      callers.emplace_back([&] {
        for (size_t at = next.fetch_add(together); at < all.size(); at = next.fetch_add(together)) {
          store_->Write(std::span(all).subspan(at, std::min(together, all.size() - at)));
        }
      });
    }
    for (std::thread& caller : callers) caller.join();
    store_->Finish();
    const double seconds = (Now() - begin) / static_cast<double>(all.size());
    if (one_caller_) return {seconds, {{"write and sync", seconds}}};
    return {seconds, {{"rate", 1e-3 / seconds}}};
  }

 private:
  const std::unique_ptr<Store> store_;
  Records& records_;
  const Shape shape_;
  const bool one_caller_;
};

}  // namespace
}  // namespace catamaran::bench

int main(int argc, char** argv) {
  using namespace catamaran::bench;
  const std::string side = Option(argc, argv, "--side", "ours");
  const catamaran::ScratchDirectory directory(catamaran::PosixFileSystem(),
                                              catamaran::SystemScratch());
  Records records;
  int number = 0;
  const std::string version = side != "rocksdb" ? ""
                                                : fmt::format("RocksDB {}.{}.{}", ROCKSDB_MAJOR,
                                                              ROCKSDB_MINOR, ROCKSDB_PATCH);
  return Serve(version, [&](const std::string& name) -> std::unique_ptr<Case> {
    const Shape shape = ShapeOf(name);
    const std::string own = fmt::format("{}/{}", directory.path(), number++);
    catamaran::PosixFileSystem().MakeDirectories(own);
    std::unique_ptr<Store> store;
    if (side == "rocksdb") {
      store = std::make_unique<Rocks>(own);
    } else if (side == "file") {
      store = std::make_unique<PlainFile>(own, shape.callers);
    } else {
      store = std::make_unique<OurLog>(own, records.schema());
    }
    return std::make_unique<Append>(std::move(store), records, shape, side == "file");
  });
}
