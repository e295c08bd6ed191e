// Prints the mean signal, noise and their ratio in dB of data frames that ns-3 receives over distances, with its default loss,
// noise and antennas: VHT, 80 MHz, 16 dBm. The figures in crates/airpace-sim/src/channel/tests.rs are its output. Build it like
// error_model.cc, with -lns3.44-mobility -lns3.44-propagation in addition.

#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/wifi-module.h"

#include <cstdio>

using namespace ns3;

namespace
{

double signalDbm = 0;
double noiseDbm = 0;
uint32_t frames = 0;

void
Heard(Ptr<const Packet> packet, uint16_t, WifiTxVector vector, MpduInfo, SignalNoiseDbm power, uint16_t)
{
    // Beacons are sent with 20 MHz and do not count.
    if (vector.GetChannelWidth() == MHz_u{80})
    {
        signalDbm += power.signal;
        noiseDbm += power.noise;
        ++frames;
    }
}

void
Run(double distance)
{
    signalDbm = noiseDbm = 0;
    frames = 0;
    NodeContainer nodes(2);
    YansWifiPhyHelper phy;
    phy.SetChannel(YansWifiChannelHelper::Default().Create());
    phy.Set("ChannelSettings", StringValue("{0, 80, BAND_5GHZ, 0}"));
    phy.Set("TxPowerStart", DoubleValue(16));
    phy.Set("TxPowerEnd", DoubleValue(16));
    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211ac);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager", "DataMode", StringValue("VhtMcs0"));
    WifiMacHelper mac;
    mac.SetType("ns3::AdhocWifiMac");
    const auto devices = wifi.Install(phy, mac, nodes);
    MobilityHelper mobility;
    mobility.Install(nodes);
    nodes.Get(1)->GetObject<MobilityModel>()->SetPosition(Vector(distance, 0, 0));
    Config::ConnectWithoutContext("/NodeList/1/DeviceList/0/$ns3::WifiNetDevice/Phy/MonitorSnifferRx",
                                  MakeCallback(&Heard));
    for (int i = 0; i < 10; ++i)
    {
        Simulator::Schedule(MilliSeconds(10 * (i + 1)),
                            [&, packet = Create<Packet>(1000)]() {
                                devices.Get(0)->Send(packet, devices.Get(1)->GetAddress(), 0x0800);
                            });
    }
    Simulator::Stop(Seconds(1));
    Simulator::Run();
    Simulator::Destroy();
    std::printf("%g,%u,%.3f,%.3f,%.3f\n",
                distance,
                frames,
                signalDbm / frames,
                noiseDbm / frames,
                (signalDbm - noiseDbm) / frames);
}

} // namespace

int
main()
{
    std::printf("distance_m,frames,signal_dbm,noise_dbm,snr_db\n");
    for (const double distance : {10.0, 20.0, 28.0, 40.0, 45.0, 51.0, 52.0})
    {
        Run(distance);
    }
}
