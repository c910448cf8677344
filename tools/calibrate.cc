// Measured kernels → data/calibration/*.json: calibrate MEASURED.jsonl OUTPUT-FOLDER
//
// A family is the cards of one compute capability. Its few numbers (spec/kernel_rates.h) are fitted
// on all its measured cards at once, by the very functions that predict (time/kernel.h). Each file
// says how near the fit comes on every card, and how near when that card is left out.
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "catalog/catalog.h"
#include "config/json_reader.h"
#include "time/kernel.h"

namespace {

using trainfit::catalog::Catalog;
using trainfit::config::Node;
using trainfit::program::KernelClass;
using trainfit::program::Operation;
using trainfit::spec::KernelRates;

struct Sample {
  std::string gpu;
  Operation operation;
  double seconds = 0;
};

struct Family {
  std::string id;
  std::vector<std::string> capabilities;
  // Of an unmeasured family: whose numbers it takes.
  std::string like;
};

const std::vector<Family>& Families() {
  static const std::vector<Family> families = {{"ampere-hbm", {"8.0"}, ""},
                                               {"hopper", {"9.0"}, ""},
                                               {"blackwell-hbm", {"10.0", "10.3"}, ""},
                                               {"ada", {"8.9"}, ""},
                                               {"blackwell-gddr", {"12.0", "12.1"}, ""},
                                               {"ampere-gddr", {"8.6", "8.7"}, "ada"},
                                               {"volta", {"7.0"}, "ampere-hbm"},
                                               {"turing", {"7.5"}, "ada"}};
  return families;
}

std::string Text(const Node& row, std::string_view key) {
  const Node* node = row.Find(key);
  return node == nullptr ? std::string() : node->text;
}
double Number(const Node& row, std::string_view key) {
  const Node* node = row.Find(key);
  return node == nullptr ? 0 : node->real;
}

// "b4 s2048 heads32 kv8 d128 causal", or SimuMax' "batch=1, seq_len=4096, head_num=32, …".
std::map<std::string, std::int64_t> Sizes(const std::string& text) {
  std::map<std::string, std::int64_t> sizes;
  std::string word;
  std::string digits;
  const auto end = [&] {
    if (!word.empty() && !digits.empty()) sizes[word] = std::stoll(digits);
    word.clear();
    digits.clear();
  };
  for (const char c : text) {
    if (c >= '0' && c <= '9') {
      digits += c;
    } else if (c == ' ' || c == ',') {
      end();
    } else if (c != '=') {
      word += c;
    }
  }
  end();
  return sizes;
}

// Absent where the row is no kernel that is fitted.
std::optional<Sample> GemmSample(const Node& row) {
  const auto m = static_cast<std::int64_t>(Number(row, "m"));
  const auto n = static_cast<std::int64_t>(Number(row, "n"));
  const auto k = static_cast<std::int64_t>(Number(row, "k"));
  if (m == 0) return std::nullopt;
  const double flops =
      2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  Sample sample{Text(row, "gpu"), {}, flops / (Number(row, "value") * 1e12)};
  sample.operation.kernel = KernelClass::kGemm;
  sample.operation.flops = trainfit::Flops(flops);
  sample.operation.shape = {m, n, k};
  return sample;
}

std::optional<Sample> AttentionSample(const Node& row, bool is_backward) {
  auto sizes = Sizes(Text(row, "size"));
  const bool is_simumax = sizes.contains("batch");
  const auto take = [&](const char* a, const char* b) { return sizes[is_simumax ? a : b]; };
  const std::int64_t batch = take("batch", "b");
  const std::int64_t length = take("seq_len", "s");
  const std::int64_t heads = take("head_num", "heads");
  const std::int64_t kv_heads = take("kv_head_num", "kv");
  const std::int64_t head_dim = take("qk_head_dim", "d");
  const std::int64_t value_dim = is_simumax ? sizes["v_head_dim"] : head_dim;
  // Prefill kernels of servers also write the keys to their cache; few heads keep that small.
  if (batch == 0 || (!is_simumax && kv_heads == heads)) return std::nullopt;
  const double wide =
      static_cast<double>(batch * heads) * static_cast<double>(head_dim + value_dim);
  const double square = static_cast<double>(length) * static_cast<double>(length);
  const double passes = is_backward ? 2.5 : 1;
  // SimuMax counts the masked half as well.
  const double stated = (is_simumax ? 2 : 1) * wide * square * passes;
  Sample sample{Text(row, "gpu"), {}, stated / (Number(row, "value") * 1e12)};
  Operation& operation = sample.operation;
  operation.kernel = is_backward ? KernelClass::kAttentionBackward : KernelClass::kAttentionForward;
  operation.flops = trainfit::Flops(wide * (square + static_cast<double>(length)) * passes);
  operation.shape = {length, heads, (head_dim + value_dim) / 2};
  operation.groups = batch;
  operation.asynchronous = true;
  return sample;
}

std::vector<Sample> ReadSamples(const std::string& path, std::set<std::string>* sources,
                                const std::function<bool(const std::string&)>& wanted) {
  std::vector<Sample> samples;
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    const auto row = trainfit::config::ParseJson(path, line);
    if (!row.has_value() || !wanted(Text(*row, "gpu"))) continue;
    const std::string kind = Text(*row, "kind");
    std::optional<Sample> sample;
    if (kind == "gemm_bf16_tflops") sample = GemmSample(*row);
    if (kind == "attn_fwd_bf16_tflops") sample = AttentionSample(*row, false);
    if (kind == "attn_bwd_bf16_tflops") sample = AttentionSample(*row, true);
    if (!sample) continue;
    samples.push_back(*sample);
    sources->insert(Text(*row, "source"));
  }
  return samples;
}

