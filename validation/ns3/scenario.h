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
    OldestFirst, ///< ns-3's own scheduler: the queue whose first packet has waited longest
    RoundRobin,  ///< ours: a queue moves to the end when MPDUs of it are acknowledged
};

/// Traffic of the sources.
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
    std::vector<int> mcs;              ///< per station; for 802.11n the index 0-31, which implies the streams
    std::vector<int> streams;          ///< of each station
    std::vector<double> rates;         ///< per station, Mbit/s of payload; unused with a controller or TCP
    std::vector<double> phases;        ///< time of each source's first packet as a share of its gap, 0 to 1; random if empty
    bool minstrel{false};              ///< Minstrel-HT at the access point instead of constant rates
    double squareM{0};                 ///< side of a square with stations at random places; 0 places all at a distance of 2 m
    Order order{Order::RoundRobin};
    uint32_t queuePackets{500};        ///< limit of the access point's queue, including packets in flight
    bool queuePerStation{false};       ///< whether each station has this limit
    uint32_t payload{1470};            ///< UDP payload of a packet, bytes
    uint32_t longest{64};              ///< most MPDUs in an A-MPDU
    Traffic traffic{Traffic::Udp};
    std::string control;               ///< command of a controller that speaks JSON lines; empty for constant rates
    double slotS{0.1};                 ///< length of a controller's slot
    uint32_t reportBytes{0};           ///< UDP payload of the report that each station sends once per slot; 0 for none
    uint32_t seed{1};
    double warmS{0.3};
    double durationS{1};
    double drainS{0.2};                ///< time after the window in which its packets still count as received

    std::size_t Stations() const { return mcs.size(); }
};

/// Reads the command line. Ends the program with a message if the flags are invalid.
Scenario ReadScenario(int argc, char* argv[]);

} // namespace airpace
