#include "neighbours.h"

#include "meter.h"
#include "rates.h"

#include "ns3/boolean.h"
#include "ns3/config.h"
#include "ns3/double.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/ipv4-l3-protocol.h"
#include "ns3/mobility-helper.h"
#include "ns3/neighbor-cache-helper.h"
#include "ns3/position-allocator.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"
#include "ns3/sta-wifi-mac.h"
#include "ns3/string.h"
#include "ns3/traffic-control-helper.h"
#include "ns3/udp-socket-factory.h"
#include "ns3/uinteger.h"
#include "ns3/vht-phy.h"
#include "ns3/wifi-net-device.h"
#include "ns3/yans-wifi-helper.h"

#include <chrono>
#include <iostream>

namespace airpace
{

using namespace ns3;

namespace
{

/// Stations associate before the first time, agree on block acks before the second, and contend from it on.
const Time kAgree = Seconds(1.5);
const Time kStart = Seconds(2);
/// Agreements are made one after another, so that they do not collide.
const Time kAgreementGap = MilliSeconds(10);
constexpr uint16_t kPort = 5001;
/// Packets that a sender's queue is filled up to, and how often. It never runs empty: a frame holds at most 64.
constexpr uint32_t kFull = 192;
const Time kRefill = MicroSeconds(500);
constexpr int64_t kRadioStream = 10000;

Ptr<WifiNetDevice>
Radio(const NetDeviceContainer& radios, uint32_t number)
{
    return DynamicCast<WifiNetDevice>(radios.Get(number));
}

Mac48Address
Address(const NetDeviceContainer& radios, uint32_t number)
{
    return Mac48Address::ConvertFrom(radios.Get(number)->GetAddress());
}

} // namespace

Neighbours::Neighbours(const NeighboursScenario& scenario)
    : m_scenario(scenario)
{
    RngSeedManager::SetRun(scenario.seed);
    Config::SetDefault("ns3::QosTxop::UseExplicitBarAfterMissedBlockAck", BooleanValue(scenario.requests));
    if (scenario.rts)
    {
        Config::SetDefault("ns3::WifiRemoteStationManager::RtsCtsThreshold", UintegerValue(0));
    }
    BuildNodes();
    BuildRadios();
    BuildInternet();
    BuildFlows();
}

uint32_t
Neighbours::AccessPointOf(std::size_t station) const
{
    return static_cast<uint32_t>(station % m_scenario.accessPoints.size());
}

bool
Neighbours::InWindow() const
{
    auto begin = kStart + Seconds(m_scenario.warmS);
    return Simulator::Now() >= begin && Simulator::Now() < begin + Seconds(m_scenario.durationS);
}

void
Neighbours::BuildNodes()
{
    auto places = CreateObject<ListPositionAllocator>();
    for (const auto* some : {&m_scenario.accessPoints, &m_scenario.stations})
    {
        for (const auto& place : *some)
        {
            places->Add(place);
        }
    }
    m_nodes.Create(places->GetSize());
    MobilityHelper mobility;
    mobility.SetPositionAllocator(places);
    mobility.Install(m_nodes);
}

void
Neighbours::BuildRadios()
{
    const auto& s = m_scenario;
    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211ac);
    wifi.SetRemoteStationManager("airpace::StationRates");
    YansWifiChannelHelper air;
    air.SetPropagationDelay("ns3::ConstantSpeedPropagationDelayModel");
    air.AddPropagationLoss("ns3::LogDistancePropagationLossModel", "Exponent", DoubleValue(s.exponent));
    YansWifiPhyHelper phy;
    phy.SetChannel(air.Create());
    phy.Set("ChannelSettings", StringValue("{0, 80, BAND_5GHZ, 0}"));
    auto cells = static_cast<uint32_t>(s.accessPoints.size());
    for (uint32_t radio = 0; radio < m_nodes.GetN(); ++radio)
    {
        auto isAccessPoint = radio < cells;
        auto cell = isAccessPoint ? radio : AccessPointOf(radio - cells);
        const DoubleValue power(s.powersDbm[cell]);
        phy.Set("TxPowerStart", power);
        phy.Set("TxPowerEnd", power);
        WifiMacHelper mac;
        const SsidValue ssid(Ssid("cell" + std::to_string(cell)));
        const UintegerValue bytes(1048575);
        if (isAccessPoint)
        {
            mac.SetType("ns3::ApWifiMac", "Ssid", ssid, "BE_MaxAmpduSize", bytes);
        }
        else
        {
            // A station whose beacons are drowned stays associated.
            const UintegerValue beacons(1000000);
            mac.SetType("ns3::StaWifiMac", "Ssid", ssid, "BE_MaxAmpduSize", bytes, "MaxMissedBeacons", beacons);
        }
        m_radios.Add(wifi.Install(phy, mac, m_nodes.Get(radio)));
        auto queue = Radio(m_radios, radio)->GetMac()->GetTxopQueue(AC_BE);
        queue->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, 1000));
        // By default ns-3 drops packets that are older than 500 ms.
        queue->SetMaxDelay(Seconds(1000));
    }
    WifiHelper::AssignStreams(m_radios, kRadioStream);
    SetRates();
}

