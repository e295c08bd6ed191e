// The network: an access point, its stations, and the sources.
#pragma once

#include "control.h"
#include "meter.h"
#include "scenario.h"

#include "ns3/ipv4-header.h"
#include "ns3/net-device-container.h"
#include "ns3/node-container.h"
#include "ns3/socket.h"
#include "ns3/wifi-mac.h"
#include "ns3/wifi-ppdu.h"

#include <memory>

namespace airpace
{

class Cell
{
  public:
    explicit Cell(const Scenario& scenario);

    /// Runs the scenario and writes the results.
    void Run(std::ostream& out);

  private:
    /// A source of datagrams at a rate that may change.
    struct Source
    {
        ns3::Ptr<ns3::Socket> socket;
        uint32_t number{0};
        double rate{0}; ///< packets per second
        double phase{0}; ///< time of its first packet as a share of the first gap
        double nextNs{0};
        ns3::EventId event;
    };

    void BuildNodes();
    void BuildRadios();
    void BuildInternet();
    void SetRates();
    void Trace();
    void Start();
    void StartDatagrams();
    void StartDownloads();
    void Stamped(uint32_t station, ns3::Ptr<const ns3::Packet> packet);
    void Listen(ns3::Ptr<ns3::Node> node, uint16_t port);
    void SetRate(std::size_t station, double packetsPerSecond);
    void Send(std::size_t station);
    void Report(std::size_t station);
    void EndSlot();
    void OnPsdu(ns3::WifiConstPsduMap psdus, ns3::WifiTxVector vector, double power);
    void OnDelivered(const ns3::Ipv4Header& header, ns3::Ptr<const ns3::Packet> packet, uint32_t interface);
    void OnOutgoing(const ns3::Ipv4Header& header, ns3::Ptr<const ns3::Packet> packet, uint32_t interface);

    Scenario m_scenario;
    Meter m_meter;
    ns3::NodeContainer m_accessPoint;
    ns3::NodeContainer m_stations;
    ns3::Ptr<ns3::Node> m_server; ///< only with TCP
    ns3::NetDeviceContainer m_radios; ///< that of the access point, then those of the stations
    std::map<ns3::Mac48Address, uint32_t> m_byMac;
    std::map<ns3::Ipv4Address, uint32_t> m_byIp;
    std::vector<ns3::Ipv4Address> m_addresses;
    std::vector<Source> m_sources;
    std::vector<uint32_t> m_segments; ///< of TCP, sent to each station
    std::vector<ns3::Ptr<ns3::Socket>> m_reporters;
    std::unique_ptr<Controller> m_controller;
};

} // namespace airpace
