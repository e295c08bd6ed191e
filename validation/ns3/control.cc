#include "control.h"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

namespace airpace
{

namespace
{

[[noreturn]] void
Fail(const std::string& message)
{
    std::cerr << "error: the controller " << message << std::endl;
    std::exit(1);
}

/// The number that follows `"key":` at or after `from`. Moves `from` past it.
double
NumberAfter(const std::string& text, const std::string& key, std::size_t& from)
{
    const std::string quoted = '"' + key + "\":";
    auto at = text.find(quoted, from);
    if (at == std::string::npos)
    {
        Fail("answered without '" + key + "': " + text);
    }
    from = at + quoted.size();
    return std::strtod(text.c_str() + from, nullptr);
}

void
Write(std::ostream& out, uint64_t slot, double slotUs, std::size_t station, const SlotReport& report)
{
    out << "{\"station\":" << station << ",\"slot\":" << slot << ",\"length_us\":" << slotUs
        << ",\"frames\":" << report.frames << ",\"mpdus\":" << report.packets << ",\"packets\":" << report.packets
        << ",\"bytes\":" << report.bytes;
    if (report.frames > 0)
    {
        out << ",\"first_us\":" << report.firstUs << ",\"last_us\":" << report.lastUs
            << ",\"inverse_rate_sum\":" << report.inverseRateSum;
    }
    out << ",\"lost\":" << report.lost << ",\"late\":" << report.late << ",\"sent_packets\":" << report.sentPackets
        << ",\"sent_bytes\":" << report.sentBytes << "}";
}

} // namespace

Controller::Controller(const std::string& command)
{
    int down[2], up[2];
    if (pipe(down) != 0 || pipe(up) != 0)
    {
        Fail(std::string("gets no pipe: ") + std::strerror(errno));
    }
    // `write` then returns an error if the controller has ended.
    std::signal(SIGPIPE, SIG_IGN);
    m_process = fork();
    if (m_process < 0)
    {
        Fail(std::string("cannot be started: ") + std::strerror(errno));
    }
    if (m_process == 0)
    {
        dup2(down[0], STDIN_FILENO);
        dup2(up[1], STDOUT_FILENO);
        for (int end : {down[0], down[1], up[0], up[1]})
        {
            close(end);
        }
        execl("/bin/sh", "sh", "-c", ("exec " + command).c_str(), static_cast<char*>(nullptr));
        _exit(127);
    }
    close(down[0]);
    close(up[1]);
    m_toController = down[1];
    m_fromController = up[0];
}

Controller::~Controller()
{
    close(m_toController);
    close(m_fromController);
    waitpid(m_process, nullptr, 0);
}

std::vector<double>
Controller::Decide(double nowUs, double slotUs, const std::vector<SlotReport>& reports)
{
    std::ostringstream line;
    line.precision(15);
    line << "{\"time_us\":" << nowUs << ",\"reports\":[";
    for (std::size_t station = 0; station < reports.size(); ++station)
    {
        line << (station > 0 ? "," : "");
        Write(line, m_slot, slotUs, station, reports[station]);
    }
    line << "]}\n";
    ++m_slot;

    const std::string answer = Ask(line.str());
    std::vector<double> rates(reports.size(), 0);
    std::size_t at = 0;
    for (std::size_t count = 0; count < rates.size(); ++count)
    {
        auto station = static_cast<std::size_t>(NumberAfter(answer, "station", at));
        if (station >= rates.size())
        {
            Fail("named an unknown station: " + answer);
        }
        rates[station] = NumberAfter(answer, "rate_pps", at);
    }
    return rates;
}

std::string
Controller::Ask(const std::string& line)
{
    for (std::size_t sent = 0; sent < line.size();)
    {
        auto count = write(m_toController, line.data() + sent, line.size() - sent);
        if (count <= 0)
        {
            Fail("has ended");
        }
        sent += static_cast<std::size_t>(count);
    }
    char chunk[65536];
    std::size_t end;
    while ((end = m_buffer.find('\n')) == std::string::npos)
    {
        auto count = read(m_fromController, chunk, sizeof chunk);
        if (count <= 0)
        {
            Fail("has ended without an answer");
        }
        m_buffer.append(chunk, static_cast<std::size_t>(count));
    }
    std::string answer = m_buffer.substr(0, end);
    m_buffer.erase(0, end + 1);
    return answer;
}

} // namespace airpace