void
Neighbours::SetRates()
{
    auto mode = VhtPhy::GetVhtMcs(static_cast<uint8_t>(m_scenario.mcs));
    auto cells = static_cast<uint32_t>(m_scenario.accessPoints.size());
    for (uint32_t station = cells; station < m_radios.GetN(); ++station)
    {
        auto accessPoint = AccessPointOf(station - cells);
        for (auto [from, to] : {std::pair(accessPoint, station), std::pair(station, accessPoint)})
        {
            auto rates = DynamicCast<StationRates>(Radio(m_radios, from)->GetRemoteStationManager());
            rates->SetRate(Address(m_radios, to), mode, 1);
        }
    }
}

void
Neighbours::BuildInternet()
{
    InternetStackHelper internet;
    internet.Install(m_nodes);
    Ipv4AddressHelper addresses("10.1.0.0", "255.255.0.0");
    auto interfaces = addresses.Assign(m_radios);
    TrafficControlHelper().Uninstall(m_radios);
    for (uint32_t radio = 0; radio < m_radios.GetN(); ++radio)
    {
        m_addresses.push_back(interfaces.GetAddress(radio));
    }
    NeighborCacheHelper().PopulateNeighborCache();
}

void
Neighbours::BuildFlows()
{
    auto cells = m_scenario.accessPoints.size();
    for (uint32_t radio = 0; radio < m_nodes.GetN(); ++radio)
    {
        // Nobody reads from this socket; without it the host would answer each datagram with "port unreachable".
        auto socket = Socket::CreateSocket(m_nodes.Get(radio), UdpSocketFactory::GetTypeId());
        socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), kPort));
        m_nodes.Get(radio)->GetObject<Ipv4L3Protocol>()->TraceConnectWithoutContext(
            "LocalDeliver",
            MakeCallback(&Neighbours::OnDelivered, this));
    }
    for (std::size_t index = 0; index < m_scenario.stations.size(); ++index)
    {
        auto station = static_cast<uint32_t>(cells + index);
        auto accessPoint = AccessPointOf(index);
        Flow flow{m_scenario.isUplink ? station : accessPoint, m_scenario.isUplink ? accessPoint : station};
        flow.socket = Socket::CreateSocket(m_nodes.Get(flow.from), UdpSocketFactory::GetTypeId());
        flow.socket->Connect(InetSocketAddress(m_addresses[flow.to], kPort));
        flow.queue = Radio(m_radios, flow.from)->GetMac()->GetTxopQueue(AC_BE);
        m_flows.push_back(flow);
        Trace(index);
    }
}

void
Neighbours::Trace(std::size_t index)
{
    auto radio = Radio(m_radios, m_flows[index].from);
    using Begin = Callback<void, WifiConstPsduMap, WifiTxVector, double>;
    radio->GetPhy()->TraceConnectWithoutContext(
        "PhyTxPsduBegin",
        Begin([this, index](WifiConstPsduMap psdus, WifiTxVector, double) { OnPsdu(index, psdus); }));
    using Acked = Callback<void, Ptr<const WifiMpdu>>;
    auto mac = radio->GetMac();
    mac->TraceConnectWithoutContext("AckedMpdu", Acked([this, index](Ptr<const WifiMpdu> mpdu) {
                                        auto isOurs = mpdu->GetHeader().GetAddr1() == Address(m_radios, m_flows[index].to);
                                        m_flows[index].ackedMpdus += isOurs && mpdu->GetHeader().IsQosData() && InWindow();
                                    }));
    using Timeout = Callback<void, uint8_t, Ptr<const WifiPsdu>, const WifiTxVector&>;
    mac->TraceConnectWithoutContext("PsduResponseTimeout",
                                    Timeout([this, index](uint8_t, Ptr<const WifiPsdu> psdu, const WifiTxVector&) {
                                        OnTimeout(index, psdu->GetHeader(0));
                                    }));
    using MpduTimeout = Callback<void, uint8_t, Ptr<const WifiMpdu>, const WifiTxVector&>;
    mac->TraceConnectWithoutContext("MpduResponseTimeout",
                                    MpduTimeout([this, index](uint8_t, Ptr<const WifiMpdu> mpdu, const WifiTxVector&) {
                                        OnTimeout(index, mpdu->GetHeader());
                                    }));
}

