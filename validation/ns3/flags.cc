#include "flags.h"

#include <cstdlib>
#include <iostream>

namespace airpace
{

void
Refuse(const std::string& message)
{
    std::cerr << "error: " << message << std::endl;
    std::exit(2);
}

std::vector<std::string>
Split(const std::string& text, char separator)
{
    std::vector<std::string> parts;
    std::istringstream list(text);
    for (std::string part; std::getline(list, part, separator);)
    {
        parts.push_back(part);
    }
    return parts;
}

} // namespace airpace
