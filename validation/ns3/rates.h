// A constant rate per station. ns-3's own manager has one rate per device.
#pragma once

#include "ns3/wifi-remote-station-manager.h"

#include <map>

namespace airpace
{

class StationRates : public ns3::WifiRemoteStationManager
{
  public:
    static ns3::TypeId GetTypeId();

    /// Sets the rate of data to `peer`; the MCS of HT implies the streams.
    void SetRate(ns3::Mac48Address peer, ns3::WifiMode mode, uint8_t streams);

  private:
    struct Rate
    {
        ns3::WifiMode mode;
        uint8_t streams;
    };

    ns3::WifiRemoteStation* DoCreateStation() const override;
    ns3::WifiTxVector DoGetDataTxVector(ns3::WifiRemoteStation* station, ns3::MHz_u allowed) override;
    ns3::WifiTxVector DoGetRtsTxVector(ns3::WifiRemoteStation* station) override;
    ns3::WifiTxVector Vector(ns3::WifiRemoteStation* station, ns3::WifiMode mode, uint8_t streams, ns3::MHz_u width);

    // The rates are constant, so outcomes change nothing.
    void DoReportRxOk(ns3::WifiRemoteStation*, double, ns3::WifiMode) override {}

    void DoReportRtsFailed(ns3::WifiRemoteStation*) override {}

    void DoReportDataFailed(ns3::WifiRemoteStation*) override {}

    void DoReportRtsOk(ns3::WifiRemoteStation*, double, ns3::WifiMode, double) override {}

    void DoReportDataOk(ns3::WifiRemoteStation*, double, ns3::WifiMode, double, ns3::MHz_u, uint8_t) override {}

    void DoReportFinalRtsFailed(ns3::WifiRemoteStation*) override {}

    void DoReportFinalDataFailed(ns3::WifiRemoteStation*) override {}

    std::map<ns3::Mac48Address, Rate> m_rates;
};

} // namespace airpace
