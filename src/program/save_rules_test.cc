// What autograd keeps of each operation: the save rules of tools/autograd/derivatives.yaml, seen as
// the bytes that stay when every variable but the output is gone.
#include <gtest/gtest.h>

#include <functional>

#include "program/ops.h"
#include "program/tape.h"

namespace trainfit::program {
namespace {

using spec::Dtype;

constexpr Shape kShape{128, 256};  // bf16: 65 536 bytes
constexpr std::int64_t kX = 128 * 256 * 2;
constexpr std::int64_t kPerRowFp32 = 128 * 4;
constexpr Slot kInput{0, kBoundarySlots + 20};
constexpr Slot kOther{0, kBoundarySlots + 21};
constexpr Slot kThird{0, kBoundarySlots + 22};

Tensor Input(Tape& tape, Slot slot = kInput, Dtype dtype = Dtype::kBf16) {
  return tape.Given(slot, kShape, dtype, true, Role::kActivations, "x");
}

Tensor Weight(Tape& tape, Shape shape, bool trainable) {
  return tape.Parameter({.weight = {0, kWeightSlots},
                         .gradient = {0, kGradientSlots},
                         .shape = shape,
                         .trainable = trainable,
                         .label = "weight"});
}

using Forward = std::function<Tensor(Tape&)>;

// Bytes that stay after the forward besides the output. `given`: bytes of the inputs made
// elsewhere, which count as kept when they were not freed.
std::int64_t Kept(const Forward& forward, std::int64_t given) {
  Tape tape;
  Tensor output = forward(tape);
  const Bytes output_bytes = output.bytes();
  tape.Cut();
  // Ends the backward half as well, so that nothing is left when the tape closes.
  tape.Backward(output, Tensor(), Tensor());
  output.reset();
  tape.Cut();
  SegmentStore store;
  const Segment* segment = tape.Finish(store).front();
  return segment->summary(Place::kGpu).net.value() + given - output_bytes.value();
}

TEST(SaveRules, OfElementWiseOperations) {
  EXPECT_EQ(Kept([](Tape& t) { return Cast(t, Input(t), Dtype::kFp32, "cast"); }, kX), 0);
  EXPECT_EQ(Kept([](Tape& t) { return Scale(t, Input(t), "scale"); }, kX), 0);
  EXPECT_EQ(Kept([](Tape& t) { return Activate(t, Input(t), "silu"); }, kX), kX);
  EXPECT_EQ(Kept([](Tape& t) { return Power(t, Input(t), "pow"); }, kX), kX);
  EXPECT_EQ(Kept([](Tape& t) { return Squash(t, Input(t), "tanh"); }, kX), 0);
  EXPECT_EQ(Kept([](Tape& t) { return Softmax(t, Input(t), "softmax"); }, kX), 0);
  EXPECT_EQ(Kept([](Tape& t) { return Dropout(t, Input(t), "dropout"); }, kX), 128 * 256);
}

TEST(SaveRules, OfAProductAreTheOtherFactors) {
  const auto both = [](Tape& t) { return Multiply(t, Input(t), Input(t, kOther), "product"); };
  EXPECT_EQ(Kept(both, 2 * kX), 2 * kX);
  const auto frozen = [](Tape& t) {
    return Multiply(t, Input(t), Weight(t, {1, 256}, false), "product");
  };
  EXPECT_EQ(Kept(frozen, kX), 0);  // the weight is kept anyway, x is not needed
  const auto trained = [](Tape& t) {
    return Multiply(t, Input(t), Weight(t, {1, 256}, true), "product");
  };
  EXPECT_EQ(Kept(trained, kX), kX);
}

TEST(SaveRules, OfALinearDependOnWhatTrains) {
  const auto linear = [](bool trainable) {
    return [trainable](Tape& t) {
      return Linear(t, Input(t), Weight(t, {512, 256}, trainable), Tensor(), "linear");
    };
  };
  EXPECT_EQ(Kept(linear(true), kX), kX);
  EXPECT_EQ(Kept(linear(false), kX), 0);
}

TEST(SaveRules, OfNorms) {
  const auto layer_norm = [](Tape& t) {
    return LayerNorm(t, Input(t), Weight(t, {1, 256}, true), Tensor(), "norm");
  };
  EXPECT_EQ(Kept(layer_norm, kX), kX + 2 * kPerRowFp32);  // mean and rstd
  const auto rms_norm = [](Tape& t) {
    return FusedRmsNorm(t, Input(t), Weight(t, {1, 256}, true), false, "norm");
  };
  EXPECT_EQ(Kept(rms_norm, kX), kX + kPerRowFp32);
}

TEST(SaveRules, OfFlashAttention) {
  constexpr std::int64_t kHeads = 4;
  const auto attention = [](Tape& t) {
    AttentionShape shape;
    shape.query_length = shape.key_length = 128;
    shape.heads = shape.kv_heads = kHeads;
    shape.head_dim = 64;
    return FlashAttention(t, Input(t), Input(t, kOther), Input(t, kThird), shape, "attention");
  };
  // q, k, v and the fp32 log-sum-exp; the output is kept as the output.
  EXPECT_GE(Kept(attention, 3 * kX), 3 * kX + kHeads * 128 * 4);
  EXPECT_LE(Kept(attention, 3 * kX), 3 * kX + kHeads * 128 * 4 + 1024);  // and the random state
}

TEST(SaveRules, NothingIsKeptWithoutGrad) {
  const auto forward = [](Tape& t) {
    t.set_grad_enabled(false);
    return Activate(t, Input(t), "silu");
  };
  EXPECT_EQ(Kept(forward, kX), 0);
}

TEST(Tape, FirstGradientOfALeafIsTakenOverALaterOneIsAdded) {
  for (const bool has_gradient : {false, true}) {
    Tape tape;
    Tensor weight = tape.Parameter({.weight = {0, kWeightSlots},
                                    .gradient = {0, kGradientSlots},
                                    .shape = {512, 256},
                                    .trainable = true,
                                    .has_gradient = has_gradient,
                                    .label = "weight"});
    Tensor x = Input(tape);
    Tensor y = Linear(tape, x, weight, Tensor(), "linear");
    Tensor gradient = tape.New({128, 512}, Dtype::kBf16, Role::kActivations, "gradient");
    tape.Cut();
    const Tensor ghost = tape.Ghost(y);
    const Tensor wrt = tape.Ghost(x);
    y.reset();
    x.reset();
    tape.Backward(ghost, std::move(gradient), wrt).reset();
    tape.Cut();
    SegmentStore store;
    const Extent backward = tape.Finish(store).back()->summary(Place::kGpu);
    constexpr std::int64_t kGradient = 512 * 256 * 2;
    constexpr std::int64_t kIncoming = 128 * 512 * 2;
    // x and the incoming gradient go (y went with its last variable); the new gradient stays.
    EXPECT_EQ(backward.net.value(),
              (has_gradient ? 0 : kGradient) - kX - kIncoming - 128 * 512 * 2);
    EXPECT_GE(backward.peak.value() + kIncoming, kGradient);
  }
}

}  // namespace
}  // namespace trainfit::program
