#include "cell.h"

#include "rates.h"
#include "turns.h"

#include "ns3/bulk-send-helper.h"
#include "ns3/config.h"
#include "ns3/he-phy.h"
#include "ns3/ht-phy.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/ipv4-l3-protocol.h"
#include "ns3/ipv4-static-routing-helper.h"
#include "ns3/mobility-helper.h"
#include "ns3/neighbor-cache-helper.h"
#include "ns3/packet-sink-helper.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/position-allocator.h"
#include "ns3/random-variable-stream.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"
#include "ns3/sta-wifi-mac.h"
#include "ns3/string.h"
#include "ns3/traffic-control-helper.h"
#include "ns3/udp-socket-factory.h"
#include "ns3/uinteger.h"
#include "ns3/vht-phy.h"
#include "ns3/wifi-mac-queue.h"
#include "ns3/wifi-net-device.h"
#include "ns3/wifi-psdu.h"
#include "ns3/yans-wifi-helper.h"

#include <chrono>
#include <iostream>

namespace airpace
{

using namespace ns3;

namespace
{

/// Stations associate before this time; sources start at it.
const Time kStart = Seconds(2);
constexpr uint16_t kPort = 5001;
constexpr uint16_t kReportPort = 5002;
constexpr uint32_t kSegment = 1448;
/// TCP behind the cable: 1 Gbit/s, 10 ms each way.
const char* const kCableRate = "1Gbps";
const char* const kCableDelay = "10ms";
/// Random streams of our own, so that settings do not change each other's draws.
constexpr int64_t kPhaseStream = 1000;
constexpr int64_t kReportStream = 2000;
constexpr int64_t kPlaceStream = 3000;
constexpr int64_t kRadioStream = 10000;

WifiStandard
Standard(const std::string& name)
{
    return name == "n" ? WIFI_STANDARD_80211n : name == "ax" ? WIFI_STANDARD_80211ax : WIFI_STANDARD_80211ac;
}

WifiMode
Mode(const std::string& standard, int mcs)
{
    auto index = static_cast<uint8_t>(mcs);
    return standard == "n" ? HtPhy::GetHtMcs(index) : standard == "ax" ? HePhy::GetHeMcs(index) : VhtPhy::GetVhtMcs(index);
}

double
Uniform(int64_t stream)
{
    auto variable = CreateObject<UniformRandomVariable>();
    variable->SetStream(stream);
    return variable->GetValue();
}

/// Largest A-MPDU that the standard allows.
uint32_t
AmpduBytes(const std::string& standard)
{
    return standard == "n" ? 65535 : standard == "ax" ? 6500631 : 1048575;
}

} // namespace

Cell::Cell(const Scenario& scenario)
    : m_scenario(scenario),
      m_meter(scenario, kStart),
      m_sources(scenario.Stations()),
      m_segments(scenario.Stations())
{
    RngSeedManager::SetRun(scenario.seed);
    BuildNodes();
    BuildRadios();
    BuildInternet();
    Trace();
}

void
Cell::BuildNodes()
{
    m_accessPoint.Create(1);
    m_stations.Create(static_cast<uint32_t>(m_scenario.Stations()));
    auto places = CreateObject<ListPositionAllocator>();
    places->Add(Vector(0, 0, 0));
    for (uint32_t index = 0; index < m_stations.GetN(); ++index)
    {
        double side = m_scenario.squareM;
        auto within = [&](int64_t axis) { return side * (Uniform(kPlaceStream + 2 * index + axis) - 0.5); };
        places->Add(side > 0 ? Vector(within(0), within(1), 0) : Vector(2, 0, 0));
    }
    MobilityHelper mobility;
    mobility.SetPositionAllocator(places);
    mobility.Install(m_accessPoint);
    mobility.Install(m_stations);
}

void
Cell::BuildRadios()
{
    const auto& s = m_scenario;
    WifiHelper wifi;
    wifi.SetStandard(Standard(s.standard));
    wifi.ConfigHtOptions("ShortGuardIntervalSupported", BooleanValue(s.guardNs == 400));
    if (s.standard == "ax")
    {
        wifi.ConfigHeOptions("GuardInterval", TimeValue(NanoSeconds(s.guardNs)));
    }
    wifi.SetRemoteStationManager(s.minstrel ? "ns3::MinstrelHtWifiManager" : "airpace::StationRates");

    YansWifiPhyHelper phy;
    phy.SetChannel(YansWifiChannelHelper::Default().Create());
    auto streams = static_cast<uint64_t>(*std::max_element(s.streams.begin(), s.streams.end()));
    phy.Set("ChannelSettings", StringValue("{0, " + std::to_string(s.widthMhz) + ", BAND_5GHZ, 0}"));
    phy.Set("Antennas", UintegerValue(streams));
    phy.Set("MaxSupportedTxSpatialStreams", UintegerValue(streams));
    phy.Set("MaxSupportedRxSpatialStreams", UintegerValue(streams));

    WifiMacHelper mac;
    const UintegerValue bytes(AmpduBytes(s.standard)), window(s.longest);
    mac.SetType("ns3::ApWifiMac", "BE_MaxAmpduSize", bytes, "MpduBufferSize", window);
    if (s.order == Order::RoundRobin)
    {
        mac.SetMacQueueScheduler("airpace::Turns", "PerStation", UintegerValue(s.queuePerStation ? s.queuePackets : 0));
    }
    m_radios.Add(wifi.Install(phy, mac, m_accessPoint));
    mac.SetType("ns3::StaWifiMac", "BE_MaxAmpduSize", bytes, "MpduBufferSize", window);
    m_radios.Add(wifi.Install(phy, mac, m_stations));
    WifiHelper::AssignStreams(m_radios, kRadioStream);

    auto queue = DynamicCast<WifiNetDevice>(m_radios.Get(0))->GetMac()->GetTxopQueue(AC_BE);
    auto limit = s.queuePerStation ? s.queuePackets * m_stations.GetN() : s.queuePackets;
    queue->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, limit));
    // By default ns-3 drops packets that are older than 500 ms.
    queue->SetMaxDelay(Seconds(1000));
    SetRates();
}

