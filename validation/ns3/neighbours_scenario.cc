#include "flags.h"
#include "neighbours.h"

#include "ns3/command-line.h"

namespace airpace
{

using namespace ns3;

namespace
{

/// Reads places of the form `x:y`, in m.
std::vector<Vector>
Places(const char* flag, const std::string& text)
{
    std::vector<Vector> places;
    for (const auto& item : Split(text, ','))
    {
        auto axes = Split(item, ':');
        if (axes.size() != 2)
        {
            Refuse(std::string("--") + flag + ": '" + item + "' is not a place x:y");
        }
        places.emplace_back(Numbers<double>(flag, axes[0]).at(0), Numbers<double>(flag, axes[1]).at(0), 0);
    }
    return places;
}

} // namespace

NeighboursScenario
ReadNeighboursScenario(int argc, char* argv[])
{
    NeighboursScenario s;
    std::string accessPoints = "0:0,20:0", stations = "3:0,17:0", powers = "16.0206", starts = "0";
    CommandLine flags(__FILE__);
    flags.AddValue("access-points", "places in m, x:y,x:y,...", accessPoints);
    flags.AddValue("places", "places of the stations; they belong to the access points in turn", stations);
    flags.AddValue("uplink", "the stations send instead of the access points", s.isUplink);
    flags.AddValue("exponent", "of the path loss", s.exponent);
    flags.AddValue("powers", "dBm of each access point and its stations, or one for all", powers);
    flags.AddValue("mcs", "MCS of all data", s.mcs);
    flags.AddValue("rts", "RTS before all data", s.rts);
    flags.AddValue("requests", "block-ack requests after missed block acks", s.requests);
    flags.AddValue("starts", "ms at which each flow begins, or one for all", starts);
    flags.AddValue("payload", "bytes of UDP payload", s.payload);
    flags.AddValue("seed", "number of the run", s.seed);
    flags.AddValue("warm", "s before statistics begin", s.warmS);
    flags.AddValue("duration", "s of statistics", s.durationS);
    flags.Parse(argc, argv);
    s.accessPoints = Places("access-points", accessPoints);
    s.stations = Places("places", stations);
    if (s.accessPoints.empty() || s.stations.size() < s.accessPoints.size() || s.stations.size() > 50)
    {
        Refuse("every access point needs a station, and there are at most 50");
    }
    s.powersDbm = OneForEach<double>("powers", powers, s.accessPoints.size(), "access point");
    s.startsMs = OneForEach<double>("starts", starts, s.stations.size(), "station");
    if (s.mcs < 0 || s.mcs > 9 || s.payload < 16 || s.payload > 1472 || s.durationS <= 0 || s.warmS < 0)
    {
        Refuse("--mcs is 0 to 9, --payload 16 to 1472, --duration above 0, --warm at least 0");
    }
    return s;
}

} // namespace airpace
