#include "api/oom.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "api/answer_case.h"
#include "api/model_source.h"
#include "api/open_catalog.h"
#include "api/ways_out.h"
#include "catalog/hardware.h"
#include "config/file_reader.h"
#include "frameworks/registry.h"
#include "readers/configs/own_words.h"
#include "readers/configs/reading.h"
#include "readers/oom_message.h"
#include "report/numbers.h"

namespace trainfit::api {
namespace {

using readers::OomKind;
using readers::OomMessage;
using readers::OomMoment;

std::string Headline(const OomMessage& message) {
  const std::string asked =
      message.requested ? message.requested->text + " were asked for" : "out of memory";
  switch (message.kind) {
    case OomKind::kGpu: {
      std::string text = "The GPU is full: " + asked;
      if (message.free) text += ", " + message.free->text + " were free";
      if (message.capacity) text += " of " + message.capacity->text;
      return text;
    }
    case OomKind::kGpuDriver:
      return "The GPU is full, for a request outside PyTorch's allocator";
    case OomKind::kGpuLibrary:
      return "The GPU is full, for a handle or workspace of a CUDA library";
    case OomKind::kNccl:
      return "The GPU is full, for a buffer of NCCL";
    case OomKind::kHostAllocator:
      return "The host's RAM is full: " + asked;
    case OomKind::kHostKilled:
      return "The process was killed from outside (signal 9), as when the host's RAM is full";
    case OomKind::kPinned:
      return "Pinned (page-locked) host memory could not be had";
    case OomKind::kShared:
      return "Shared memory (/dev/shm) is full";
    case OomKind::kDisk:
      return "A disk is full";
  }
  return "";
}

// Loading caches nothing: what PyTorch has reserved is what it has allocated.
bool LooksLikeLoading(const OomMessage& message) {
  if (message.kind != OomKind::kGpu || !message.allocated || !message.unallocated) return false;
  constexpr std::int64_t kLittle = std::int64_t{64} << 20;
  constexpr std::int64_t kMuch = std::int64_t{1} << 30;
  return message.unallocated->value <= Bytes(kLittle) && message.allocated->value >= Bytes(kMuch);
}

void Account(const OomMessage& message, Oom& oom) {
  const auto add = [&oom](std::string what, Bytes bytes) {
    constexpr std::int64_t kShown = std::int64_t{5} << 20;  // less is 0.00 GiB
    if (bytes < Bytes(kShown)) return;
    oom.amounts.push_back({std::move(what), bytes});
  };
  if (message.allocated) add("allocated by PyTorch", message.allocated->value);
  if (message.unallocated) add("reserved by PyTorch, in no use", message.unallocated->value);
  if (message.free) add("free", message.free->value);
  if (message.capacity && message.reserved && message.free) {
    const Bytes rest = message.capacity->value - message.reserved->value - message.free->value;
    if (rest > Bytes()) add("others: CUDA's context, NCCL, other processes", rest);
    constexpr std::int64_t kContext = std::int64_t{3} << 29;  // 1.5 GiB: context and NCCL together
    if (rest > Bytes(kContext)) {
      oom.notes.push_back(report::GiB(rest) +
                          " are neither PyTorch's nor free: more than a CUDA context takes; look "
                          "for other processes on the card");
    }
  }
}

// True when the cache held enough for the request.
bool Fragmentation(const OomMessage& message, Oom& oom) {
  if (!message.requested || !message.unallocated) return false;
  const Bytes unused = message.unallocated->value;
  if (unused >= message.requested->value) {
    oom.fragmentation = report::GiB(unused) +
                        " of PyTorch's cache were in no use, more than was asked for, but in "
                        "pieces: this is fragmentation";
    return true;
  }
  const Bytes with_free = unused + (message.free ? message.free->value : Bytes());
  oom.fragmentation = "not fragmentation: " + report::GiB(unused) +
                      " of the cache were in no use, less than was asked for";
  if (unused < Bytes(std::int64_t{5} << 20)) {
    oom.fragmentation = "not fragmentation: all of the cache was in use";
  }
  if (message.free && with_free >= message.requested->value) {
    oom.fragmentation = "partly fragmentation: cache and free memory together (" +
                        report::GiB(with_free) + ") were enough, neither alone was";
    return true;
  }
  return false;
}

std::string_view MomentWord(OomMoment moment) {
  return moment == OomMoment::kUnknown ? std::string_view() : readers::Name(moment);
}

// What is known of the run beside the message.
struct Run {
  std::optional<readers::ConfigReading> reading;
  std::shared_ptr<const spec::ModelSpec> model;
  std::optional<spec::Machine> machine;
};

Expected<Run> ReadRun(const OomRequest& request, const catalog::Catalog& catalog) {
  Run run;
  if (!request.files.empty()) {
    ASSIGN_OR_RETURN(run.reading, readers::ReadConfigs(request.files));
  }
  ModelQuery query = request.model;
  if (query.name.empty() && run.reading) query.name = run.reading->model;
  if (!query.name.empty()) {
    Diagnostics warnings;
    ASSIGN_OR_RETURN(run.model, FindModel(catalog, query, &warnings));
  }
  if (!request.on.empty()) {
    ASSIGN_OR_RETURN(run.machine, catalog::ParseHardware(catalog, request.on));
  }
  return run;
}

// Looks through the recorded program, when files, model and hardware are known.
void SearchRecorded(const Run& run, const verdict::OomQuestion& question, Oom& oom) {
  if (!run.reading || run.model == nullptr || !run.machine) return;
  verdict::Case of_run;
  of_run.model = run.model;
  of_run.machine = *run.machine;
  auto recipe = readers::RecipeFor(*run.reading, *run.model, run.machine->Gpus());
  if (!recipe.has_value()) return;
  of_run.recipe = std::move(*recipe);
  auto facts = frameworks::FindFacts(of_run.recipe.framework, of_run.recipe.framework_version);
  if (!facts.has_value()) return;
  of_run.facts = std::move(*facts);
  auto found = verdict::SearchProgram(of_run, question);
  if (!found.has_value()) {
    oom.search = "the run cannot be simulated (" + found.error()[0].message +
                 "): looked for among the model's shapes alone";
    return;
  }
  oom.search = found->empty() ? "no allocation of the simulated run has this size: the run is not "
                                "the one that the files describe, or this phase is not simulated"
                              : "every allocation of the simulated run";
  oom.found = std::move(*found);
  auto answer = AnswerCase(of_run, true, {});
  if (!answer.has_value()) return;
  const bool has_fits =
      std::any_of(answer->remedies.begin(), answer->remedies.end(),
                  [](const verdict::Remedy& remedy) { return remedy.fit == verdict::Fit::kFits; });
  for (const verdict::Remedy& remedy : answer->remedies) {
    const auto edits = readers::InOwnWords(*run.reading, remedy.change);
    const auto wanted = has_fits ? verdict::Fit::kFits : verdict::Fit::kTight;
    if (edits.empty() || remedy.fit != wanted) continue;
    std::string change;
    for (const readers::Edit& edit : edits) {
      change += (change.empty() ? "" : ", ") + readers::EditText(*run.reading, edit);
    }
    oom.ways.push_back(
        {std::move(change),
         fmt::format("then it needs {}; its price: {}", report::GiB(remedy.point), remedy.cost),
         true});
  }
}

// A shape of the same bytes explains an allocation of the program; others are further finds.
void AddShape(verdict::FoundAllocation shape, Oom& oom) {
  bool explains = false;
  for (verdict::FoundAllocation& found : oom.found) {
    if (!found.is_from_program || found.bytes != shape.bytes) continue;
    explains = true;
    if (found.cause != verdict::OomCause::kActivations && found.cause != shape.cause) continue;
    found.cause = shape.cause;
    found.formula = shape.formula;
  }
  if (!explains) oom.found.push_back(std::move(shape));
}

}  // namespace

Expected<std::string> ReadLog(const std::string& path) { return config::ReadTextFile(path); }

Expected<Oom> ExplainOom(const OomRequest& request) {
  ASSIGN_OR_RETURN(OomMessage message, readers::ReadOomMessage(request.name, request.text));
  ASSIGN_OR_RETURN(const catalog::Catalog catalog, OpenCatalog(request.catalog_files));
  ASSIGN_OR_RETURN(const Run run, ReadRun(request, catalog));
  Oom oom;
  oom.kind = readers::Name(message.kind);
  oom.headline = Headline(message);
  if (message.moment == OomMoment::kUnknown && LooksLikeLoading(message)) {
    message.moment = OomMoment::kLoad;
    message.evidence = "PyTorch's cache held nothing but what was in use, as while loading";
  }
  oom.moment = MomentWord(message.moment);
  oom.evidence = message.evidence;
  Account(message, oom);
  const bool is_fragmented = Fragmentation(message, oom);
  if (message.requested) {
    oom.requested = message.requested->value;
    oom.requested_text = message.requested->text;
    verdict::OomQuestion question;
    question.low = message.requested->low;
    question.high = message.requested->high;
    question.is_gpu = message.kind == OomKind::kGpu;
    question.moment = MomentWord(message.moment);
    if (run.machine) question.ranks = run.machine->Gpus();
    question.micro_batch =
        run.reading ? run.reading->recipe.micro_batch : request.recipe.micro_batch;
    question.length =
        run.reading ? run.reading->recipe.sequence_length : request.recipe.sequence_length;
    SearchRecorded(run, question, oom);
    std::vector<verdict::FoundAllocation> shapes = verdict::SearchShapes(run.model.get(), question);
    for (verdict::FoundAllocation& found : shapes) AddShape(std::move(found), oom);
    std::stable_sort(oom.found.begin(), oom.found.end(),
                     [](const auto& a, const auto& b) { return a.fits_moment && !b.fits_moment; });
    if (run.model == nullptr && oom.search.empty()) {
      oom.search =
          "DeepSpeed's own buffers alone; --model NAME looks among its shapes, --with "
          "FILE... among the allocations of the run";
    }
  }
  std::optional<verdict::OomCause> cause;
  if (!oom.found.empty()) cause = oom.found.front().cause;
  for (report::WayOut& way : WaysOut(message, cause, is_fragmented)) {
    oom.ways.push_back(std::move(way));
  }
  return oom;
}

}  // namespace trainfit::api