void
Cell::SetRates()
{
    auto accessPoint = DynamicCast<WifiNetDevice>(m_radios.Get(0));
    auto accessPointMac = Mac48Address::ConvertFrom(accessPoint->GetAddress());
    for (uint32_t index = 0; index < m_stations.GetN(); ++index)
    {
        auto station = DynamicCast<WifiNetDevice>(m_radios.Get(index + 1));
        auto mac = Mac48Address::ConvertFrom(station->GetAddress());
        m_byMac[mac] = index;
        if (m_scenario.minstrel)
        {
            continue;
        }
        auto mode = Mode(m_scenario.standard, m_scenario.mcs[index]);
        auto streams = static_cast<uint8_t>(m_scenario.streams[index]);
        DynamicCast<StationRates>(accessPoint->GetRemoteStationManager())->SetRate(mac, mode, streams);
        DynamicCast<StationRates>(station->GetRemoteStationManager())->SetRate(accessPointMac, mode, streams);
    }
}

void
Cell::BuildInternet()
{
    InternetStackHelper internet;
    internet.Install(m_accessPoint);
    internet.Install(m_stations);
    Ipv4AddressHelper addresses("10.1.0.0", "255.255.0.0");
    auto interfaces = addresses.Assign(m_radios);
    // Without a queueing discipline, packets that do not fit the MAC's queue are dropped.
    TrafficControlHelper().Uninstall(m_radios);
    for (uint32_t index = 0; index < m_stations.GetN(); ++index)
    {
        m_addresses.push_back(interfaces.GetAddress(index + 1));
        m_byIp[m_addresses.back()] = index;
    }
    if (m_scenario.traffic != Traffic::Udp)
    {
        m_server = CreateObject<Node>();
        internet.Install(m_server);
        PointToPointHelper cable;
        cable.SetDeviceAttribute("DataRate", StringValue(kCableRate));
        cable.SetChannelAttribute("Delay", StringValue(kCableDelay));
        // So long that the access point is the bottleneck, not the server's own queue.
        cable.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("100000p"));
        auto ends = cable.Install(m_accessPoint.Get(0), m_server);
        addresses.SetBase("10.2.0.0", "255.255.255.0");
        auto wired = addresses.Assign(ends);
        TrafficControlHelper().Uninstall(ends);
        Ipv4StaticRoutingHelper routing;
        routing.GetStaticRouting(m_server->GetObject<Ipv4>())->SetDefaultRoute(wired.GetAddress(0), 1);
        for (uint32_t index = 0; index < m_stations.GetN(); ++index)
        {
            auto station = m_stations.Get(index)->GetObject<Ipv4>();
            routing.GetStaticRouting(station)->SetDefaultRoute(interfaces.GetAddress(0), 1);
        }
    }
    NeighborCacheHelper().PopulateNeighborCache();
}

