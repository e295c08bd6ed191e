#include "meter.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace airpace
{

using namespace ns3;

namespace
{

constexpr uint32_t kIpUdpHeaders = 28;

int64_t
Now()
{
    return Simulator::Now().GetNanoSeconds();
}

double
Seconds(int64_t ns)
{
    return static_cast<double>(ns) * 1e-9;
}

} // namespace

NS_OBJECT_ENSURE_REGISTERED(Stamp);

TypeId
Stamp::GetTypeId()
{
    static TypeId id = TypeId("airpace::Stamp").SetParent<Tag>().AddConstructor<Stamp>();
    return id;
}

TypeId
Stamp::GetInstanceTypeId() const
{
    return GetTypeId();
}

uint32_t
Stamp::GetSerializedSize() const
{
    return 16;
}

void
Stamp::Serialize(TagBuffer buffer) const
{
    buffer.WriteU32(station);
    buffer.WriteU32(number);
    buffer.WriteU64(static_cast<uint64_t>(sentNs));
}

void
Stamp::Deserialize(TagBuffer buffer)
{
    station = buffer.ReadU32();
    number = buffer.ReadU32();
    sentNs = static_cast<int64_t>(buffer.ReadU64());
}

void
Stamp::Print(std::ostream& out) const
{
    out << station << ':' << number;
}

void
Delays::Write(std::ostream& out) const
{
    if (m_values.empty())
    {
        out << "null";
        return;
    }
    auto sorted = m_values;
    std::sort(sorted.begin(), sorted.end());
    auto quantile = [&](double q) { return sorted[static_cast<std::size_t>(q * static_cast<double>(sorted.size() - 1))]; };
    double mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(sorted.size());
    out << "{\"mean\":" << mean << ",\"p50\":" << quantile(0.5) << ",\"p95\":" << quantile(0.95)
        << ",\"p99\":" << quantile(0.99) << ",\"min\":" << sorted.front() << ",\"max\":" << sorted.back() << "}";
}

void
Moments::Add(double value)
{
    ++m_count;
    m_sum += value;
    m_squares += value * value;
}

void
Moments::Append(const Moments& other)
{
    m_count += other.m_count;
    m_sum += other.m_sum;
    m_squares += other.m_squares;
}

double
Moments::Mean() const
{
    return m_count > 0 ? m_sum / static_cast<double>(m_count) : 0;
}

double
Moments::Deviation() const
{
    return m_count > 0 ? std::sqrt(std::max(0.0, m_squares / static_cast<double>(m_count) - Mean() * Mean())) : 0;
}

Meter::Meter(const Scenario& scenario, Time start)
    : m_stations(scenario.Stations()),
      m_ipBytes(scenario.payload + kIpUdpHeaders),
      m_beginNs((start + ns3::Seconds(scenario.warmS)).GetNanoSeconds()),
      m_endNs((start + ns3::Seconds(scenario.warmS + scenario.durationS)).GetNanoSeconds()),
      m_queueSinceNs(m_beginNs)
{
}

void
Meter::OnSent(Stamp stamp)
{
    auto& station = m_stations.at(stamp.station);
    station.sent += InWindow(stamp.sentNs);
    ++station.slot.sentPackets;
    station.slot.sentBytes += m_ipBytes;
}

void
Meter::OnReceived(const Stamp& stamp, uint32_t payload)
{
    auto& station = m_stations.at(stamp.station);
    ++m_receivedAll;
    station.slot.bytes += payload + kIpUdpHeaders;
    // Receivers deliver packets in order, so a gap is a loss.
    station.slot.lost += std::max(stamp.number, station.expected) - station.expected;
    station.expected = std::max(station.expected, stamp.number + 1);
    if (InWindow(Now()))
    {
        station.payloadBytes += payload;
    }
    if (InWindow(stamp.sentNs))
    {
        ++station.receivedOfSent;
        auto since = [&](int64_t ns) { return Seconds(ns - stamp.sentNs) * 1e3; };
        station.toMpdu.Add(since(Now()));
        station.toPpdu.Add(since(std::max(station.last.endNs, Now() - 1000)));
        station.toStart.Add(since(station.last.startNs));
    }
}

void
Meter::OnFrame(const Frame& frame)
{
    auto& station = m_stations.at(frame.station);
    Report(station, Now());
    station.last = frame;
    station.isLastReported = false;
    if (InWindow(frame.startNs))
    {
        station.level.Add(frame.mpdus);
        station.airtimeNs += frame.endNs - frame.startNs;
        station.mpdusSent += frame.mpdus;
    }
}

void
Meter::OnQueue(uint32_t packets)
{
    int64_t now = std::clamp(Now(), m_beginNs, m_endNs);
    m_queueIntegral += m_queue * Seconds(now - m_queueSinceNs);
    m_queueSinceNs = now;
    m_queue = packets;
    if (InWindow(Now()))
    {
        m_queueMax = std::max(m_queueMax, packets);
    }
}

void
Meter::OnTimeout()
{
    m_timeouts += InWindow(Now());
}

void
Meter::OnDropped(bool atEntry)
{
    (atEntry ? m_entryDrops : m_airDrops) += InWindow(Now());
}

void
Meter::Report(Station& station, int64_t nowNs)
{
    const Frame& frame = station.last;
    if (station.isLastReported || frame.endNs > nowNs)
    {
        return;
    }
    station.isLastReported = true;
    auto& slot = station.slot;
    slot.late += frame.retries;
    // A frame of retransmissions alone repeats a frame that was counted.
    if (frame.retries == frame.mpdus)
    {
        return;
    }
    double endUs = static_cast<double>(frame.endNs) * 1e-3;
    if (slot.frames == 0)
    {
        slot.firstUs = endUs;
    }
    slot.lastUs = endUs;
    ++slot.frames;
    slot.packets += frame.mpdus - frame.retries;
    slot.inverseRateSum += 1 / frame.rateBps;
}

std::vector<SlotReport>
Meter::CloseSlot()
{
    std::vector<SlotReport> reports;
    for (auto& station : m_stations)
    {
        Report(station, Now());
        reports.push_back(station.slot);
        station.slot = {};
    }
    return reports;
}

void
Meter::WriteStation(std::ostream& out, const Station& station) const
{
    double durationS = Seconds(m_endNs - m_beginNs);
    out << "{\"goodput_mbps\":" << static_cast<double>(station.payloadBytes) * 8e-6 / durationS
        << ",\"sent\":" << station.sent << ",\"received\":" << station.receivedOfSent
        << ",\"lost\":" << (std::max(station.sent, station.receivedOfSent) - station.receivedOfSent)
        << ",\"level\":" << station.level.Mean() << ",\"level_std\":" << station.level.Deviation()
        << ",\"frames\":" << station.level.Count() << ",\"mpdus_sent\":" << station.mpdusSent
        << ",\"airtime\":" << Seconds(station.airtimeNs) / durationS << ",\"delay_ms\":";
    station.toPpdu.Write(out);
    out << ",\"mpdu_delay_ms\":";
    station.toMpdu.Write(out);
    out << ",\"start_delay_ms\":";
    station.toStart.Write(out);
    out << "}";
}

void
Meter::Write(std::ostream& out, double wallS, uint64_t events)
{
    OnQueue(m_queue);
    Station all;
    out << "{\"stations\":[";
    for (std::size_t index = 0; index < m_stations.size(); ++index)
    {
        const auto& station = m_stations[index];
        out << (index > 0 ? ",\n " : "\n ");
        WriteStation(out, station);
        all.sent += station.sent;
        all.receivedOfSent += station.receivedOfSent;
        all.payloadBytes += station.payloadBytes;
        all.airtimeNs += station.airtimeNs;
        all.mpdusSent += station.mpdusSent;
        all.level.Append(station.level);
        all.toMpdu.Append(station.toMpdu);
        all.toPpdu.Append(station.toPpdu);
        all.toStart.Append(station.toStart);
    }
    out << "],\n\"totals\":";
    WriteStation(out, all);
    out << ",\n\"queue_mean\":" << m_queueIntegral / Seconds(m_endNs - m_beginNs) << ",\"queue_max\":" << m_queueMax
        << ",\"timeouts\":" << m_timeouts << ",\"entry_drops\":" << m_entryDrops << ",\"air_drops\":" << m_airDrops
        << ",\"wall_s\":" << wallS << ",\"received_packets\":" << m_receivedAll
        << ",\"packets_per_wall_s\":" << static_cast<double>(m_receivedAll) / wallS << ",\"events\":" << events << "}\n";
}

} // namespace airpace
