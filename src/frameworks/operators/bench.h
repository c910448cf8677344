// What the operators' files share: inputs with the gradients that earlier iterations left, sizes by
// name, and the backward pass of the benchmark scripts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "frameworks/operators/operator.h"
#include "program/ops.h"
#include "program/tape.h"

namespace trainfit::frameworks::operators {

class Bench {
 public:
  explicit Bench(const OperatorCase& question) : question_(question) {}

  program::Tape& tape() { return tape_; }
  const OperatorCase& question() const { return question_; }
  bool IsProvider(std::string_view name) const { return question_.provider == name; }
  // 1 and a note in missing() when the record does not state it.
  std::int64_t Size(std::string_view name);
  // The first of two names under which scripts of different age state a size.
  std::int64_t Size(std::string_view name, std::string_view older);
  const std::string& missing() const { return missing_; }

  // A leaf that is there all the time. `trains`: so is its gradient, as the scripts never set it to
  // None between iterations; later gradients are added to it.
  program::Tensor Leaf(program::Shape shape, spec::Dtype dtype, bool trains, const char* label);
  // An input that several operations read: their gradients are summed up before the sum is added to
  // the gradient that is there (AccumulateGrad runs once all have arrived).
  program::Tensor Input(program::Shape shape, spec::Dtype dtype, const char* label);
  // The same for a leaf whose gradient shares the leaf's own bytes, or is set to None each time.
  program::Tensor LeafWithoutGradient(program::Shape shape, spec::Dtype dtype, bool has_gradient,
                                      const char* label);
  // Anything else that is there all the time: targets, weights of the other providers.
  void Hold(Bytes bytes, const char* label);

  // y.backward(gradient): both stay referred to by the script until it returns.
  void Backward(const program::Tensor& y, const program::Tensor& gradient);

 private:
  program::Tensor AddLeaf(program::Shape shape, spec::Dtype dtype, bool trains, bool has_gradient,
                          const char* label);

  const OperatorCase& question_;
  program::Tape tape_;
  std::vector<program::Tensor> inputs_;  // alive to the end
  std::string missing_;
  std::int32_t leaves_ = 0;
};

// One operator: its record on the bench.
using Operator = void (*)(Bench& bench);

// mlp.cc
void GatedMlp(Bench& bench);
void TiledMlp(Bench& bench);
// norms.cc
void RmsNorm(Bench& bench);
void LayerNorm(Bench& bench);
void FusedAddRmsNorm(Bench& bench);
void MegatronRmsNorm(Bench& bench);
// rope.cc
void Rope(Bench& bench);
// cross_entropy.cc
void CrossEntropy(Bench& bench);
void FusedLinearCrossEntropy(Bench& bench);
void MegatronCrossEntropy(Bench& bench);
// divergence.cc
void Divergence(Bench& bench);
void FusedLinearJsd(Bench& bench);
void DistillationJsd(Bench& bench);
// preference.cc
void PreferenceLoss(Bench& bench);
void GrpoLoss(Bench& bench);

}  // namespace trainfit::frameworks::operators
