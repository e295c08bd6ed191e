#include "scenario.h"

#include "flags.h"

#include "ns3/command-line.h"

#include <algorithm>

namespace airpace
{

namespace
{

/// Reads a list with one value of at least 0 per station, or a single value for all.
template <typename T>
std::vector<T>
PerStation(const char* flag, const std::string& text, std::size_t stations)
{
    auto values = OneForEach<T>(flag, text, stations, "station");
    if (std::any_of(values.begin(), values.end(), [](T value) { return value < T{0}; }))
    {
        Refuse(std::string("--") + flag + " is at least 0");
    }
    return values;
}

template <typename T>
T
OneOf(const char* flag, const std::string& text, const std::vector<std::pair<std::string, T>>& choices)
{
    std::string names;
    for (const auto& [name, value] : choices)
    {
        if (name == text)
        {
            return value;
        }
        names += (names.empty() ? "" : ", ") + name;
    }
    Refuse(std::string("--") + flag + " is one of " + names);
}

void
Check(const Scenario& s)
{
    if (s.Stations() == 0 || s.Stations() > 200)
    {
        Refuse("--stations is 1 to 200");
    }
    if (s.payload < 16 || s.payload > 1472)
    {
        Refuse("--payload is 16 to 1472 bytes");
    }
    if (s.durationS <= 0 || s.warmS < 0 || s.drainS < 0 || s.slotS <= 0)
    {
        Refuse("--duration and --slot are above 0, --warm and --drain at least 0");
    }
    if (s.queuePackets == 0 || s.longest == 0)
    {
        Refuse("--queue and --longest are at least 1");
    }
}

} // namespace

Scenario
ReadScenario(int argc, char* argv[])
{
    Scenario s;
    uint32_t stations = 1;
    std::string mcs = "9", streams = "1", rates = "100", phases, order = "rr", traffic = "udp";
    ns3::CommandLine flags(__FILE__);
    flags.AddValue("standard", "n, ac or ax", s.standard);
    flags.AddValue("width", "channel width in MHz", s.widthMhz);
    flags.AddValue("gi", "guard interval in ns", s.guardNs);
    flags.AddValue("stations", "number of stations", stations);
    flags.AddValue("mcs", "MCS of each station, or one for all", mcs);
    flags.AddValue("nss", "spatial streams of each station, or one for all", streams);
    flags.AddValue("rates", "Mbit/s of payload for each station, or one for all", rates);
    flags.AddValue("phases", "where in its first gap each source begins, 0 to 1; drawn unless given", phases);
    flags.AddValue("minstrel", "Minstrel-HT instead of constant rates", s.minstrel);
    flags.AddValue("square", "side in m of a square with stations at random places; 0: all 2 m away", s.squareM);
    flags.AddValue("scheduler", "fcfs or rr", order);
    flags.AddValue("queue", "packets that the access point holds", s.queuePackets);
    flags.AddValue("queue-per-station", "the limit is each station's own", s.queuePerStation);
    flags.AddValue("payload", "bytes of UDP payload", s.payload);
    flags.AddValue("longest", "most MPDUs in an A-MPDU", s.longest);
    flags.AddValue("traffic", "udp, cubic or bbr", traffic);
    // ns-3 reads a string value only up to its first space.
    flags.AddValue("control",
                   "command of a controller that reads and writes JSON lines",
                   ns3::Callback<bool, const std::string&>([&s](const std::string& command) {
                       s.control = command;
                       return true;
                   }));
    flags.AddValue("slot", "length of a controller's slot in s", s.slotS);
    flags.AddValue("report-bytes", "UDP payload of a report sent upwards every slot; 0: none", s.reportBytes);
    flags.AddValue("seed", "number of the run", s.seed);
    flags.AddValue("warm", "s before statistics begin", s.warmS);
    flags.AddValue("duration", "s of statistics", s.durationS);
    flags.AddValue("drain", "s after them", s.drainS);
    flags.Parse(argc, argv);
    s.mcs = PerStation<int>("mcs", mcs, stations);
    s.streams = PerStation<int>("nss", streams, stations);
    s.rates = PerStation<double>("rates", rates, stations);
    s.phases = phases.empty() ? std::vector<double>() : PerStation<double>("phases", phases, stations);
    s.order = OneOf<Order>("scheduler", order, {{"fcfs", Order::OldestFirst}, {"rr", Order::RoundRobin}});
    s.traffic = OneOf<Traffic>("traffic",
                               traffic,
                               {{"udp", Traffic::Udp}, {"cubic", Traffic::Cubic}, {"bbr", Traffic::Bbr}});
    Check(s);
    return s;
}

} // namespace airpace
