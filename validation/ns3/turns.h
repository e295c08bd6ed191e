// The access point's queue: round robin over stations, and a limit for each station.
#pragma once

#include "ns3/wifi-mac-queue-scheduler-impl.h"

#include <compare>

namespace airpace
{

/// Priority of a queue: management and control before data, then by turn.
struct Place
{
    bool isData;
    uint64_t turn;
    auto operator<=>(const Place&) const = default;
};

/// Serves stations in turn. A queue moves to the end when it gets its first packet and whenever MPDUs of it are acknowledged. A
/// queue whose frame failed keeps its place. Packets that find the queue full are dropped.
class Turns : public ns3::WifiMacQueueSchedulerImpl<Place>
{
  public:
    static ns3::TypeId GetTypeId();

  private:
    ns3::Ptr<ns3::WifiMpdu> HasToDropBeforeEnqueuePriv(ns3::AcIndex ac, ns3::Ptr<ns3::WifiMpdu> mpdu) override;
    void DoNotifyEnqueue(ns3::AcIndex ac, ns3::Ptr<ns3::WifiMpdu> mpdu) override;
    void DoNotifyDequeue(ns3::AcIndex ac, const std::list<ns3::Ptr<ns3::WifiMpdu>>& mpdus) override;
    void DoNotifyRemove(ns3::AcIndex ac, const std::list<ns3::Ptr<ns3::WifiMpdu>>& mpdus) override;

    void GoLast(ns3::AcIndex ac, const ns3::WifiContainerQueueId& queue);

    uint32_t m_perStation{0}; ///< packets that one station's queue holds; 0 for no limit of its own
    uint64_t m_turn{0};
};

} // namespace airpace
