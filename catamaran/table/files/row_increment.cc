// What chains of row files are turned into; see row_chain.h.

#include <algorithm>
#include <cmath>
#include <cstring>

#include "catamaran/base/error.h"
#include "catamaran/table/cold_rows.h"
#include "catamaran/table/files/all_rows.h"
#include "catamaran/table/files/row_chain.h"
#include "catamaran/table/files/row_merge.h"
#include "catamaran/table/files/table_description.h"

namespace catamaran {
namespace {

// Entries of a section in all files: at least as many as a merge of them has.
int64_t MostEntries(std::span<const RowFileRef> files, int section) {
  int64_t sum = 0;
  for (const RowFileRef& file : files) sum += file->section(section).count;
  return sum;
}

// Writes the entries of one section where some keys that the files have deleted are rows of `cold`.
void WriteSectionOver(RowFileWriter& writer, std::span<const RowFileRef> files, int section,
                      const SavedColdRows& cold) {
  std::vector<uint32_t> from_cold;
  for (RowMerge merge(files); !merge.done(); merge.Next()) {
    int found = merge.section();
    const uint32_t* record = merge.record();
    if (found == kDeletedSection) {
      RowClass c;
      if (cold.Find(merge.key(), &c, &from_cold)) {
        found = static_cast<int>(c);
        record = from_cold.data();
      }
    }
    if (found != section) continue;
    if (found == kDeletedSection) {
      writer.AddDeleted(merge.key());
    } else {
      writer.AddRow(record);
    }
  }
}

// Writes what `files` say together, section after section.
RowFileMark WriteMerged(FileSystem& fs, const std::string& path, const RowFileHead& head,
                        std::span<const RowFileRef> files, const TableExtras& extras,
                        const SavedColdRows* cold = nullptr) {
  RowFileWriter writer(fs, path, head);
  for (int s = 0; s < kRowSections; ++s) {
    int64_t most = MostEntries(files, s);
    if (cold != nullptr && s != kDeletedSection) most += MostEntries(files, kDeletedSection);
    if (most == 0 || (s == kDeletedSection && head.full)) continue;
    if (s == kDeletedSection) {
      writer.BeginDeleted(most);
    } else {
      writer.BeginRows(RowClass(s), most);
    }
    if (cold != nullptr) {
      WriteSectionOver(writer, files, s, *cold);
      continue;
    }
    for (RowMerge merge = RowMerge::OfSection(files, s); !merge.done(); merge.Next()) {
      if (s == kDeletedSection) {
        writer.AddDeleted(merge.key());
      } else {
        writer.AddRow(merge.record());
      }
    }
  }
  return writer.Finish(extras);
}

// What a file says that has taken in the cold rows.
TableExtras WithColdRowsIn(TableExtras extras) {
  extras.erase(kColdRowsExtra);
  return extras;
}

}  // namespace

RowFileMark CompactChain(FileSystem& fs, const std::string& path, const RowChain& chain,
                         const SavedColdRows* cold) {
  RowFileHead head = chain.files().back()->head();
  head.full = true;
  head.since = 0;
  if (cold == nullptr) return WriteMerged(fs, path, head, chain.files(), chain.extras());
  int64_t all = cold->approximate_rows();
  for (size_t c = 0; c < kRowClasses; ++c) all += chain.num_rows(RowClass(c));
  const HashSlices slices(all);
  RowFileWriter writer(fs, path, head);
  for (size_t c = 0; c < kRowClasses; ++c) {
    writer.BeginRows(RowClass(c), chain.num_rows(RowClass(c)) + cold->approximate_rows());
    for (uint64_t i = 0; i < slices.size(); ++i) {
      ScanAllRows(chain, cold, slices[i].first, slices[i].last,
                  [&](RowClass found, const uint32_t* record) {
                    if (found == RowClass(c)) writer.AddRow(record);
                  });
    }
  }
  return writer.Finish(WithColdRowsIn(chain.extras()));
}

RowFileMark MergeChanges(FileSystem& fs, const std::string& path,
                         std::span<const RowFileRef> changes) {
  if (changes.empty()) Fail("there are no changes to merge into {}", path);
  if (changes[0]->head().full) {
    Fail("{} is a full file: it cannot become a part of changes", changes[0]->path());
  }
  CheckOverlaps(changes);
  for (const RowFileRef& file : changes) {
    if (file->head().store() != changes[0]->head().store()) {
      Fail("{} and {} keep their numbers in different ways: they cannot be merged",
           changes[0]->path(), file->path());
    }
  }
  RowFileHead head = changes.back()->head();
  head.since = changes.front()->head().since;
  for (const RowFileRef& file : changes) head.since = std::min(head.since, file->head().since);
  return WriteMerged(fs, path, head, changes, changes.back()->extras());
}

IncrementPlan PlanIncrement(std::span<const RowFileRef> kept, int64_t since) {
  IncrementPlan plan;
  if (kept.empty()) return {true, "nothing has been committed yet", {}};
  int64_t newest = kept[0]->head().commit;
  for (const RowFileRef& file : kept) newest = std::max(newest, file->head().commit);
  if (since > newest) {
    return {true,
            fmt::format("a reader at commit {} is ahead of the newest commit, {}", since, newest),
            {}};
  }
  for (int64_t at = since; at < newest;) {
    // Of those that go on from here, the one that repeats the least.
    const RowFileRef* best = nullptr;
    for (const RowFileRef& file : kept) {
      const RowFileHead& head = file->head();
      if (head.full || head.since > at || head.commit <= at) continue;
      if (best == nullptr || head.since > (*best)->head().since ||
          (head.since == (*best)->head().since && head.commit > (*best)->head().commit)) {
        best = &file;
      }
    }
    if (best == nullptr) {
      return {true,
              fmt::format("a reader at commit {} needs the changes since commit {}, which are "
                          "not kept any more",
                          since, at),
              {}};
    }
    plan.changes.push_back(*best);
    at = (*best)->head().commit;
  }
  return plan;
}

bool WriteIncrement(FileSystem& fs, const std::string& path, std::span<const RowFileRef> kept,
                    int64_t since, std::string* why, RowFileMark* mark, const SavedColdRows* cold) {
  const IncrementPlan plan = PlanIncrement(kept, since);
  if (plan.resync) {
    *why = plan.why;
    return false;
  }
  // Where nothing has changed, the newest file says what the table is.
  const RowFileRef& newest =
      !plan.changes.empty()
          ? plan.changes.back()
          : *std::max_element(kept.begin(), kept.end(), [](const auto& a, const auto& b) {
              return a->head().commit < b->head().commit;
            });
  RowFileHead head = newest->head();
  head.full = false;
  head.since = since;
  if (cold != nullptr) head.total_rows = {-1, -1, -1};  // it counted those in the files alone
  *mark = WriteMerged(fs, path, head, plan.changes,
                      cold == nullptr ? newest->extras() : WithColdRowsIn(newest->extras()), cold);
  return true;
}

void DiffChains(const RowChain& a, const RowChain& b,
                FunctionRef<void(const RowDifference& difference)> visit) {
  const std::string difference = DifferenceOfRows(a.config(), b.config());
  if (!difference.empty()) {
    Fail("{} and {} are of different tables: {}", a.files()[0]->path(), b.files()[0]->path(),
         difference);
  }
  const RowLayout layout(a.config());
  const auto skip_deleted = [](RowMerge& merge) {
    while (!merge.done() && merge.section() == kDeletedSection) merge.Next();
  };
  RowMerge of_a(a.files()), of_b(b.files());
  while (true) {
    skip_deleted(of_a);
    skip_deleted(of_b);
    if (of_a.done() && of_b.done()) return;
    const bool take_a = !of_a.done() && (of_b.done() || of_a.hash() <= of_b.hash());
    const bool take_b = !of_b.done() && (of_a.done() || of_b.hash() <= of_a.hash());
    RowDifference found;
    if (take_a) found.key = of_a.key(), found.class_a = of_a.row_class(), found.a = of_a.record();
    if (take_b) found.key = of_b.key(), found.class_b = of_b.row_class(), found.b = of_b.record();
    const bool same = take_a && take_b && found.class_a == found.class_b &&
                      std::memcmp(found.a, found.b, layout.bytes(found.class_a)) == 0;
    if (!same) visit(found);
    if (take_a) of_a.Next();
    if (take_b) of_b.Next();
  }
}

CompactionPlan PlanCompaction(std::span<const uint64_t> sizes) {
  if (sizes.size() < 2) return {};
  uint64_t changes = 0;
  for (const uint64_t size : sizes.subspan(1)) changes += size;
  if (changes > sizes[0] / 2) return {0, sizes.size()};
  // Merge the newest with all before them that are at most `ratio` times as large as what they
  // would be merged with: what is left shrinks by more than that from file to file, so that the
  // ratio decides how long the chain gets, and how often a byte is written again.
  const size_t last = sizes.size();
  size_t first = last - 1;
  const double levels = static_cast<double>(std::max(sizes[0] / 2, uint64_t{1})) /
                        static_cast<double>(std::max(sizes[first], uint64_t{1}));
  const double ratio = std::max(2.0, std::pow(levels, 1.0 / (kMaxChainFiles - 2)));
  double newer = static_cast<double>(sizes[first]);
  while (first > 1 && static_cast<double>(sizes[first - 1]) <= ratio * newer) {
    newer += static_cast<double>(sizes[--first]);
  }
  // Where changes differ much in size the chain may still be too long.
  while (last - first < 2 && last > kMaxChainFiles) --first;
  if (last - first < 2) return {};
  return {first, last};
}

}  // namespace catamaran
