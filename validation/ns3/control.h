// A rate controller in another process: reports are sent and allocations received, one line of JSON each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace airpace
{

/// What one station observed in one slot.
struct SlotReport
{
    uint32_t frames{0}; ///< data frames with packets that had not been sent before
    uint32_t packets{0};
    uint64_t bytes{0}; ///< of packets received, IP header included
    double firstUs{0}; ///< ends of the first and the last of the frames
    double lastUs{0};
    double inverseRateSum{0}; ///< sum of 1/R over the frames, s/bit
    uint32_t lost{0};
    uint32_t late{0};
    uint32_t sentPackets{0};
    uint64_t sentBytes{0};
};

class Controller
{
  public:
    /// Starts `command` with a shell.
    explicit Controller(const std::string& command);
    ~Controller();
    Controller(const Controller&) = delete;
    Controller& operator=(const Controller&) = delete;

    /// Sends the reports of a slot and returns the rates, packets per second for each station.
    std::vector<double> Decide(double nowUs, double slotUs, const std::vector<SlotReport>& reports);

  private:
    std::string Ask(const std::string& line);

    int m_process{0};
    int m_toController{-1};
    int m_fromController{-1};
    uint64_t m_slot{0};
    std::string m_buffer;
};

} // namespace airpace
