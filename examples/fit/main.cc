// Does QLoRA of Mistral 7B fit on an RTX 4090? Prints the bytes, or what is wrong with the question.
#include <iostream>

#include "api/api.h"
#include "verdict/judge.h"

int main() {
  trainfit::api::FitRequest question;
  question.model.name = "mistralai/Mistral-7B-v0.1";
  question.on = "rtx-4090";
  question.recipe.method = trainfit::spec::Method::kQlora;
  const auto answer = trainfit::api::Fit(question);
  if (!answer) {
    for (const auto& error : answer.error()) std::cerr << trainfit::RenderText(error);
    return 2;
  }
  const auto& gpu = trainfit::verdict::HighestGpu(*answer);
  std::cout << trainfit::verdict::Name(answer->fit) << ": " << gpu.bytes.point.value() << " of "
            << gpu.capacity->value() << " bytes\n";
}
