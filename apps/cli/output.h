// The only functions of the product that write to the terminal or a file.
#pragma once

#include <string>
#include <string_view>

namespace trainfit::cli {

// Writes the answer to stdout. False when it could not be written, which is then said on stderr; a
// reader who has gone away (`| head`) is no fault.
bool PrintAnswer(std::string_view text);

// Writes complaints to stderr, as far as it goes.
void PrintComplaint(std::string_view text);

// Writes a text file, whole. False when it could not be written, which is then said on stderr.
bool WriteFile(const std::string& path, std::string_view text);

}  // namespace trainfit::cli
