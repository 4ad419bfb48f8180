#include "catamaran/table/expiry.h"

#include <algorithm>

#include "catamaran/table/state_bytes.h"

namespace catamaran {
namespace {

constexpr int64_t kVisitsPerRowAdded = 64;
constexpr int64_t kSweepsPerTime = 64;
constexpr uint32_t kVersion = 1;

// Bins of scores: sign, exponent and the first four bits of the fraction of a float.
constexpr int kBinBits = 13;
constexpr size_t kBins = size_t{1} << kBinBits;

bool Sweeps(const TableConfig& config) {
  const bool forgets = config.admit.kind == TableAdmit::Kind::kCount &&
                       (config.admit.time_to_live > 0 || config.expire.unseen > 0);
  return forgets || config.expire.unseen > 0 || config.expire.min_score.has_value();
}

int64_t SweepPeriod(const TableConfig& config) {
  int64_t shortest = INT64_MAX;
  const auto take = [&](int64_t time) {
    if (time > 0) shortest = std::min(shortest, time);
  };
  take(config.expire.unseen);
  if (config.admit.kind == TableAdmit::Kind::kCount) take(config.admit.time_to_live);
  if (config.expire.min_score) take(config.score.half_life);
  if (shortest == INT64_MAX) return 3600 * kNanosecondsPerSecond;
  return std::max(shortest / kSweepsPerTime, kNanosecondsPerSecond);
}

int64_t Total(const RowCounts& counts) {
  int64_t total = 0;
  for (int64_t n : counts) total += n;
  return total;
}

}  // namespace

int64_t AccountedBytes(const RowLayout& layout, const RowCounts& counts) {
  int64_t bytes = 0;
  for (int c = 0; c < kRowClasses; ++c) {
    bytes += counts[static_cast<size_t>(c)] * AccountedBytes(layout, static_cast<RowClass>(c));
  }
  return bytes;
}

Expiry::Expiry(const RowRules& rules)
    : rules_(rules),
      sweeps_(Sweeps(rules.config())),
      budget_(rules.config().expire.max_bytes),
      period_(SweepPeriod(rules.config())) {
  if (budget_ == 0) return;
  histogram_.reserve(kBins);
  in_range_.resize(kBins);
}

void Expiry::Begin(Pass pass, const RowCounts& counts) {
  pass_ = pass;
  pass_time_ = now_;
  pass_rows_ = Total(counts);
  cursor_ = 0;
  ++passes_;
  histogram_.clear();
  if (pass == Pass::kMeasure) histogram_.resize(kBins);
  // Every pass removes what is old.
  if (pass != Pass::kRemove) next_sweep_ = now_ + period_;
}

void Expiry::EndStep(int64_t event_time, const RowCounts& counts) {
  if (!active()) return;
  now_ = std::max(now_, event_time);
  if (!started_) {
    started_ = true;
    next_sweep_ = now_ + period_;
  }
  const int64_t bytes = AccountedBytes(rules_.layout(), counts);
  const int64_t added = std::max<int64_t>(bytes - bytes_, 0);
  bytes_ = bytes;
  const bool budget_pass = pass_ == Pass::kMeasure || pass_ == Pass::kRemove;
  if (OverBudget(counts) && !budget_pass) {
    Begin(Pass::kMeasure, counts);
  } else if (pass_ == Pass::kNone && sweeps_ && now_ >= next_sweep_) {
    Begin(Pass::kSweep, counts);
  }
  // added / bytes is the share of the table that is new.
  const double share = bytes > 0 ? static_cast<double>(added) / static_cast<double>(bytes) : 0;
  const double target = share * static_cast<double>(Total(counts)) * kVisitsPerRowAdded;
  rows_left_ = std::max(kSliceRows, static_cast<int64_t>(target) + 1);
  whole_ = false;
}

void Expiry::BeginAll(int64_t now, const RowCounts& counts) {
  if (!active()) return;
  now_ = std::max(now_, now);
  started_ = true;
  whole_ = true;
  Begin(Pass::kSweep, counts);  // a budget pass follows it where the rest does not fit
}

std::optional<HashRange> Expiry::Next(const RowCounts& counts) {
  // The range that was given last has been visited by now.
  for (size_t bin = 0; bin < histogram_.size(); ++bin) histogram_[bin] += in_range_[bin];
  RepeatRange();
  if (pass_over_) {
    pass_over_ = false;
    FinishPass(counts);
  }
  if (pass_ == Pass::kNone || (!whole_ && rows_left_ <= 0)) {
    bytes_ = AccountedBytes(rules_.layout(), counts);
    whole_ = false;
    return std::nullopt;
  }
  // What was removed lay in ranges that were visited: the others hold as many as when it began.
  pass_rows_ = std::max(pass_rows_, Total(counts));
  const int64_t rows = whole_ ? kSliceRows : std::min(kSliceRows, rows_left_);
  rows_left_ -= rows;
  HashRange range{cursor_, UINT64_MAX};
  if (pass_rows_ > rows) {
    // The share of all hashes that holds about `rows` records: hashes are spread evenly.
    const auto width = static_cast<uint64_t>((static_cast<unsigned __int128>(rows) << 64) /
                                             static_cast<uint64_t>(pass_rows_));
    if (width < UINT64_MAX - cursor_) range.last = cursor_ + width;
  }
  pass_over_ = range.last == UINT64_MAX;
  cursor_ = range.last + 1;
  return range;
}

bool Expiry::Goes(RowClass c, const uint32_t* record, uint64_t hash) {
  if (sweeps_ && rules_.IsOld(c, record, LastSeenSeconds(now_))) return true;
  if (pass_ == Pass::kMeasure) {
    in_range_[BinOf(record)] += AccountedBytes(rules_.layout(), c);
  } else if (pass_ == Pass::kRemove) {
    const size_t bin = BinOf(record);
    return bin < line_bin_ || (bin == line_bin_ && Mix64(hash ^ Mix64(passes_)) < line_draw_);
  }
  return false;
}

void Expiry::RepeatRange() {
  if (pass_ == Pass::kMeasure) std::fill(in_range_.begin(), in_range_.end(), 0);
}

size_t Expiry::BinOf(const uint32_t* record) const {
  const auto score = static_cast<float>(rules_.Score(record, LastSeenSeconds(pass_time_)));
  if (std::isnan(score)) return 0;
  uint32_t bits;
  std::memcpy(&bits, &score, sizeof(bits));
  // As unsigned numbers these have the order of the floats.
  bits = (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
  return bits >> (32 - kBinBits);
}

void Expiry::FinishPass(const RowCounts& counts) {
  const Pass pass = pass_;
  pass_ = Pass::kNone;
  if (pass == Pass::kSweep && whole_ && OverBudget(counts)) {
    Begin(Pass::kMeasure, counts);
  } else if (pass == Pass::kMeasure) {
    BeginRemoving(counts);
  }
}

void Expiry::BeginRemoving(const RowCounts& counts) {
  const std::vector<int64_t>& histogram = histogram_;  // until Begin, below
  const auto bytes = static_cast<double>(AccountedBytes(rules_.layout(), counts));
  double measured = 0;
  for (int64_t in_bin : histogram) measured += static_cast<double>(in_bin);
  double excess = bytes - (1 - kBudgetMargin) * static_cast<double>(budget_);
  // What came since it was measured is taken to be as good as the rest.
  if (bytes > measured) excess *= measured / bytes;
  if (excess <= 0) return histogram_.clear();
  size_t bin = 0;
  while (bin + 1 < kBins && static_cast<double>(histogram[bin]) <= excess) {
    excess -= static_cast<double>(histogram[bin++]);
  }
  const double share = excess / std::max(static_cast<double>(histogram[bin]), 1.0);
  line_bin_ = static_cast<uint32_t>(bin);
  line_draw_ = share >= 1 ? UINT64_MAX : static_cast<uint64_t>(share * 0x1p64);
  const int64_t measured_at = pass_time_;
  Begin(Pass::kRemove, counts);
  pass_time_ = measured_at;
}

std::string Expiry::Save() const {
  StateWriter out;
  out.Put(kVersion);
  out.Put(static_cast<uint8_t>(started_));
  out.Put(now_);
  out.Put(next_sweep_);
  out.Put(bytes_);
  out.Put(static_cast<uint8_t>(pass_));
  out.Put(pass_time_);
  out.Put(pass_rows_);
  out.Put(cursor_);
  out.Put(passes_);
  out.Put(line_bin_);
  out.Put(line_draw_);
  const auto full =
      std::count_if(histogram_.begin(), histogram_.end(), [](int64_t n) { return n != 0; });
  out.Put(static_cast<uint32_t>(full));
  for (size_t bin = 0; bin < histogram_.size(); ++bin) {
    if (histogram_[bin] == 0) continue;
    out.Put(static_cast<uint32_t>(bin));
    out.Put(histogram_[bin]);
  }
  return out.Take();
}

void Expiry::Load(std::string_view bytes) {
  StateReader in("expiry", bytes);
  const auto version = in.Get<uint32_t>();
  if (version != kVersion)
    Fail(ErrorCode::kStorage, "table: the saved expiry has version {}, not {}", version, kVersion);
  started_ = in.Get<uint8_t>() != 0;
  now_ = in.Get<int64_t>();
  next_sweep_ = in.Get<int64_t>();
  bytes_ = in.Get<int64_t>();
  const auto pass = in.Get<uint8_t>();
  if (pass > static_cast<uint8_t>(Pass::kRemove))
    Fail(ErrorCode::kStorage, "table: the saved expiry is damaged");
  pass_ = static_cast<Pass>(pass);
  pass_time_ = in.Get<int64_t>();
  pass_rows_ = in.Get<int64_t>();
  cursor_ = in.Get<uint64_t>();
  passes_ = in.Get<uint64_t>();
  line_bin_ = in.Get<uint32_t>();
  line_draw_ = in.Get<uint64_t>();
  histogram_.assign(pass_ == Pass::kMeasure ? kBins : 0, 0);
  for (auto full = in.Get<uint32_t>(); full > 0; --full) {
    const auto bin = in.Get<uint32_t>();
    if (bin >= histogram_.size()) Fail(ErrorCode::kStorage, "table: the saved expiry is damaged");
    histogram_[bin] = in.Get<int64_t>();
  }
  in.End();
}

}  // namespace catamaran