using Cards = std::map<std::string, trainfit::spec::Gpu>;

double LogError(const Sample& sample, const KernelRates& rates, const Cards& cards) {
  trainfit::spec::Gpu gpu = cards.at(sample.gpu);
  gpu.rates = std::make_shared<const KernelRates>(rates);
  const double predicted =
      trainfit::time::KernelSeconds(sample.operation, trainfit::time::MakeCard(gpu))
          .seconds.value();
  return std::log(predicted / sample.seconds);
}

double MeanError(const std::vector<Sample>& samples, const KernelRates& rates, const Cards& cards) {
  if (samples.empty()) return 0;
  double sum = 0;
  for (const Sample& sample : samples) sum += std::abs(LogError(sample, rates, cards));
  return sum / static_cast<double>(samples.size());
}

// Nelder and Mead's simplex; few dimensions, a smooth enough goal.
std::vector<double> Minimize(const std::function<double(const std::vector<double>&)>& goal,
                             std::vector<double> start, int rounds) {
  struct Corner {
    std::vector<double> at;
    double value;
  };
  std::vector<Corner> simplex = {{start, goal(start)}};
  for (std::size_t i = 0; i < start.size(); ++i) {
    std::vector<double> at = start;
    at[i] += 0.2;
    simplex.push_back({at, goal(at)});
  }
  const auto by_value = [](const Corner& a, const Corner& b) { return a.value < b.value; };
  for (int round = 0; round < rounds; ++round) {
    std::sort(simplex.begin(), simplex.end(), by_value);
    Corner& worst = simplex.back();
    std::vector<double> center(start.size(), 0.0);
    for (std::size_t c = 0; c + 1 < simplex.size(); ++c) {
      for (std::size_t i = 0; i < center.size(); ++i) {
        center[i] += simplex[c].at[i] / static_cast<double>(start.size());
      }
    }
    const auto along = [&](double factor) {
      Corner corner{center, 0};
      for (std::size_t i = 0; i < center.size(); ++i) {
        corner.at[i] += factor * (worst.at[i] - center[i]);
      }
      corner.value = goal(corner.at);
      return corner;
    };
    const Corner mirrored = along(-1);
    if (mirrored.value < simplex.front().value) {
      const Corner farther = along(-2);
      worst = farther.value < mirrored.value ? farther : mirrored;
    } else if (mirrored.value < simplex[simplex.size() - 2].value) {
      worst = mirrored;
    } else if (const Corner nearer = along(0.5); nearer.value < worst.value) {
      worst = nearer;
    } else {
      for (std::size_t c = 1; c < simplex.size(); ++c) {
        for (std::size_t i = 0; i < start.size(); ++i) {
          simplex[c].at[i] = (simplex[c].at[i] + simplex.front().at[i]) / 2;
        }
        simplex[c].value = goal(simplex[c].at);
      }
    }
  }
  return std::min_element(simplex.begin(), simplex.end(), by_value)->at;
}

// Fits the numbers behind `fields` on those samples that they decide. All are positive, and shares
// of a peak are below 1.
void FitFields(const std::vector<Sample>& samples, const std::vector<double*>& fields,
               KernelRates* rates, const Cards& cards) {
  if (samples.empty()) return;
  std::vector<double> start;
  start.reserve(fields.size());
  for (const double* field : fields) start.push_back(std::log(std::max(*field, 1e-3)));
  const auto set = [&](const std::vector<double>& at) {
    for (std::size_t i = 0; i < fields.size(); ++i) *fields[i] = std::exp(at[i]);
  };
  constexpr double kImpossible = 1e3;
  constexpr int kRounds = 300;
  const auto goal = [&](const std::vector<double>& at) {
    set(at);
    const std::array shares = {rates->gemm, rates->gemm_bandwidth, rates->attention_forward.share,
                               rates->attention_backward.share};
    if (*std::max_element(shares.begin(), shares.end()) > 1) return kImpossible;
    return MeanError(samples, *rates, cards);
  };
  set(Minimize(goal, start, kRounds));
}

std::vector<Sample> OfKernel(const std::vector<Sample>& samples, KernelClass kernel) {
  std::vector<Sample> some;
  std::copy_if(samples.begin(), samples.end(), std::back_inserter(some),
               [&](const Sample& sample) { return sample.operation.kernel == kernel; });
  return some;
}