void
Cell::Trace()
{
    auto accessPoint = DynamicCast<WifiNetDevice>(m_radios.Get(0));
    accessPoint->GetPhy()->TraceConnectWithoutContext("PhyTxPsduBegin", MakeCallback(&Cell::OnPsdu, this));
    auto mac = accessPoint->GetMac();
    mac->GetTxopQueue(AC_BE)->TraceConnectWithoutContext(
        "PacketsInQueue",
        Callback<void, uint32_t, uint32_t>([this](uint32_t, uint32_t now) { m_meter.OnQueue(now); }));
    using Timeout = Callback<void, uint8_t, Ptr<const WifiPsdu>, const WifiTxVector&>;
    mac->TraceConnectWithoutContext(
        "PsduResponseTimeout",
        Timeout([this](uint8_t, Ptr<const WifiPsdu>, const WifiTxVector&) { m_meter.OnTimeout(); }));
    using MpduTimeout = Callback<void, uint8_t, Ptr<const WifiMpdu>, const WifiTxVector&>;
    mac->TraceConnectWithoutContext(
        "MpduResponseTimeout",
        MpduTimeout([this](uint8_t, Ptr<const WifiMpdu>, const WifiTxVector&) { m_meter.OnTimeout(); }));
    using Drop = Callback<void, WifiMacDropReason, Ptr<const WifiMpdu>>;
    mac->TraceConnectWithoutContext("DroppedMpdu", Drop([this](WifiMacDropReason reason, Ptr<const WifiMpdu>) {
                                        m_meter.OnDropped(reason == WIFI_MAC_DROP_FAILED_ENQUEUE);
                                    }));
    for (uint32_t index = 0; index < m_stations.GetN(); ++index)
    {
        m_stations.Get(index)->GetObject<Ipv4L3Protocol>()->TraceConnectWithoutContext(
            "LocalDeliver",
            MakeCallback(&Cell::OnDelivered, this));
    }
    if (m_server)
    {
        m_server->GetObject<Ipv4L3Protocol>()->TraceConnectWithoutContext("SendOutgoing",
                                                                          MakeCallback(&Cell::OnOutgoing, this));
    }
}

void
Cell::OnPsdu(WifiConstPsduMap psdus, WifiTxVector vector, double)
{
    auto psdu = psdus.begin()->second;
    const auto& header = psdu->GetHeader(0);
    auto station = m_byMac.find(header.GetAddr1());
    if (!header.IsQosData() || !header.HasData() || station == m_byMac.end())
    {
        return;
    }
    uint32_t retries = 0;
    for (const auto& mpdu : *psdu)
    {
        retries += mpdu->GetHeader().IsRetry();
    }
    auto mpdus = static_cast<uint32_t>(psdu->GetNMpdus());
    auto start = Simulator::Now();
    auto end = start + WifiPhy::CalculateTxDuration(psdus, vector, WIFI_PHY_BAND_5GHZ);
    auto rate = static_cast<double>(vector.GetMode().GetDataRate(vector));
    m_meter.OnFrame({station->second, start.GetNanoSeconds(), end.GetNanoSeconds(), mpdus, retries, rate});
}

void
Cell::OnDelivered(const Ipv4Header& header, Ptr<const Packet> packet, uint32_t)
{
    Stamp stamp;
    if (packet->PeekPacketTag(stamp))
    {
        // TCP's header has 32 bytes with timestamps.
        uint32_t headers = header.GetProtocol() == 6 ? 32 : 8;
        m_meter.OnReceived(stamp, std::max(packet->GetSize(), headers) - headers);
    }
}

void
Cell::OnOutgoing(const Ipv4Header& header, Ptr<const Packet> packet, uint32_t)
{
    auto station = m_byIp.find(header.GetDestination());
    if (station != m_byIp.end() && packet->GetSize() > kSegment)
    {
        Stamped(station->second, packet);
    }
}

void
Cell::Stamped(uint32_t station, Ptr<const Packet> packet)
{
    Stamp stamp;
    stamp.station = station;
    stamp.number = m_segments[station]++;
    stamp.sentNs = Simulator::Now().GetNanoSeconds();
    packet->AddPacketTag(stamp);
    m_meter.OnSent(stamp);
}

void
Cell::Start()
{
    for (uint32_t index = 0; index < m_stations.GetN(); ++index)
    {
        auto mac = DynamicCast<StaWifiMac>(DynamicCast<WifiNetDevice>(m_radios.Get(index + 1))->GetMac());
        if (!mac->IsAssociated())
        {
            std::cerr << "error: station " << index << " has not associated" << std::endl;
            std::exit(1);
        }
    }
    if (m_scenario.traffic == Traffic::Udp)
    {
        StartDatagrams();
    }
}

