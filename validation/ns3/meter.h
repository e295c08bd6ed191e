// Measurements: frames on the air, packets received, the access point's queue.
#pragma once

#include "control.h"
#include "scenario.h"

#include "ns3/nstime.h"
#include "ns3/tag.h"

#include <ostream>
#include <vector>

namespace airpace
{

/// A tag on a packet: its station, its number and the time at which it was sent.
class Stamp : public ns3::Tag
{
  public:
    uint32_t station{0};
    uint32_t number{0};
    int64_t sentNs{0};

    static ns3::TypeId GetTypeId();
    ns3::TypeId GetInstanceTypeId() const override;
    uint32_t GetSerializedSize() const override;
    void Serialize(ns3::TagBuffer buffer) const override;
    void Deserialize(ns3::TagBuffer buffer) override;
    void Print(std::ostream& out) const override;
};

/// A data PPDU of the access point.
struct Frame
{
    uint32_t station;
    int64_t startNs;
    int64_t endNs;
    uint32_t mpdus;
    uint32_t retries; ///< MPDUs that had been sent before
    double rateBps;
};

/// Delays in ms.
class Delays
{
  public:
    void Add(double ms) { m_values.push_back(static_cast<float>(ms)); }

    void Append(const Delays& other) { m_values.insert(m_values.end(), other.m_values.begin(), other.m_values.end()); }

    /// Writes mean and quantiles as a JSON object; null without values.
    void Write(std::ostream& out) const;

  private:
    std::vector<float> m_values;
};

/// A mean and a standard deviation.
class Moments
{
  public:
    void Add(double value);
    void Append(const Moments& other);
    double Mean() const;
    double Deviation() const;

    uint64_t Count() const { return m_count; }

  private:
    uint64_t m_count{0};
    double m_sum{0};
    double m_squares{0};
};

class Meter
{
  public:
    Meter(const Scenario& scenario, ns3::Time start);

    void OnSent(Stamp stamp);
    /// Counts a packet of `payload` bytes that its station delivered.
    void OnReceived(const Stamp& stamp, uint32_t payload);
    void OnFrame(const Frame& frame);
    void OnQueue(uint32_t packets);
    void OnTimeout();
    void OnDropped(bool atEntry);

    /// Returns the reports of the slot that ends now, and begins the next.
    std::vector<SlotReport> CloseSlot();

    /// All measurements as one JSON object. `wallS` is the wall time of the simulation, `events` the number of its events.
    void Write(std::ostream& out, double wallS, uint64_t events);

  private:
    struct Station
    {
        uint64_t sent{0};
        uint64_t receivedOfSent{0}; ///< of the packets sent in the window, whenever they were received
        uint64_t payloadBytes{0};   ///< received in the window
        uint32_t expected{0};       ///< number of the next packet if none is lost
        Frame last{};               ///< the frame on the air, or the last one
        Delays toMpdu;
        Delays toPpdu;
        Delays toStart;
        Moments level;
        int64_t airtimeNs{0};
        uint64_t mpdusSent{0};
        SlotReport slot;
        bool isLastReported{true}; ///< whether `last` is in a report
    };

    bool InWindow(int64_t ns) const { return ns >= m_beginNs && ns < m_endNs; }

    void Report(Station& station, int64_t nowNs);
    void WriteStation(std::ostream& out, const Station& station) const;

    std::vector<Station> m_stations;
    uint32_t m_ipBytes;
    int64_t m_beginNs;
    int64_t m_endNs;
    uint64_t m_receivedAll{0};
    uint32_t m_queue{0};
    uint32_t m_queueMax{0};
    double m_queueIntegral{0};
    int64_t m_queueSinceNs{0};
    uint64_t m_timeouts{0};
    uint64_t m_entryDrops{0};
    uint64_t m_airDrops{0};
};

} // namespace airpace