KernelRates Fit(const std::vector<Sample>& samples, const Cards& cards) {
  KernelRates rates;
  FitFields(OfKernel(samples, KernelClass::kGemm),
            {&rates.gemm, &rates.gemm_ramp, &rates.gemm_small_tile, &rates.gemm_bandwidth,
             &rates.gemm_pj_per_flop, &rates.launch_floor_us},
            &rates, cards);
  const auto attention = [&](KernelClass kernel, trainfit::spec::AttentionRates* of) {
    FitFields(OfKernel(samples, kernel), {&of->share, &of->ramp, &of->tail}, &rates, cards);
  };
  attention(KernelClass::kAttentionForward, &rates.attention_forward);
  attention(KernelClass::kAttentionBackward, &rates.attention_backward);
  if (OfKernel(samples, KernelClass::kAttentionBackward).empty()) {
    // Unmeasured: five products for two, on data that must be read again; on the cards where both
    // are measured backward has 0.68 to 0.78 of forward's rate.
    constexpr double kBackwardShare = 0.73;
    rates.attention_backward = rates.attention_forward;
    rates.attention_backward.share *= kBackwardShare;
  }
  return rates;
}

double Rounded(double value) {
  constexpr double kThousandths = 1000;
  return std::round(value * kThousandths) / kThousandths;
}

void WriteFamily(const Family& family, const KernelRates& rates, const std::vector<Sample>& samples,
                 const std::set<std::string>& sources, const Cards& cards,
                 const std::string& folder) {
  trainfit::JsonWriter json;
  json.BeginObject();
  json.Field("id", family.id);
  json.Key("capabilities").BeginArray();
  for (const std::string& capability : family.capabilities) json.String(capability);
  json.EndArray();
  json.Field("basis", family.like.empty() ? "measured" : "assumed");
  if (!family.like.empty()) json.Field("like", family.like);
  json.Key("rates").BeginObject();
  const auto number = [&](std::string_view name, double value) {
    json.Key(name).Double(Rounded(value));
  };
  number("gemm", rates.gemm);
  number("gemm_ramp", rates.gemm_ramp);
  number("gemm_small_tile", rates.gemm_small_tile);
  number("gemm_bandwidth", rates.gemm_bandwidth);
  number("gemm_pj_per_flop", rates.gemm_pj_per_flop);
  const auto attention = [&](const std::string& name, const trainfit::spec::AttentionRates& of) {
    number(name, of.share);
    number(name + "_ramp", of.ramp);
    number(name + "_tail", of.tail);
  };
  attention("attention_forward", rates.attention_forward);
  attention("attention_backward", rates.attention_backward);
  number("bandwidth", rates.bandwidth);
  number("launch_floor_us", rates.launch_floor_us);
  number("sigma", rates.sigma);
  json.EndObject();
  json.Key("errors").BeginArray();
  for (const auto& [name, gpu] : cards) {
    std::vector<Sample> own;
    std::vector<Sample> others;
    for (const Sample& sample : samples) (sample.gpu == name ? own : others).push_back(sample);
    if (own.empty()) continue;
    json.BeginObject();
    json.Field("gpu", name);
    json.Field("kernels", static_cast<std::int64_t>(own.size()));
    json.Key("mean_error").Double(Rounded(MeanError(own, rates, cards)));
    if (!others.empty()) {
      json.Key("mean_error_left_out").Double(Rounded(MeanError(own, Fit(others, cards), cards)));
    }
    json.EndObject();
  }
  json.EndArray();
  json.Key("sources").BeginArray();
  for (const std::string& source : sources) json.String(source);
  json.EndArray();
  json.EndObject();
  std::ofstream(folder + "/" + family.id + ".json") << json.Take() << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: calibrate MEASURED.jsonl OUTPUT-FOLDER\n";
    return 2;
  }
  const Catalog catalog;
  std::map<std::string, KernelRates> known;
  for (const Family& family : Families()) {
    Cards cards;
    const auto wanted = [&](const std::string& name) {
      if (cards.contains(name)) return true;
      const auto found = catalog.FindGpu(name);
      if (!found.has_value()) return false;
      const trainfit::spec::Gpu& gpu = found->record.gpu;
      const auto& of = family.capabilities;
      if (std::find(of.begin(), of.end(), gpu.compute_capability) == of.end()) return false;
      cards[name] = gpu;
      return true;
    };
    std::set<std::string> sources;
    const std::vector<Sample> samples = ReadSamples(argv[1], &sources, wanted);
    KernelRates rates = family.like.empty() ? Fit(samples, cards) : known[family.like];
    known[family.id] = rates;
    WriteFamily(family, rates, samples, sources, cards, argv[2]);
    std::cout << family.id << ": " << samples.size() << " kernels, mean error "
              << MeanError(samples, rates, cards) << "\n";
  }
}