void
Cell::StartDatagrams()
{
    for (std::size_t index = 0; index < m_sources.size(); ++index)
    {
        auto& source = m_sources[index];
        source.socket = Socket::CreateSocket(m_accessPoint.Get(0), UdpSocketFactory::GetTypeId());
        source.socket->Connect(InetSocketAddress(m_addresses[index], kPort));
        Listen(m_stations.Get(static_cast<uint32_t>(index)), kPort);
        const auto& phases = m_scenario.phases;
        source.phase = phases.empty() ? Uniform(kPhaseStream + static_cast<int64_t>(index)) : phases[index];
    }
    if (m_scenario.control.empty())
    {
        for (std::size_t index = 0; index < m_sources.size(); ++index)
        {
            SetRate(index, m_scenario.rates[index] * 1e6 / (8.0 * m_scenario.payload));
        }
        return;
    }
    Listen(m_accessPoint.Get(0), kReportPort);
    m_controller = std::make_unique<Controller>(m_scenario.control);
    EndSlot();
    for (std::size_t index = 0; index < m_sources.size() && m_scenario.reportBytes > 0; ++index)
    {
        auto socket = Socket::CreateSocket(m_stations.Get(static_cast<uint32_t>(index)), UdpSocketFactory::GetTypeId());
        auto accessPoint = m_accessPoint.Get(0)->GetObject<Ipv4>()->GetAddress(1, 0).GetLocal();
        socket->Connect(InetSocketAddress(accessPoint, kReportPort));
        m_reporters.push_back(socket);
        auto phase = Seconds(m_scenario.slotS * Uniform(kReportStream + static_cast<int64_t>(index)));
        Simulator::Schedule(phase, &Cell::Report, this, index);
    }
}

void
Cell::StartDownloads()
{
    if (m_scenario.traffic == Traffic::Udp)
    {
        return;
    }
    for (uint32_t index = 0; index < m_stations.GetN(); ++index)
    {
        InetSocketAddress to(m_addresses[index], kPort);
        PacketSinkHelper sink("ns3::TcpSocketFactory", to);
        sink.Install(m_stations.Get(index)).Start(Seconds(0));
        BulkSendHelper source("ns3::TcpSocketFactory", to);
        source.SetAttribute("SendSize", UintegerValue(kSegment));
        source.Install(m_server).Start(kStart);
    }
}

void
Cell::Listen(Ptr<Node> node, uint16_t port)
{
    // Nobody reads from this socket: the packets are counted below it, and its buffer drops the excess. Without a socket the
    // host would answer each datagram with "port unreachable".
    auto socket = Socket::CreateSocket(node, UdpSocketFactory::GetTypeId());
    socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), port));
}

void
Cell::SetRate(std::size_t index, double packetsPerSecond)
{
    auto& source = m_sources[index];
    auto now = static_cast<double>(Simulator::Now().GetNanoSeconds());
    bool isNew = source.rate == 0;
    double waited = isNew ? 0 : 1 - (source.nextNs - now) * source.rate * 1e-9;
    source.rate = std::max(packetsPerSecond, 1e-3);
    // When the rate changes, the elapsed share of the gap stays the same.
    double left = isNew ? source.phase : 1 - waited;
    source.nextNs = now + left / source.rate * 1e9;
    source.event.Cancel();
    source.event = Simulator::Schedule(NanoSeconds(static_cast<int64_t>(source.nextNs - now)), &Cell::Send, this, index);
}

void
Cell::Send(std::size_t index)
{
    auto& source = m_sources[index];
    auto packet = Create<Packet>(m_scenario.payload);
    Stamp stamp;
    stamp.station = static_cast<uint32_t>(index);
    stamp.number = source.number++;
    stamp.sentNs = Simulator::Now().GetNanoSeconds();
    packet->AddPacketTag(stamp);
    m_meter.OnSent(stamp);
    source.socket->Send(packet);
    source.nextNs += 1e9 / source.rate;
    auto wait = static_cast<int64_t>(source.nextNs) - stamp.sentNs;
    source.event = Simulator::Schedule(NanoSeconds(std::max<int64_t>(wait, 0)), &Cell::Send, this, index);
}

void
Cell::Report(std::size_t index)
{
    m_reporters[index]->Send(Create<Packet>(m_scenario.reportBytes));
    Simulator::Schedule(Seconds(m_scenario.slotS), &Cell::Report, this, index);
}

void
Cell::EndSlot()
{
    auto now = (Simulator::Now() - kStart).GetDouble() * 1e-3;
    auto rates = m_controller->Decide(now, m_scenario.slotS * 1e6, m_meter.CloseSlot());
    for (std::size_t index = 0; index < rates.size(); ++index)
    {
        SetRate(index, rates[index]);
    }
    Simulator::Schedule(Seconds(m_scenario.slotS), &Cell::EndSlot, this);
}

void
Cell::Run(std::ostream& out)
{
    StartDownloads();
    Simulator::Schedule(kStart, &Cell::Start, this);
    Simulator::Stop(kStart + Seconds(m_scenario.warmS + m_scenario.durationS + m_scenario.drainS));
    auto begin = std::chrono::steady_clock::now();
    Simulator::Run();
    std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    m_meter.Write(out, wall.count(), Simulator::GetEventCount());
    Simulator::Destroy();
}

} // namespace airpace