void
Neighbours::OnPsdu(std::size_t index, const WifiConstPsduMap& psdus)
{
    auto psdu = psdus.begin()->second;
    const auto& header = psdu->GetHeader(0);
    auto& flow = m_flows[index];
    if (InWindow() && header.IsQosData() && header.HasData() && header.GetAddr1() == Address(m_radios, flow.to))
    {
        ++flow.frames;
        flow.mpdus += psdu->GetNMpdus();
    }
}

void
Neighbours::OnTimeout(std::size_t index, const WifiMacHeader& header)
{
    auto& flow = m_flows[index];
    flow.unanswered += InWindow() && header.IsQosData() && header.GetAddr1() == Address(m_radios, flow.to);
}

void
Neighbours::OnDelivered(const Ipv4Header&, Ptr<const Packet> packet, uint32_t)
{
    Stamp stamp;
    if (packet->PeekPacketTag(stamp) && InWindow())
    {
        m_flows[stamp.station].payloadBytes += m_scenario.payload;
    }
}

void
Neighbours::MakeAgreement(std::size_t index)
{
    // ns-3 asks for an agreement if more than one packet waits.
    for (int packet = 0; packet < 3; ++packet)
    {
        SendPacket(index);
    }
}

void
Neighbours::CheckAgreements()
{
    for (std::size_t index = 0; index < m_flows.size(); ++index)
    {
        const auto& flow = m_flows[index];
        auto mac = Radio(m_radios, flow.from)->GetMac();
        if (!mac->GetBaAgreementEstablishedAsOriginator(Address(m_radios, flow.to), 0))
        {
            std::cerr << "error: flow " << index << " has no block-ack agreement" << std::endl;
            std::exit(1);
        }
    }
}

void
Neighbours::SendPacket(std::size_t index)
{
    auto packet = Create<Packet>(m_scenario.payload);
    Stamp stamp;
    stamp.station = static_cast<uint32_t>(index);
    packet->AddPacketTag(stamp);
    m_flows[index].socket->Send(packet);
}

void
Neighbours::Refill(std::size_t index)
{
    while (m_flows[index].queue->GetNPackets() < kFull)
    {
        SendPacket(index);
    }
    Simulator::Schedule(kRefill, &Neighbours::Refill, this, index);
}

void
Neighbours::Run(std::ostream& out)
{
    for (std::size_t index = 0; index < m_flows.size(); ++index)
    {
        auto turn = static_cast<int64_t>(index);
        Simulator::Schedule(kAgree + turn * kAgreementGap, &Neighbours::MakeAgreement, this, index);
        Simulator::Schedule(kStart + Seconds(m_scenario.startsMs[index] * 1e-3), &Neighbours::Refill, this, index);
    }
    Simulator::Schedule(kStart, &Neighbours::CheckAgreements, this);
    Simulator::Stop(kStart + Seconds(m_scenario.warmS + m_scenario.durationS));
    auto begin = std::chrono::steady_clock::now();
    Simulator::Run();
    std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    Write(out, wall.count());
    Simulator::Destroy();
}

void
Neighbours::Write(std::ostream& out, double wallS) const
{
    auto share = [](uint64_t part, uint64_t whole) {
        return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
    };
    out << "{\"flows\":[";
    for (const auto& flow : m_flows)
    {
        out << (&flow == &m_flows.front() ? "\n " : ",\n ") << "{\"goodput_mbps\":"
            << static_cast<double>(flow.payloadBytes) * 8e-6 / m_scenario.durationS << ",\"frames\":" << flow.frames
            << ",\"level\":" << share(flow.mpdus, flow.frames)
            << ",\"mpdu_fail_share\":" << 1 - share(std::min(flow.ackedMpdus, flow.mpdus), flow.mpdus)
            << ",\"no_answer_share\":" << share(flow.unanswered, flow.frames) << "}";
    }
    out << "],\n\"wall_s\":" << wallS << "}\n";
}

} // namespace airpace
