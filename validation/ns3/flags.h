// Values of flags on the command line.
#pragma once

#include <sstream>
#include <string>
#include <vector>

namespace airpace
{

/// Ends the program with a message about its flags.
[[noreturn]] void Refuse(const std::string& message);

/// The parts of `text` between separators.
std::vector<std::string> Split(const std::string& text, char separator);

/// Reads a comma-separated list of numbers.
template <typename T>
std::vector<T>
Numbers(const char* flag, const std::string& text)
{
    std::vector<T> values;
    for (const auto& item : Split(text, ','))
    {
        std::istringstream number(item);
        T value;
        if (!(number >> value) || !number.eof())
        {
            Refuse(std::string("--") + flag + ": '" + item + "' is not a number");
        }
        values.push_back(value);
    }
    return values;
}

/// Reads a list with one value for each of `count`, or a single value for all.
template <typename T>
std::vector<T>
OneForEach(const char* flag, const std::string& text, std::size_t count, const char* of)
{
    auto values = Numbers<T>(flag, text);
    if (values.size() == 1)
    {
        values.assign(count, values.front());
    }
    if (values.size() != count)
    {
        Refuse(std::string("--") + flag + " needs one value, or one per " + of);
    }
    return values;
}

} // namespace airpace
