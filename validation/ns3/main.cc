// Runs one scenario in ns-3: flags in, one JSON object out. See docs/design/ns3.md. With `neighbours` before the flags, several
// cells share a channel: docs/design/neighbours.md.
#include "cell.h"
#include "neighbours.h"

#include "ns3/config.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

#include <cstring>
#include <iostream>

namespace
{

/// TCP as Linux has it by default, but for the congestion controller.
void
ConfigureTcp(airpace::Traffic traffic)
{
    using namespace ns3;
    auto type = traffic == airpace::Traffic::Bbr ? "ns3::TcpBbr" : "ns3::TcpCubic";
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue(type));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(6 << 20));
}

} // namespace

int
main(int argc, char* argv[])
{
    if (argc > 1 && std::strcmp(argv[1], "neighbours") == 0)
    {
        auto scenario = airpace::ReadNeighboursScenario(argc - 1, argv + 1);
        airpace::Neighbours(scenario).Run(std::cout);
        return 0;
    }
    auto scenario = airpace::ReadScenario(argc, argv);
    ConfigureTcp(scenario.traffic);
    airpace::Cell(scenario).Run(std::cout);
    return 0;
}
