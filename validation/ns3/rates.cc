#include "rates.h"

#include "ns3/wifi-mac.h"
#include "ns3/wifi-net-device.h"
#include "ns3/wifi-phy.h"

namespace airpace
{

using namespace ns3;

NS_OBJECT_ENSURE_REGISTERED(StationRates);

TypeId
StationRates::GetTypeId()
{
    static TypeId id = TypeId("airpace::StationRates")
                           .SetParent<WifiRemoteStationManager>()
                           .SetGroupName("Wifi")
                           .AddConstructor<StationRates>();
    return id;
}

void
StationRates::SetRate(Mac48Address peer, WifiMode mode, uint8_t streams)
{
    m_rates[peer] = {mode, streams};
}

WifiRemoteStation*
StationRates::DoCreateStation() const
{
    return new WifiRemoteStation();
}

WifiTxVector
StationRates::DoGetDataTxVector(WifiRemoteStation* station, MHz_u allowed)
{
    auto found = m_rates.find(GetAddress(station));
    NS_ABORT_MSG_IF(found == m_rates.end(), "no rate was set for " << GetAddress(station));
    const auto& [mode, streams] = found->second;
    return Vector(station, mode, streams, GetPhy()->GetTxBandwidth(mode, allowed));
}

WifiTxVector
StationRates::DoGetRtsTxVector(WifiRemoteStation* station)
{
    // The fastest of the basic rates.
    WifiMode mode("OfdmRate24Mbps");
    return Vector(station, mode, 1, GetPhy()->GetTxBandwidth(mode, MHz_u{20}));
}

WifiTxVector
StationRates::Vector(WifiRemoteStation* station, WifiMode mode, uint8_t streams, MHz_u width)
{
    return WifiTxVector(mode,
                        GetDefaultTxPowerLevel(),
                        GetPreambleForTransmission(mode.GetModulationClass(), GetShortPreambleEnabled()),
                        GetGuardIntervalForMode(mode, GetMac()->GetDevice()),
                        GetNumberOfAntennas(),
                        streams,
                        0,
                        width,
                        GetAggregation(station));
}

} // namespace airpace
