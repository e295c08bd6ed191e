// Several cells on one channel, and stations that are hidden from each other: families S9 to S11 of docs/design/neighbours.md.
#pragma once

#include "ns3/ipv4-address.h"
#include "ns3/ipv4-header.h"
#include "ns3/net-device-container.h"
#include "ns3/node-container.h"
#include "ns3/socket.h"
#include "ns3/vector.h"
#include "ns3/wifi-mac-queue.h"
#include "ns3/wifi-mpdu.h"
#include "ns3/wifi-ppdu.h"
#include "ns3/wifi-psdu.h"

#include <ostream>
#include <vector>

namespace airpace
{

/// What one run is. VHT, 80 MHz, one stream, saturated UDP between each station and its access point.
struct NeighboursScenario
{
    std::vector<ns3::Vector> accessPoints;
    std::vector<ns3::Vector> stations; ///< station i belongs to access point i modulo their number
    bool isUplink{false};              ///< whether the stations send, or their access points
    double exponent{3};                ///< of the path loss
    std::vector<double> powersDbm;     ///< of each access point and its stations
    int mcs{7};
    bool rts{false};                   ///< whether RTS precede all data
    bool requests{true};               ///< whether a sender asks for a block ack that it missed
    std::vector<double> startsMs;      ///< when each flow begins, after the agreements have been made
    uint32_t payload{1470};            ///< UDP payload of a packet, bytes
    uint32_t seed{1};
    double warmS{0.5};
    double durationS{4};
};

/// Reads the command line. Ends the program with a message if the flags are invalid.
NeighboursScenario ReadNeighboursScenario(int argc, char* argv[]);

class Neighbours
{
  public:
    explicit Neighbours(const NeighboursScenario& scenario);

    /// Runs the scenario and writes the results.
    void Run(std::ostream& out);

  private:
    /// Saturated UDP to or from one station, and what was counted of it in the window.
    struct Flow
    {
        uint32_t from; ///< number of the radio
        uint32_t to;
        ns3::Ptr<ns3::Socket> socket;
        ns3::Ptr<ns3::WifiMacQueue> queue;
        uint64_t payloadBytes{0};
        uint64_t frames{0};
        uint64_t mpdus{0};
        uint64_t ackedMpdus{0};
        uint64_t unanswered{0}; ///< data frames without an answer
    };

    void BuildNodes();
    void BuildRadios();
    void SetRates();
    void BuildInternet();
    void BuildFlows();
    void Trace(std::size_t flow);
    void MakeAgreement(std::size_t flow);
    void CheckAgreements();
    void Refill(std::size_t flow);
    void SendPacket(std::size_t flow);
    void OnPsdu(std::size_t flow, const ns3::WifiConstPsduMap& psdus);
    void OnTimeout(std::size_t flow, const ns3::WifiMacHeader& header);
    void OnDelivered(const ns3::Ipv4Header& header, ns3::Ptr<const ns3::Packet> packet, uint32_t interface);
    void Write(std::ostream& out, double wallS) const;

    uint32_t AccessPointOf(std::size_t station) const;
    bool InWindow() const;

    NeighboursScenario m_scenario;
    ns3::NodeContainer m_nodes; ///< access points, then stations
    ns3::NetDeviceContainer m_radios;
    std::vector<ns3::Ipv4Address> m_addresses;
    std::vector<Flow> m_flows; ///< one for each station
};

} // namespace airpace
