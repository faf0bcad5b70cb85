#include <iostream>
#include <string>
#include <vector>

int main() {
  std::vector<std::string> words = {"host", "toolchain"};
  for (const auto &word : words) std::cout << word << '\n';
  return __cplusplus == 201703L ? 0 : 1;
}
