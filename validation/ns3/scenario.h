// What one run is: the settings of docs/design/ns3.md, one flag each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace airpace
{

/// How the access point chooses among its stations' queues.
enum class Order
{
    OldestFirst, ///< ns-3's own scheduler: the queue whose head has waited longest
    RoundRobin,  ///< ours: a queue goes to the tail when MPDUs of it are acknowledged
};

/// What the sources send.
enum class Traffic
{
    Udp,   ///< paced datagrams from the access point itself
    Cubic, ///< one TCP download per station from a wired server
    Bbr,
};

struct Scenario
{
    std::string standard{"ac"}; ///< n, ac or ax
    int widthMhz{80};
    int guardNs{800};
    std::vector<int> mcs;              ///< of each station; for 802.11n the index 0-31, which implies the streams
    std::vector<int> streams;          ///< of each station
    std::vector<double> rates;         ///< of each station's source, Mbit/s of payload; unused with a controller or TCP
    std::vector<double> phases;        ///< where in its first gap each source begins, 0 to 1; drawn if empty
    bool minstrel{false};              ///< Minstrel-HT at the access point in place of constant rates
    double squareM{0};                 ///< side of a square with stations at random places; 0 puts all 2 m away
    Order order{Order::RoundRobin};
    uint32_t queuePackets{500};        ///< limit of the access point's queue, packets in flight included
    bool queuePerStation{false};       ///< whether the limit is each station's own
    uint32_t payload{1470};            ///< bytes of UDP payload
    uint32_t longest{64};              ///< most MPDUs in an A-MPDU
    Traffic traffic{Traffic::Udp};
    std::string control;               ///< command of a controller that speaks JSON lines; empty for constant rates
    double slotS{0.1};                 ///< length of a controller's slot
    uint32_t reportBytes{0};           ///< UDP payload that each station sends upwards once a slot; 0 for none
    uint32_t seed{1};
    double warmS{0.3};
    double durationS{1};
    double drainS{0.2};                ///< time after the window in which packets of the window still count as received

    std::size_t Stations() const { return mcs.size(); }
};

/// Reads the command line; ends the program with a message if it makes no sense.
Scenario ReadScenario(int argc, char* argv[]);

} // namespace airpace
