#include "turns.h"

#include "ns3/uinteger.h"

#include <set>

namespace airpace
{

using namespace ns3;

NS_OBJECT_ENSURE_REGISTERED(Turns);

TypeId
Turns::GetTypeId()
{
    // The template in between would register under the name of ns-3's own scheduler.
    static TypeId id = TypeId("airpace::Turns")
                           .SetParent<WifiMacQueueScheduler>()
                           .SetGroupName("Wifi")
                           .AddConstructor<Turns>()
                           .AddAttribute("PerStation",
                                         "Packets that one station's queue holds; 0 for no limit of its own.",
                                         UintegerValue(0),
                                         MakeUintegerAccessor(&Turns::m_perStation),
                                         MakeUintegerChecker<uint32_t>());
    return id;
}

Ptr<WifiMpdu>
Turns::HasToDropBeforeEnqueuePriv(AcIndex ac, Ptr<WifiMpdu> mpdu)
{
    auto queue = GetWifiMacQueue(ac);
    bool isFull = queue->QueueBase::GetNPackets() >= queue->GetMaxSize().GetValue();
    if (m_perStation > 0)
    {
        isFull = isFull || queue->GetNPackets(WifiMacQueueContainer::GetQueueId(mpdu)) >= m_perStation;
    }
    return isFull ? mpdu : nullptr;
}

void
Turns::DoNotifyEnqueue(AcIndex ac, Ptr<WifiMpdu> mpdu)
{
    auto id = WifiMacQueueContainer::GetQueueId(mpdu);
    if (GetWifiMacQueue(ac)->GetNPackets(id) == 1)
    {
        GoLast(ac, id);
    }
}

void
Turns::DoNotifyDequeue(AcIndex ac, const std::list<Ptr<WifiMpdu>>& mpdus)
{
    std::set<WifiContainerQueueId> served;
    for (const auto& mpdu : mpdus)
    {
        served.insert(WifiMacQueueContainer::GetQueueId(mpdu));
    }
    for (const auto& id : served)
    {
        if (GetWifiMacQueue(ac)->GetNPackets(id) > 0)
        {
            GoLast(ac, id);
        }
    }
}

void
Turns::DoNotifyRemove(AcIndex, const std::list<Ptr<WifiMpdu>>&)
{
    // A queue keeps its place when packets are dropped at the retry limit.
}

void
Turns::GoLast(AcIndex ac, const WifiContainerQueueId& queue)
{
    bool isData = std::get<0>(queue) == WIFI_QOSDATA_QUEUE || std::get<0>(queue) == WIFI_DATA_QUEUE;
    SetPriority(ac, queue, {isData, ++m_turn});
}

} // namespace airpace
