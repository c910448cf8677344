#include "frameworks/operators/bench.h"

namespace trainfit::frameworks::operators {

using program::Role;
using program::Shape;
using program::Slot;
using program::Tensor;

std::int64_t Bench::Size(std::string_view name) {
  const auto found = question_.sizes.find(name);
  if (found != question_.sizes.end() && found->second > 0) return found->second;
  if (missing_.empty()) missing_ = name;
  return 1;
}

std::int64_t Bench::Size(std::string_view name, std::string_view older) {
  return question_.sizes.contains(name) ? Size(name) : Size(older);
}

Tensor Bench::AddLeaf(Shape shape, spec::Dtype dtype, bool trains, bool has_gradient,
                      const char* label) {
  program::Leaf leaf;
  leaf.weight = {0, program::kWeightSlots + leaves_};
  leaf.gradient = {0, program::kGradientSlots + leaves_};
  leaf.shape = shape;
  leaf.dtype = dtype;
  leaf.trainable = trains;
  leaf.has_gradient = has_gradient;
  leaf.label = label;
  ++leaves_;
  const Bytes bytes(shape.rows * shape.cols * spec::ElementBytes(dtype));
  tape_.AllocSlot(leaf.weight, bytes, Role::kWeights, label);
  return tape_.Parameter(leaf);
}

Tensor Bench::Leaf(Shape shape, spec::Dtype dtype, bool trains, const char* label) {
  if (trains) {
    const Bytes bytes(shape.rows * shape.cols * spec::ElementBytes(dtype));
    tape_.AllocSlot({0, program::kGradientSlots + leaves_}, bytes, Role::kGradients, label);
  }
  return AddLeaf(shape, dtype, trains, trains, label);
}

Tensor Bench::Input(Shape shape, spec::Dtype dtype, const char* label) {
  const Slot slot{0, program::kWeightSlots + leaves_};
  const Bytes bytes(shape.rows * shape.cols * spec::ElementBytes(dtype));
  tape_.AllocSlot({0, program::kGradientSlots + leaves_}, bytes, Role::kGradients, label);
  tape_.AllocSlot(slot, bytes, Role::kActivations, label);
  ++leaves_;
  inputs_.push_back(tape_.Given(slot, shape, dtype, true, Role::kActivations, label));
  return inputs_.back();
}

Tensor Bench::LeafWithoutGradient(Shape shape, spec::Dtype dtype, bool has_gradient,
                                  const char* label) {
  return AddLeaf(shape, dtype, true, has_gradient, label);
}

void Bench::Hold(Bytes bytes, const char* label) {
  tape_.AllocSlot({0, program::kWeightSlots + leaves_++}, bytes, Role::kActivations, label);
}

void Bench::Backward(const Tensor& y, const Tensor& gradient) { tape_.Backward(y, gradient, {}); }

}  // namespace trainfit::frameworks::operators
